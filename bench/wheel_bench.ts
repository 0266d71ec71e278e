/**
 * What a timer costs, from its insertion to its expiry: in the wheel, in a binary heap from npm, and as one
 * `setTimeout` each. With `--v8-flags=--expose-gc` it also tells what a waiting timer takes of memory.
 */
import { Heap } from "heap-js";
import { TimerWheel } from "../src/schedule/wheel.ts";
import { measureInTurn, median } from "./measure.ts";
import { measureOwn, type OwnCost, usedBytes } from "./own_cost.ts";
import type { Row } from "./row.ts";
import type { Workplace } from "./workplace.ts";

/** Delays as checks have them: spread over an hour, in milliseconds. */
const DELAY_MAX_MS = 3_600_000;
const MEMORY_COUNT = 100_000;

/** How many timers, in how many rounds. */
const SCENES = [
  { count: 1_000, rounds: 100, timeouts: true },
  { count: 100_000, rounds: 9, timeouts: true },
  { count: 1_000_000, rounds: 3, timeouts: false },
] as const;

/** Takes half a minute. */
export async function benchWheel({ effort }: Workplace): Promise<readonly Row[]> {
  // First, before the timings leave garbage that is swept up in its own time.
  const memoryRows = await measureMemory();
  const rows: Row[] = [];
  for (const { count, rounds, timeouts } of SCENES) {
    const delays = drawDelays(count);
    const subjects: Readonly<Record<string, () => Promise<TimerCost>>> = {
      "wheel": () => measureOwn(() => expireWheel(delays)),
      "heap-js": () => measureOwn(() => expireHeap(delays)),
      ...(timeouts ? { "setTimeout": () => timeTimeouts(delays) } : {}),
    };
    const samples = await measureInTurn(effort.rounds(rounds), subjects);
    for (const [subject, costs] of Object.entries(samples)) {
      const each = (ms: (cost: TimerCost) => number): number => median(costs.map(ms)) * 1e6 / count;
      const cpuNs = each((cost) => cost.cpuMs ?? NaN);
      rows.push({
        name: `insert and expire one of ${count} timers, ${subject}`,
        value: each((cost) => cost.wallMs),
        unit: "ns",
        note: [
          Number.isNaN(cpuNs) ? "waiting is not counted" : `${cpuNs.toFixed(0)} ns of processor time`,
          ...(subject === "wheel" ? ["the same work for any number; a cache holds only so many"] : []),
        ].join("; "),
      });
    }
  }
  return [...rows, ...memoryRows];
}

/** Where part of the time is spent waiting, there is no processor time to tell. */
type TimerCost = Pick<OwnCost, "wallMs"> & Partial<OwnCost>;

/** Expires as the driver does: a wake for each tick at which something is due. */
function expireWheel(delays: readonly number[]): void {
  const wheel = fillWheel(delays);
  let expired = 0;
  for (let next = wheel.nextDeadline(); next !== null; next = wheel.nextDeadline()) {
    expired += wheel.advance(next).length;
  }
  requireAll(expired, delays.length);
}

function expireHeap(delays: readonly number[]): void {
  const heap = fillHeap(delays);
  let expired = 0;
  while (heap.pop() !== undefined) expired++;
  requireAll(expired, delays.length);
}

/** Nobody waits an hour here: the timers are short, and the time until the last one is due is not counted. */
async function timeTimeouts(delays: readonly number[]): Promise<TimerCost> {
  const longestMs = 10;
  const { promise: all, resolve } = Promise.withResolvers<void>();
  let waiting = delays.length;
  const fire = () => {
    if (--waiting === 0) resolve();
  };
  const startMs = performance.now();
  for (const delay of delays) setTimeout(fire, 1 + delay % longestMs);
  const insertedMs = performance.now();
  let dueMs = insertedMs;
  while (dueMs < insertedMs + longestMs + 1) dueMs = performance.now();
  await all;
  return { wallMs: insertedMs - startMs + (performance.now() - dueMs) };
}

async function measureMemory(): Promise<readonly Row[]> {
  const delays = drawDelays(MEMORY_COUNT);
  const timeouts: ReturnType<typeof setTimeout>[] = [];
  const subjects: Readonly<Record<string, () => unknown>> = {
    "wheel": () => fillWheel(delays),
    "heap-js": () => fillHeap(delays),
    "setTimeout": () => timeouts.push(...delays.map((delay) => setTimeout(() => {}, DELAY_MAX_MS + delay))),
  };
  const kept: unknown[] = [];
  const rows: Row[] = [];
  for (const [subject, fill] of Object.entries(subjects)) {
    const name = `memory for one of ${MEMORY_COUNT} timers, ${subject}`;
    const before = await usedBytes();
    kept.push(fill());
    const after = await usedBytes();
    rows.push(
      before === null || after === null
        ? { name, value: null, unit: "bytes", note: "needs --v8-flags=--expose-gc" }
        : { name, value: (after - before) / MEMORY_COUNT, unit: "bytes" },
    );
  }
  timeouts.forEach(clearTimeout);
  return rows;
}

function fillWheel(delays: readonly number[]): TimerWheel<number> {
  const wheel = new TimerWheel<number>();
  delays.forEach((delay, index) => wheel.insert(delay, index));
  return wheel;
}

interface HeapTimer {
  readonly deadline: number;
  readonly index: number;
}

function fillHeap(delays: readonly number[]): Heap<HeapTimer> {
  const heap = new Heap<HeapTimer>((one, other) => one.deadline - other.deadline);
  delays.forEach((deadline, index) => heap.push({ deadline, index }));
  return heap;
}

/** The same delays each time (the linear congruential generator of Numerical Recipes). */
function drawDelays(count: number): readonly number[] {
  let state = 12_345;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return 1 + Math.floor(state / 2 ** 32 * DELAY_MAX_MS);
  });
}

function requireAll(expired: number, count: number): void {
  if (expired !== count) {
    throw new Error(`Cannot trust the measurement: ${expired} of ${count} timers expired`);
  }
}
