import { sleep } from "../shared/deadline.ts";
import type { Result } from "../domain/result.ts";
import type { Clock } from "../domain/clock.ts";
import { createStandstillWatch } from "./stall.ts";

/**
 * Runs that do not take trouble of this machine for trouble of a target: a result that is not `ok` does not count
 * where this process stood still during the run, or the machine slept. The check runs again, and that counts.
 */
export interface UndisturbedRuns {
  /** Observes, and perhaps a second time; throws the signal's reason when it aborts in between. */
  run(observe: () => Promise<Result>, signal: AbortSignal): Promise<Result>;
  /** To be called when there are no more runs. */
  end(): void;
}

/** How far wall and monotonic time may part before the machine is taken to have slept. */
export const JUMP_MS = 5_000;
/** How long after a sleep what it interrupted or left out runs again: the network has to come back. */
export const AFTER_SLEEP_MS = 10_000;
/** How long after a standstill the checks that it spoilt run again. */
export const AFTER_STALL_MS = 1_000;

/** Makes runs that go by a clock. */
export function createUndisturbedRuns(clock: Clock): UndisturbedRuns {
  let running = 0;
  let stalledMs = 0;
  const notice = (): void => void (stalledMs += standstill.takeMs());
  const standstill = createStandstillWatch({
    clock,
    // A look that comes late is to be noticed before it plans the next one.
    after: (delayMs, callback) =>
      clock.after(delayMs, () => {
        notice();
        callback();
      }),
    isBusy: () => running > 0,
  });
  /** How long this process has stood still so far, and how far apart the clocks are. */
  const look = (): { readonly stalledMs: number; readonly apartMs: number } => {
    notice();
    return { stalledMs, apartMs: clock.wallMs() - clock.monotonicMs() };
  };
  return {
    run: async (observe, signal) => {
      const before = look();
      running++;
      standstill.start();
      try {
        const result = await observe();
        if (result.condition === "ok") return result;
        const after = look();
        const hasSlept = Math.abs(after.apartMs - before.apartMs) > JUMP_MS;
        if (!hasSlept && after.stalledMs === before.stalledMs) return result;
        await sleep(clock, hasSlept ? AFTER_SLEEP_MS : AFTER_STALL_MS, signal);
        return await observe();
      } finally {
        running--;
      }
    },
    end: () => standstill.end(),
  };
}
