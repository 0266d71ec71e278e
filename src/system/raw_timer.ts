import type { RawTimer } from "../domain/clock.ts";

/** The runtime's timer supports 31 bits of milliseconds; anything longer fires at once. */
const DELAY_MS_MAX = 2 ** 31 - 1;

export function createRawTimer(): RawTimer {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    wallMs: () => Date.now(),
    monotonicMs: () => performance.now(),
    set: (delayMs, callback) => {
      clearTimeout(timer);
      // The runtime drops a fraction, and would be early.
      timer = setTimeout(callback, Math.min(Math.ceil(delayMs), DELAY_MS_MAX));
    },
    clear: () => clearTimeout(timer),
  };
}
