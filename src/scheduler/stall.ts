import type { Clock } from "../domain/clock.ts";

/**
 * Notices that this process stood still (SIGSTOP, a frozen container, a disk that hangs): what it takes for a
 * time-out then may be an answer that came in time and that nobody took.
 *
 * While it watches it looks at the clock every second, and a look that comes much too late tells.
 */
export interface StandstillWatch {
  /** Begins to look, unless it does; it ends by itself when nothing is to be watched any more. */
  start(): void;
  /** For how long the process stood still since the last call, noticed even before the overdue look gets its turn. */
  takeMs(): number;
  /** Looks no more. */
  end(): void;
}

/** Where {@linkcode createStandstillWatch} gets its time, and until when it looks. */
export interface StandstillOptions {
  /** Measures the looks. */
  readonly clock: Pick<Clock, "monotonicMs">;
  /** Calls back once after a delay; the answer cancels it. */
  after(delayMs: number, callback: () => void): () => void;
  /** Whether anything is under way that a standstill would spoil. */
  isBusy(): boolean;
}

/** A delay that this process stood still for, not one of a busy machine. */
export const STANDSTILL_MS = 2_000;
const LOOK_EVERY_MS = 1_000;

/** Makes one that does not look yet. */
export function createStandstillWatch({ clock, after, isBusy }: StandstillOptions): StandstillWatch {
  let lookAtMs = Infinity;
  let cancel = (): void => {};
  const look = (): void => {
    const wantsMore = isBusy();
    lookAtMs = wantsMore ? clock.monotonicMs() + LOOK_EVERY_MS : Infinity;
    if (wantsMore) cancel = after(LOOK_EVERY_MS, look);
  };
  return {
    start: () => {
      if (lookAtMs === Infinity) look();
    },
    takeMs: () => {
      const nowMs = clock.monotonicMs();
      const lateMs = nowMs - lookAtMs;
      if (lateMs < STANDSTILL_MS) return 0;
      lookAtMs = nowMs;
      return lateMs;
    },
    end: () => {
      lookAtMs = Infinity;
      cancel();
    },
  };
}
