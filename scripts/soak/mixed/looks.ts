/** Looks at the program and its files from outside. */
import { DatabaseSync } from "node:sqlite";
import { countDescriptors, readFacts, readOffspring } from "./process_facts.ts";
import type { Sample } from "./record.ts";

/** What the page ends with. */
const PAGE_END = "</main>";

/** What the program holds now. */
export function takeSample(pid: number, folder: string): Sample {
  const { children, orphans } = readOffspring(pid, folder);
  return {
    atMs: Date.now(),
    ...readFacts(pid),
    descriptors: countDescriptors(pid),
    children,
    orphans: orphans.length,
    stateBytes: sizeOf(`${folder}/kept.sqlite`) + sizeOf(`${folder}/kept.sqlite-wal`),
    pendingNotifications: readWaiting(`${folder}/metrics.prom`),
  };
}

/** What is wrong with the files that the program keeps, by their names; `null`: nothing. */
export function lookAtFiles(
  folder: string,
): readonly { readonly name: string; readonly trouble: string | null }[] {
  const look = (name: string, ageMsMax: number, judge: (text: string) => string | null) => {
    try {
      const ageMs = Date.now() - (Deno.statSync(`${folder}/${name}`).mtime?.getTime() ?? 0);
      if (ageMs > ageMsMax) return { name, trouble: `is ${(ageMs / 1000).toFixed(0)} s old` };
      return { name, trouble: judge(Deno.readTextFileSync(`${folder}/${name}`)) };
    } catch (error) {
      return { name, trouble: error instanceof Error ? error.message : String(error) };
    }
  };
  return [
    look("page.html", 75_000, (text) => text.trimEnd().endsWith(PAGE_END) ? null : "is cut off"),
    look("metrics.prom", 45_000, judgeMetrics),
    look("alive", 35_000, () => null),
  ];
}

function judgeMetrics(text: string): string | null {
  if (!text.endsWith("\n")) return "is cut off";
  const bad = text.split("\n").find((line) =>
    line !== "" && !line.startsWith("# ") && !/^\w+(?:\{.*\})? [-+\w.]+$/.test(line)
  );
  if (bad !== undefined) return `has the line ${bad}`;
  return /^monitor_checks \d+$/m.test(text) ? null : "does not say how many checks there are";
}

/** What a state that nobody writes any more holds. */
export function readKept(folder: string): { readonly runs: number; readonly waiting: number } {
  using database = new DatabaseSync(`${folder}/kept.sqlite`, { readOnly: true });
  const one = (query: string): number => Number(Object.values(database.prepare(query).get() ?? {})[0] ?? 0);
  return {
    runs: one("SELECT sum(runs_ok + runs_unknown + runs_warning + runs_critical) FROM checks"),
    waiting: one("SELECT count(*) FROM outbox"),
  };
}

function readWaiting(path: string): number {
  try {
    const lines = Deno.readTextFileSync(path).matchAll(/^monitor_notifications_pending\{.*\} (\d+)$/gm);
    return [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
  } catch {
    // It has not been written yet.
    return 0;
  }
}

function sizeOf(path: string): number {
  try {
    return Deno.statSync(path).size;
  } catch {
    return 0;
  }
}
