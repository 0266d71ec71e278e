/**
 * Sends requests through a proxy repeatedly, with one fault at one byte each time, and compares the outcomes with a
 * rule. `FAULT_PLACES` is the number of bytes for each target, spread evenly over all of them; the seed of the run
 * selects them.
 */
import assert from "node:assert/strict";
import type { Clock } from "../../src/domain/clock.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import { campaign, testSeed } from "../../testing/seed.ts";
import { inTime } from "../life/in_time.ts";
import { countTimers } from "./counted_clock.ts";
import { type Course, type Fault, FAULT_KINDS, type FaultKind, startFaultProxy } from "./fault_proxy.ts";

export interface FaultTarget<Outcome> {
  readonly name: string;
  /** The port that the proxy connects to. */
  readonly serverPort: number;
  /** The only connection of a run that has a fault, counted from 0; without it, each has. */
  readonly connection?: number;
  /** Whether a connection may stay until the server ends it, since the runtime cannot end it. */
  readonly mayLinger?: boolean;
  /** Sends a request once; must end soon after the timeout, whatever happens. */
  ask(port: number, context: AskContext): Promise<Outcome>;
  /** Throws if the outcome violates the rule. */
  evaluate(run: FaultRun<Outcome>): void;
}

export interface AskContext {
  readonly timeoutMs: number;
  /** Counts the pending timers. */
  readonly clock: Clock;
}

export interface FaultRun<Outcome> {
  readonly outcome: Outcome;
  /** `null`: nothing went wrong. */
  readonly fault: Fault | null;
  readonly courses: readonly Course[];
  readonly whole: readonly Course[];
}

const PLACES_MAX = Number(Deno.env.get("FAULT_PLACES") ?? campaign(50, 4));
const SEED = testSeed();
/** The number of runs in progress at a time. */
const QUEUES = 64;
/** Long compared with a whole exchange, short for repeated waits. */
const SHORT_MS = 300;
const LONG_MS = 60_000;

/** The faults that end only by the timeout, or may. */
const WAITS: ReadonlySet<FaultKind> = new Set(["stall", "truncate", "drop", "corrupt"]);

const FAILURES_MAX = 10;

/** Sends requests to a target with faults at many bytes, or all; returns their number. */
export async function runFaults<Outcome>(target: FaultTarget<Outcome>): Promise<number> {
  const untouched = await runOnce(target, null);
  evaluate(target, untouched);
  const { courses: whole } = untouched;
  const places = choosePlaces(whole, target.connection);
  const rest = [...places];
  const failures: unknown[] = [];
  const queues = Array.from({ length: QUEUES }, async () => {
    for (let fault = rest.pop(); fault !== undefined; fault = rest.pop()) {
      try {
        await runConnected(target, fault, whole);
      } catch (error) {
        failures.push(error);
        // Enough to find their common cause.
        if (failures.length >= FAILURES_MAX) rest.length = 0;
      }
    }
  });
  await Promise.all(queues);
  if (failures.length > 0) {
    throw new Error(
      failures.map((error) => error instanceof Error ? error.message : String(error)).join("\n"),
    );
  }
  return places.length;
}

/** Runs once, and again for longer if the machine was so busy that the short timeout came before a connection did. */
async function runConnected<Outcome>(
  target: FaultTarget<Outcome>,
  fault: Fault,
  whole: readonly Course[],
): Promise<void> {
  const waits = WAITS.has(fault.kind);
  for (let timeoutMs = waits ? SHORT_MS : LONG_MS;; timeoutMs *= 2) {
    const run = await runOnce(target, fault, { whole, timeoutMs });
    if (run.courses.length > 0 || timeoutMs >= LONG_MS) return evaluate(target, run);
  }
}

function evaluate<Outcome>(target: FaultTarget<Outcome>, run: FaultRun<Outcome>): void {
  try {
    target.evaluate(run);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${placeOf(target, run.fault)}: ${reason}; ${JSON.stringify(run.outcome)}`);
  }
}

/** The courses of a run without a fault are whole. */
async function runOnce<Outcome>(
  target: FaultTarget<Outcome>,
  fault: Fault | null,
  { whole, timeoutMs = LONG_MS }: { readonly whole?: readonly Course[]; readonly timeoutMs?: number } = {},
): Promise<FaultRun<Outcome>> {
  const clock = countTimers(createRealClock());
  const place = placeOf(target, fault);
  await using proxy = startFaultProxy(target.serverPort, fault);
  const outcome = await inTime(`${place}: the end`, target.ask(proxy.port, { timeoutMs, clock }));
  if (!target.mayLinger) await inTime(`${place}: the end of each connection`, proxy.close());
  assert.equal(clock.waiting, 0, `${place}: a timer is left`);
  return { outcome, fault, courses: proxy.courses, whole: whole ?? proxy.courses };
}

function placeOf({ name }: { readonly name: string }, fault: Fault | null): string {
  return `${name}, ${fault === null ? "no fault" : describe(fault)} (seed ${SEED})`;
}

const BITS: readonly number[] = [1, 2, 4, 8, 16, 32, 64, 128];

/** Every fault of a connection with every bit, or some of those with one bit each. */
function choosePlaces(whole: readonly Course[], connection: number | undefined): readonly Fault[] {
  const all = faultsOf(whole, connection, () => BITS);
  if (all.length <= PLACES_MAX) return all;
  return spread(faultsOf(whole, connection, (position) => [BITS[(SEED + position) % 8] ?? 1]));
}

function faultsOf(
  whole: readonly Course[],
  connection: number | undefined,
  bitsAt: (position: number) => readonly number[],
): readonly Fault[] {
  const course = whole[connection ?? 0];
  // Not every version of the runtime needs as many.
  if (course === undefined) return [];
  const faults: Fault[] = [];
  for (const from of ["client", "server"] as const) {
    for (const kind of FAULT_KINDS) {
      for (let position = 0; position < course[from].sent.length; position++) {
        for (const bits of kind === "corrupt" ? bitsAt(position) : [0]) {
          faults.push({ kind, from, position, bits, ...connection !== undefined && { connection } });
        }
      }
    }
  }
  return faults;
}

/** Evenly spread; which, is the seed's choice. */
function spread<T>(all: readonly T[]): readonly T[] {
  const stride = Math.max(1, all.length / PLACES_MAX);
  const chosen: T[] = [];
  for (let index = SEED % Math.ceil(stride); index < all.length; index += stride) {
    const one = all[Math.floor(index)];
    if (one !== undefined) chosen.push(one);
  }
  return chosen;
}

function describe({ kind, from, position, bits, connection }: Fault): string {
  const which = connection === undefined ? "" : ` of connection ${connection}`;
  return `${kind}${bits === 0 ? "" : ` ${bits}`} at byte ${position} of the ${from}'s${which}`;
}
