import type { TimerHandle } from "./timer_table.ts";
import { TimerWheel } from "./wheel.ts";

/** The clock a driver goes by. */
export interface DriverClock {
  /** Milliseconds since some start; never goes back. */
  monotonicMs(): number;
  /** Calls back once after a delay, perhaps earlier when the delay is longer than the runtime's timer takes. */
  after(delayMs: number, callback: () => void): () => void;
}

/** Calls back when timers are due. A tick of its wheel is a millisecond. */
export interface Driver<Payload> {
  /** Adds a timer for a monotonic time; one that has passed is due at once, but never within this call. */
  schedule(atMs: number, payload: Payload): TimerHandle;
  /** Forgets a timer; fine when it was due or cancelled before. */
  cancel(handle: TimerHandle): void;
  /** Stops for good. */
  stop(): void;
}

/**
 * Makes the driver of a wheel: it owns the one real timer of the program and sleeps until the next timer is due, so
 * that an idle monitor uses no processor time. The runtime's timer may fire a little early or, after the process
 * was stopped, very late: each time the clock alone says what is due.
 */
export function createDriver<Payload>(
  clock: DriverClock,
  onDue: (payloads: readonly Payload[]) => void,
): Driver<Payload> {
  const wheel = new TimerWheel<Payload>(tickOf(clock.monotonicMs()));
  let cancelSleep: (() => void) | null = null;
  let wakesAt = Infinity;
  let stopped = false;

  const sleep = (): void => {
    const next = wheel.nextDeadline();
    if (stopped || next === null || next >= wakesAt) return;
    cancelSleep?.();
    wakesAt = next;
    cancelSleep = clock.after(Math.max(0, next - clock.monotonicMs()), wake);
  };
  const wake = (): void => {
    cancelSleep = null;
    wakesAt = Infinity;
    if (stopped) return;
    const due = wheel.advance(Math.max(wheel.tick, Math.floor(clock.monotonicMs())));
    try {
      if (due.length > 0) onDue(due);
    } finally {
      sleep();
    }
  };

  return {
    schedule: (atMs, payload) => {
      const handle = wheel.insert(tickOf(atMs), payload);
      sleep();
      return handle;
    },
    cancel: (handle) => void wheel.cancel(handle),
    stop: () => {
      stopped = true;
      cancelSleep?.();
    },
  };
}

/** The tick at which a time has surely come. */
function tickOf(ms: number): number {
  return Math.max(0, Math.ceil(ms));
}
