import type { Clock, RawTimer } from "../domain/clock.ts";
import { type Timer, TimerWheel } from "./wheel.ts";

interface Call {
  timer: Timer<Call> | null;
  /** `null` once it was called or cancelled. */
  callback: (() => void) | null;
}

/**
 * Creates the clock for all delays. A wheel whose tick is a millisecond has all pending calls, and the machine's one
 * timer is set to the earliest.
 *
 * Hundreds of checks set a timeout, and nearly all cancel it. Setting and clearing a timer of the runtime costs as
 * much as a seventh of a request over loopback. So the timer stays when its call is cancelled, and nothing is due
 * when it fires. It is cleared with the last call, so that an idle process neither wakes up nor stays alive.
 */
export function createWheelClock(timer: RawTimer): Clock {
  const wheel = new TimerWheel<Call>(Math.floor(timer.monotonicMs()));
  let wakesAtMs = Infinity;
  let isFiring = false;

  const sleep = (nextMs: number): void => {
    if (isFiring || nextMs >= wakesAtMs) return;
    wakesAtMs = nextMs;
    timer.set(Math.max(0, nextMs - timer.monotonicMs()), wake);
  };
  /** The timer may fire early, or very late after a stall: each time only the clock decides which calls are due. */
  const wake = (): void => {
    wakesAtMs = Infinity;
    isFiring = true;
    const due = wheel.advance(Math.max(wheel.tick, Math.floor(timer.monotonicMs())));
    let called = 0;
    try {
      for (const call of due) {
        called++;
        const { callback } = call;
        call.callback = null;
        callback?.();
      }
    } finally {
      // If a callback threw, the others are still due.
      for (const call of due.slice(called)) call.timer = wheel.insert(wheel.tick, call);
      isFiring = false;
      sleep(wheel.nextDeadline() ?? Infinity);
    }
  };
  const cancel = (call: Call): void => {
    call.callback = null;
    if (call.timer !== null) wheel.cancel(call.timer);
    if (!wheel.isEmpty || wakesAtMs === Infinity) return;
    timer.clear();
    wakesAtMs = Infinity;
  };

  return {
    wallMs: timer.wallMs,
    monotonicMs: timer.monotonicMs,
    after: (delayMs, callback) => {
      const call: Call = { timer: null, callback };
      call.timer = wheel.insert(delayMs > 0 ? tickAfter(timer.monotonicMs() + delayMs) : wheel.tick, call);
      sleep(call.timer.deadline);
      return () => cancel(call);
    },
  };
}

/** The first tick at which a time has come. */
function tickAfter(timeMs: number): number {
  return Math.min(Math.ceil(timeMs), Number.MAX_SAFE_INTEGER);
}
