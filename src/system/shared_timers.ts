import type { Clock } from "../domain/clock.ts";

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
 * Delayed calls that share one timer of the runtime. Hundreds of checks set a time limit, and nearly all take it back:
 * to set and clear a timer of the runtime costs as much as a seventh of a request over loopback. So the one that is set
 * stays when its call is taken back, and finds when it fires that there is nothing to do yet; it goes with the last call.
 *
 * A callback is never called early. A delay of a second or more ends up to 16 ms late.
 */
export function shareTimers<Timer>(timers: Timers<Timer>): Clock["after"] {
  /** What is to come, by its time; no group is empty. */
  const groups = new Map<number, Set<Waiting>>();
  let armed: { readonly timer: Timer; readonly atMs: number } | null = null;
  let isFiring = false;

  const arm = (atMs: number): void => {
    if (isFiring || armed !== null && armed.atMs <= atMs) return;
    if (armed !== null) timers.clear(armed.timer);
    armed = { atMs, timer: timers.set(fire, Math.max(0, atMs - timers.nowMs())) };
  };
  const disarm = (): void => {
    if (armed !== null) timers.clear(armed.timer);
    armed = null;
  };
  const fire = (): void => {
    armed = null;
    isFiring = true;
    const nowMs = timers.nowMs();
    const due = [...groups].filter(([atMs]) => atMs <= nowMs).sort(([one], [other]) => one - other);
    for (const [atMs] of due) groups.delete(atMs);
    try {
      for (const [, group] of due) callAll(group);
    } finally {
      // Where a callback threw, the others are not lost.
      for (const [atMs, group] of due) if (group.size > 0) groups.set(atMs, group);
      isFiring = false;
      if (groups.size > 0) arm(Math.min(...groups.keys()));
    }
  };

  return (delayMs, callback) => {
    const limitedMs = Math.max(0, Math.min(delayMs, DELAY_MS_MAX - STRETCH_MS));
    const exactMs = timers.nowMs() + limitedMs;
    const atMs = limitedMs < SHARED_DELAY_MS_MIN ? exactMs : Math.ceil(exactMs / STRETCH_MS) * STRETCH_MS;
    const group = groups.get(atMs) ?? new Set();
    const waiting = { callback };
    groups.set(atMs, group.add(waiting));
    arm(atMs);
    return () => {
      if (!group.delete(waiting) || group.size > 0 || groups.get(atMs) !== group) return;
      groups.delete(atMs);
      if (groups.size === 0) disarm();
    };
  };
}

/** A call that is to come; an object, since two may have the same callback. */
interface Waiting {
  readonly callback: () => void;
}

function callAll(group: Set<Waiting>): void {
  for (const waiting of group) {
    group.delete(waiting);
    waiting.callback();
  }
}
