/** The program that is soaked: started as its users start it, and read as it runs. */
import { programCommand, programEnvironment } from "../../../tests/life/program.ts";
import type { Run } from "./record.ts";

/** What it said of a reload. */
export interface Reloaded {
  /** When it was said. */
  readonly atMs: number;
  /** Whether the config is in force now. */
  readonly adopted: boolean;
  /** How many checks came. */
  readonly added: number;
  /** How many checks changed. */
  readonly changed: number;
  /** How many checks left. */
  readonly removed: number;
}

/** The running program. */
export interface WatchedProgram {
  /** Its process id. */
  readonly pid: number;
  /** What ran so far. */
  readonly runs: readonly Run[];
  /** Notifications that it decided so far. */
  readonly notifications: number;
  /** The reloads so far. */
  readonly reloads: readonly Reloaded[];
  /** Its log, each kind of message once, with how often it came. */
  readonly log: ReadonlyMap<string, number>;
  /** Its newest log lines. */
  readonly recent: readonly string[];
  /** What of its log tells of a crash or a bug. */
  readonly crashLines: readonly string[];
  /** Sends it a signal. */
  signal(name: Deno.Signal): void;
  /** Resolves with its exit code; 128 and more where a signal ended it. */
  readonly ended: Promise<number>;
}

/** A crash, a bug, a stack trace; whatever a target says is not in the log. */
const CRASH = /panicked|\bbug\b|\bUncaught\b|\bUnhandled\b|^\s+at .+:\d+:\d+|monitor: error|out of memory/i;
const RECENT_MAX = 400;

/** Starts `monitor check` in a folder, which is its `HOME`. */
export function startWatchedProgram(
  folder: string,
  environment: Readonly<Record<string, string>>,
): WatchedProgram {
  const [path = "", ...args] = programCommand();
  const child = new Deno.Command(path, {
    args: [...args, "check", "--format", "ndjson"],
    cwd: folder,
    clearEnv: true,
    env: { ...programEnvironment(folder), ...environment },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const runs: Run[] = [];
  const reloads: Reloaded[] = [];
  const log = new Map<string, number>();
  const recent: string[] = [];
  const crashLines: string[] = [];
  let notifications = 0;
  const readers: Readonly<Record<string, (event: Readonly<Record<string, unknown>>) => void>> = {
    result: ({ name, condition, started_at, late_ms }) =>
      runs.push({
        name: String(name),
        condition: String(condition),
        startedMs: Date.parse(String(started_at)),
        lateMs: Number(late_ms),
      }),
    report: () => void notifications++,
    reload: ({ at, adopted, added, changed, removed }) =>
      reloads.push({
        atMs: Date.parse(String(at)),
        adopted: adopted === true,
        added: lengthOf(added),
        changed: lengthOf(changed),
        removed: lengthOf(removed),
      }),
  };
  const reading = Promise.all([
    readLines(child.stdout, (line) => {
      const event = JSON.parse(line);
      readers[event.event]?.(event);
    }),
    readLines(child.stderr, (line) => {
      if (CRASH.test(line)) crashLines.push(line);
      recent.push(line);
      if (recent.length > RECENT_MAX) recent.shift();
      const kind = kindOf(line);
      log.set(kind, (log.get(kind) ?? 0) + 1);
    }),
  ]);
  return {
    pid: child.pid,
    runs,
    get notifications() {
      return notifications;
    },
    reloads,
    log,
    recent,
    crashLines,
    signal: (name) => child.kill(name),
    ended: Promise.all([child.status, reading]).then(([{ code }]) => code),
  };
}

function lengthOf(names: unknown): number {
  return Array.isArray(names) ? names.length : 0;
}

/** A line without what differs from one to the next. */
function kindOf(line: string): string {
  return line.replace(/^\S+Z /, "").replace(/"[^"]*"/g, '"…"').replace(/\d+(\.\d+)?/g, "N").slice(0, 120);
}

async function readLines(pipe: ReadableStream<Uint8Array>, take: (line: string) => void): Promise<void> {
  let rest = "";
  for await (const text of pipe.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") take(line);
  }
  if (rest !== "") take(rest);
}
