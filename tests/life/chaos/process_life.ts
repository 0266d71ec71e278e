/** One process of a round: its events, and its output. */
import assert from "node:assert/strict";
import type { Harness, Program } from "../program.ts";
import { CHECKS, INTERVAL_SECONDS } from "./fake_checks.ts";
import { createMovableClock } from "./clock.ts";
import { findGrowth } from "./holdings.ts";
import type { Shown } from "./model.ts";
import type { PlannedProcess } from "./plan.ts";

/** The end of a process, and its counts. */
export interface Life {
  readonly what: string;
  readonly code: number;
  readonly stderr: string;
  /** The results that count in its output, in order. */
  readonly results: readonly Shown[];
  /** It was ended in the middle of whatever it did, or could not write: of its results the last ones may lack. */
  readonly mayLackLast: boolean;
  /** It has logged that the state could not be written, or had it read-only. */
  readonly isWithoutState: boolean;
  /** It has logged that another process has the state. */
  readonly isTurnedAway: boolean;
  /** Runs of each check whose results it may have dropped: it was suspended, stalled, or stopped. */
  readonly discarded: number;
  /** How often time has passed on its clocks that it did not live through, or was set. */
  readonly jumps: number;
  /** For how long it lived on the machine's clock. */
  readonly livedMs: number;
}

/** The counts of all processes. */
export interface Tally {
  [what: string]: number;
}

export interface LifeOptions {
  /** Where its clock may be kept. */
  readonly clockPath: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly tally: Tally;
  /** Whether the state cannot be written for a while. */
  readonly isTroubled: boolean;
}

const ARGUMENTS: Readonly<Record<PlannedProcess["kind"], readonly string[]>> = {
  once: ["check", "--once", "--format", "ndjson"],
  due: ["check", "--once", "--due", "--format", "ndjson"],
  service: ["check", "--format", "ndjson"],
};

/** Runs one to its end. */
export async function live(harness: Harness, planned: PlannedProcess, options: LifeOptions): Promise<Life> {
  const { clockPath, environment, tally, isTroubled } = options;
  await pause(planned.startsAfterMs);
  const clock = planned.clock === null ? null : createMovableClock(clockPath, planned.clock);
  const startedMs = performance.now();
  const { longLifeMs } = planned;
  const program = harness.start(ARGUMENTS[planned.kind], {
    ...longLifeMs !== undefined && { limitMs: longLifeMs + 60_000 },
    environment: { ...environment, ...clock?.environment },
  });
  let jumps = 0;
  let hasEnded = false;
  // It is killed if stopping takes long.
  const ending = pause(longLifeMs ?? 0).then(() => program.end()).finally(() => hasEnded = true);
  const strike = async (): Promise<void> => {
    for (const blow of planned.blows) {
      await Promise.race([pause(startedMs + blow.atMs - performance.now()), ending]);
      if (hasEnded) return;
      if ("signal" in blow) signal(program, blow.signal);
      else if ("stopMs" in blow) {
        signal(program, "SIGSTOP");
        if (blow.seconds !== 0) clock?.move(blow.seconds);
        await pause(blow.stopMs);
        signal(program, "SIGCONT");
        jumps++;
        count(tally, blow.seconds === 0 ? "stopped" : `stopped for minutes (${planned.clock?.moves})`);
      } else {
        clock?.move(blow.seconds);
        jumps++;
        count(tally, "clock set meanwhile");
      }
    }
  };
  const [{ code, stdout, stderr }, , fault] = await Promise.all([
    ending,
    strike(),
    longLifeMs === undefined ? null : findGrowth(program.pid, longLifeMs),
  ]);
  assert.equal(fault, null, `exit code ${code}: ${stderr}`);
  const livedMs = performance.now() - startedMs;
  const what = `${planned.kind}, exit code ${code}`;
  count(tally, `${planned.kind}: ${code}`);
  if ((planned.clock?.seconds ?? 0) !== 0) count(tally, "other clock from the start");
  const events = eventsIn(stdout);
  const results = events.filter(({ event }) => event === "result");
  for (const { name, condition } of results) {
    if (name !== undefined && !COUNTED.has(name)) assert.notEqual(condition, "ok", `${name} is hostile`);
  }
  const isOrderly = events.some(({ event }) => event === "summary" || event === "stop");
  const isWithoutState = /cannot \w+ state(?!.*in use by another)|the last results are lost/.test(stderr);
  const wasHurried = /stopping at once|no result of/.test(stderr);
  return {
    what,
    code,
    stderr,
    results: results.filter(({ name }) => name !== undefined && COUNTED.has(name)).map(shownBy),
    mayLackLast: code === KILLED || code === EXIT_STATE ||
      SIGNAL_CODES.has(code) && (!isOrderly || isTroubled),
    isWithoutState,
    isTurnedAway: code === 75,
    discarded: discardedIn(stderr) + (planned.kind !== "service" && jumps > 0 ? 1 : 0) +
      (wasHurried || code === KILLED || !isOrderly ? 1 : 0),
    jumps,
    livedMs,
  };
}

const COUNTED: ReadonlySet<string> = new Set(CHECKS.map(({ name }) => name));
const KILLED = 137;
const EXIT_STATE = 74;
/** 128 and the number of SIGHUP, SIGINT, SIGKILL and SIGTERM. */
const SIGNAL_CODES: ReadonlySet<number> = new Set([129, 130, 137, 143]);

/** Exit codes that a process of a kind may have, whatever happened to it. */
const CODES: Readonly<Record<PlannedProcess["kind"], readonly number[]>> = {
  once: [0, 1, 2, 3, 69, ...SIGNAL_CODES],
  due: [0, 1, 2, 3, 69, ...SIGNAL_CODES],
  service: [0, ...SIGNAL_CODES],
};

/** Asserts the invariants of every process. */
export function assertSound(
  life: Life,
  { kind, isDoubled, isTroubled, shownOf }: {
    readonly kind: PlannedProcess["kind"];
    readonly isDoubled: boolean;
    readonly isTroubled: boolean;
    /** Returns how often a check ran meanwhile. */
    shownOf(check: string): number;
  },
): void {
  const where = `${life.what}: ${life.stderr}`;
  const codes = [...CODES[kind], ...isDoubled ? [75] : [], ...isTroubled ? [74] : []];
  assert.ok(codes.includes(life.code), where);
  assert.doesNotMatch(life.stderr, /\n\s+at |a bug in monitor/, where);
  if (life.isTurnedAway) assert.deepEqual(life.results, [], where);
  if (!isTroubled) assert.equal(life.isWithoutState, false, where);
  // No burst: after a jump of the clocks a check runs once, whatever was left out.
  const runsMax = kind === "service"
    ? Math.ceil(life.livedMs / (1000 * INTERVAL_SECONDS)) + 1 + life.jumps + life.discarded
    : 1 + life.discarded;
  for (const { name } of CHECKS) {
    assert.ok(shownOf(name) <= runsMax, `${name} ran ${shownOf(name)} times, ${runsMax} at most; ${where}`);
  }
}

interface Event {
  readonly event: string;
  readonly name?: string;
  readonly condition?: string;
  readonly output?: string;
}

/** Text after the last line feed was cut off. */
function eventsIn(stdout: string): readonly Event[] {
  return stdout.slice(0, stdout.lastIndexOf("\n") + 1).split("\n").filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Event);
}

function shownBy({ name, condition, output }: Event): Shown {
  return { check: name, condition, token: output } as Shown;
}

/** Of any one check: one for each suspension with a run in progress, or stall. */
function discardedIn(stderr: string): number {
  return [...stderr.matchAll(/suspended or clock set.* runs=[1-9]|stall: discarding/g)].length;
}

function signal(program: Program, name: Deno.Signal): void {
  try {
    program.signal(name);
  } catch {
    // It has ended just now.
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
}

/** Counts one more. */
export function count(tally: Tally, what: string): void {
  tally[what] = (tally[what] ?? 0) + 1;
}
