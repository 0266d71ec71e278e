import type { Clock } from "../domain/clock.ts";
import { shareTimers } from "./shared_timers.ts";

/** The machine's clocks. */
export function createClock(): Clock {
  return {
    wallMs: () => Date.now(),
    monotonicMs: () => performance.now(),
    after: shareTimers({
      nowMs: () => performance.now(),
      // The runtime drops a fraction, and would be early.
      set: (callback, delayMs) => setTimeout(callback, Math.ceil(delayMs)),
      clear: (timer) => clearTimeout(timer),
    }),
  };
}
