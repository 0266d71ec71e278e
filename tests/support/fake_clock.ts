import { CHECK_KINDS } from "../../src/checks/registry.ts";
import { setImmediate } from "node:timers";
import type { Clock } from "../../src/domain/clock.ts";

// What is read when it is first used takes real time, which no clock of ours would wait for.
for (const load of Object.values(CHECK_KINDS)) await load();

/** A clock that stands still until a test moves it. */
export interface FakeClock extends Clock {
  /** Moves both clocks on, firing timers on the way, each with its promises confirmed before the next. */
  advance(ms: number): Promise<void>;
  /** Moves the wall clock alone, as a suspend or somebody who sets it does. */
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
  const timers = new Map<number, { readonly at: number; readonly callback: () => void }>();
  let nextId = 0;
  // A macrotask: all promise callbacks, however deep, have run before it.
  const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
  return {
    wallMs: () => monotonic + offset,
    monotonicMs: () => monotonic,
    after: (delayMs, callback) => {
      const id = nextId++;
      timers.set(id, { at: monotonic + Math.max(0, delayMs), callback });
      return () => void timers.delete(id);
    },
    stepWall: (ms) => void (offset += ms),
    freeze: (ms) => void (monotonic += ms),
    get timers() {
      return timers.size;
    },
    advance: async (ms) => {
      const end = monotonic + ms;
      await settle();
      for (;;) {
        let first: [number, { readonly at: number; readonly callback: () => void }] | null = null;
        for (const entry of timers) if (first === null || entry[1].at < first[1].at) first = entry;
        if (first === null || first[1].at > end) break;
        timers.delete(first[0]);
        monotonic = Math.max(monotonic, first[1].at);
        first[1].callback();
        await settle();
      }
      monotonic = end;
      await settle();
    },
  };
}
