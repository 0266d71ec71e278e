import type { Clock } from "../../src/domain/clock.ts";

/** The machine's clock, which counts its pending calls. */
export interface CountedClock extends Clock {
  /** Callbacks that were neither called nor taken back. */
  readonly waiting: number;
}

/** Counts the calls that a clock is still to make. */
export function countTimers(clock: Clock): CountedClock {
  const waiting = new Set<object>();
  return {
    wallMs: () => clock.wallMs(),
    monotonicMs: () => clock.monotonicMs(),
    after(delayMs, callback) {
      const mark = {};
      waiting.add(mark);
      const cancel = clock.after(delayMs, () => {
        waiting.delete(mark);
        callback();
      });
      return () => {
        waiting.delete(mark);
        cancel();
      };
    },
    get waiting() {
      return waiting.size;
    },
  };
}
