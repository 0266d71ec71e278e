import type { Clock } from "../domain/system.ts";

/** The runtime's timer takes 31 bits of milliseconds; anything longer fires at once. */
const DELAY_MS_MAX = 2 ** 31 - 1;

/** The machine's clocks. */
export function createClock(): Clock {
  return {
    wallMs: () => Date.now(),
    monotonicMs: () => performance.now(),
    after: (delayMs, callback) => {
      const timer = setTimeout(callback, Math.max(0, Math.min(delayMs, DELAY_MS_MAX)));
      return () => clearTimeout(timer);
    },
  };
}
