/**
 * The real program watches 2,000 mixed checks, a third of which misbehave, through reloads, silences, signals and
 * outages of its channels; see mixed/families.ts and mixed/troubles.ts. It is looked at from outside alone, and is
 * the executable that `MONITOR_PROGRAM` names, else the source.
 *
 *     MONITOR_PROGRAM=$PWD/dist/monitor deno task soak mixed --minutes 30
 *
 * Prints a table in Markdown and what must hold. Everything that is started here is ended, also after Ctrl-C.
 */
import { conductSoak } from "./mixed/conduct.ts";
import { judgeHoldings } from "./mixed/judge_holdings.ts";
import { judgeNotifications } from "./mixed/judge_notifications.ts";
import { judgeRuns } from "./mixed/judge_runs.ts";
import { judgeWords } from "./mixed/judge_words.ts";
import { tableText } from "./mixed/table.ts";

/** How big a mixed soak is. */
export interface MixedOptions {
  /** How long it is looked at. */
  readonly minutes: number;
  /** How many checks are watched. */
  readonly checks: number;
}

/** What the tables are of, in a sentence for the page. */
function describeSoak({ minutes, checks }: MixedOptions): string {
  const processors = navigator.hardwareConcurrency;
  const memory = Math.round(Deno.systemMemoryInfo().total / 2 ** 30);
  const program = Deno.env.get("MONITOR_PROGRAM") === undefined ? "the source" : "the executable";
  const load = Deno.loadavg().map((value) => value.toFixed(1)).join(", ");
  return `${minutes} minutes with ${checks} checks, ${program} on Deno ${Deno.version.deno}, ${processors} processors, ` +
    `${memory} GiB, Linux ${Deno.osRelease()}, load average at the end ${load} (its own included).`;
}

const ENDING_SIGNALS = ["SIGINT", "SIGTERM"] as const;

/**
 * Soaks, and prints what was found.
 *
 * @throws {Error} If something does not hold, with what that is; or if it was interrupted.
 */
export async function soakMixed({ minutes, checks }: MixedOptions): Promise<void> {
  const abort = new AbortController();
  const interrupt = (): void => abort.abort(new Error("it was interrupted"));
  for (const signal of ENDING_SIGNALS) Deno.addSignalListener(signal, interrupt);
  try {
    const record = await conductSoak({
      lengthMs: minutes * 60_000,
      checks,
      signal: abort.signal,
      say: (line) => console.error(`  ${new Date().toISOString().slice(11, 19)} ${line}`),
    });
    const judgements = [
      ...judgeHoldings(record),
      ...judgeRuns(record),
      ...judgeNotifications(record),
      ...judgeWords(record),
    ];
    console.log(`\n${describeSoak({ minutes, checks })}\n\n${tableText(record, judgements)}\n`);
    const failed = judgements.filter(({ holds }) => holds === false);
    if (failed.length > 0) {
      throw new Error(failed.map(({ what, found }) => `it does not hold that ${what}: ${found}`).join("\n"));
    }
  } finally {
    for (const signal of ENDING_SIGNALS) Deno.removeSignalListener(signal, interrupt);
  }
}
