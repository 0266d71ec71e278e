import { CHECK_KINDS } from "../src/checks/registry.ts";
import { setImmediate } from "node:timers";
import type { Clock } from "../src/domain/clock.ts";
import { EarliestFirst } from "../src/shared/earliest_first.ts";

// Loading modules at their first use takes real time, which the fake clock would not wait for.
for (const load of Object.values(CHECK_KINDS)) await load();

/** A clock that only a test advances. */
export interface FakeClock extends Clock {
  /** Moves both clocks on, firing timers on the way, each with its promises confirmed before the next. */
  advance(ms: number): Promise<void>;
  /** Steps the wall clock alone, as a suspend or an administrator does. */
  stepWall(ms: number): void;
  /** Moves both clocks on while nothing happens, as for a process that is stopped: timers on the way fire late. */
  freeze(ms: number): void;
  /** How many timers wait. */
  readonly timers: number;
}

/** Makes a clock whose monotonic time begins at 0. */
export function createFakeClock(wallMs = 1_800_000_000_000): FakeClock {
  let monotonic = 0;
  let offset = wallMs;
  const waiting = new EarliestFirst<FakeTimer>();
  let nextId = 0;
  let timers = 0;
  // A macrotask: all promise callbacks, however deep, have run before it.
  const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
  return {
    wallMs: () => monotonic + offset,
    monotonicMs: () => monotonic,
    after: (delayMs, callback) => {
      const timer: FakeTimer = { atMs: monotonic + Math.max(0, delayMs), order: nextId++, callback };
      waiting.add(timer);
      timers++;
      return () => {
        if (timer.callback !== null) timers--;
        timer.callback = null;
      };
    },
    stepWall: (ms) => void (offset += ms),
    freeze: (ms) => void (monotonic += ms),
    get timers() {
      return timers;
    },
    advance: async (ms) => {
      const end = monotonic + ms;
      await settle();
      for (let first = waiting.take(end); first !== null; first = waiting.take(end)) {
        const { atMs, callback } = first;
        if (callback === null) continue;
        first.callback = null;
        timers--;
        monotonic = Math.max(monotonic, atMs);
        callback();
        await settle();
      }
      monotonic = end;
      await settle();
    },
  };
}

interface FakeTimer {
  readonly atMs: number;
  readonly order: number;
  /** `null` once it was called or cancelled. */
  callback: (() => void) | null;
}
