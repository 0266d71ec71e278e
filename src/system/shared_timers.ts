import type { Clock } from "../domain/system.ts";

/** The timers of a runtime; what names one is its own business. */
export interface Timers<Timer> {
  /** Monotonic time in milliseconds. */
  nowMs(): number;
  /** Calls back once after a delay of 0 to 2^31 − 1 ms; the answer names the timer. */
  set(callback: () => void, delayMs: number): Timer;
  /** Takes a timer back. */
  clear(timer: Timer): void;
}

/** The runtime's timer takes 31 bits of milliseconds; anything longer fires at once. */
const DELAY_MS_MAX = 2 ** 31 - 1;

/** From here on a delay may be a little longer than asked for. */
const SHARED_DELAY_MS_MIN = 1000;

/** Callbacks of the same stretch of so many milliseconds are called together, at its end. */
const STRETCH_MS = 16;

/**
 * Delayed calls that share the runtime's timers. Hundreds of checks set a time limit in the same moment, and nearly
 * all take it back: a timer of the runtime for each costs as much as a tenth of a request over loopback.
 *
 * A callback is never called early. One with a delay of less than a second has a timer of its own; a longer delay
 * ends up to 16 ms late.
 */
export function shareTimers<Timer>(timers: Timers<Timer>): Clock["after"] {
  const groups = new Map<number, Group<Timer>>();

  const groupAt = (dueMs: number, nowMs: number): Group<Timer> => {
    const known = groups.get(dueMs);
    if (known !== undefined) return known;
    const callbacks = new Set<Waiting>();
    const timer = timers.set(() => {
      groups.delete(dueMs);
      for (const waiting of callbacks) {
        callbacks.delete(waiting);
        waiting.callback();
      }
    }, dueMs - nowMs);
    const group = { callbacks, timer };
    groups.set(dueMs, group);
    return group;
  };

  return (delayMs, callback) => {
    const limitedMs = Math.max(0, Math.min(delayMs, DELAY_MS_MAX - STRETCH_MS));
    if (limitedMs < SHARED_DELAY_MS_MIN) {
      const timer = timers.set(callback, limitedMs);
      return () => timers.clear(timer);
    }
    const nowMs = timers.nowMs();
    const dueMs = Math.ceil((nowMs + limitedMs) / STRETCH_MS) * STRETCH_MS;
    const { callbacks, timer } = groupAt(dueMs, nowMs);
    const waiting = { callback };
    callbacks.add(waiting);
    return () => {
      if (!callbacks.delete(waiting) || callbacks.size > 0 || groups.get(dueMs)?.timer !== timer) return;
      groups.delete(dueMs);
      timers.clear(timer);
    };
  };
}

/** A call that is to come; an object, since two may have the same callback. */
interface Waiting {
  readonly callback: () => void;
}

/** Calls that are to come together. */
interface Group<Timer> {
  readonly callbacks: Set<Waiting>;
  readonly timer: Timer;
}
