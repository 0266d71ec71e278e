import type { Clock, RawTimer } from "../domain/clock.ts";

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

/**
 * A hierarchical hashed timing wheel: George Varghese and Tony Lauck, "Hashed and Hierarchical Timing Wheels:
 * Data Structures for the Efficient Implementation of a Timer Facility" (SOSP 1987), scheme 7. Starting and
 * cancelling a timer cost the same however many there are.
 *
 * A tick is written in digits of six bits. Each digit has a level of 64 slots. A timer is at the level of the highest
 * digit in which its deadline differs from the wheel's own tick, in the slot of that digit. Once the wheel's tick
 * reaches a slot, the slot's timers move to lower levels, and from level 0 they expire. So:
 *
 * - Every occupied slot begins after the wheel's tick, except the one of timers due right now. The earliest timer is in
 *   the lowest occupied slot of the lowest occupied level.
 * - Timers with one deadline are always in one slot, in the order in which they were inserted.
 * - Deadline and tick determine the slot of a pending timer.
 */
const SLOTS = 64;

export interface Timer<Payload> {
  readonly deadline: number;
  readonly payload: Payload;
}

/** Timers that each carry a payload. A tick is in any unit of the caller, a safe integer of 0 or more. */
export class TimerWheel<Payload> {
  /** The timers of each occupied slot: that of digit d at level l is number 64 l + d. */
  readonly #slots = new Map<number, Set<Timer<Payload>>>();
  #tick: number;

  constructor(tick = 0) {
    this.#tick = tick;
  }

  /** The tick the wheel was last advanced to. */
  get tick(): number {
    return this.#tick;
  }

  get isEmpty(): boolean {
    return this.#slots.size === 0;
  }

  /**
   * Adds a timer. A deadline that has passed counts as the wheel's own tick: the next `advance` expires it, also
   * one that stays at that tick.
   */
  insert(deadlineTick: number, payload: Payload): Timer<Payload> {
    const timer = { deadline: Math.max(deadlineTick, this.#tick), payload };
    this.#place(timer);
    return timer;
  }

  /** Removes a timer. Returns `false` if it expired or was cancelled before. */
  cancel(timer: Timer<Payload>): boolean {
    const slot = this.#slotOf(timer);
    const timers = this.#slots.get(slot);
    if (timers?.delete(timer) !== true) return false;
    if (timers.size === 0) this.#slots.delete(slot);
    return true;
  }

  /**
   * Moves the wheel to a tick, not before its own, and removes the timers due by then. They are returned by deadline,
   * those of one deadline in the order of their insertion.
   */
  advance(tick: number): Payload[] {
    const expired: Payload[] = [];
    for (let first = this.#first(); first !== null && first.startTick <= tick; first = this.#first()) {
      this.#tick = first.startTick;
      this.#slots.delete(first.slot);
      for (const timer of first.timers) {
        if (first.slot < SLOTS) expired.push(timer.payload);
        else this.#place(timer);
      }
    }
    this.#tick = tick;
    return expired;
  }

  /** Returns the earliest deadline; `null`: no timer is pending. */
  nextDeadline(): number | null {
    const first = this.#first();
    if (first === null || first.slot < SLOTS) return first?.startTick ?? null;
    let earliest = Infinity;
    for (const { deadline } of first.timers) earliest = Math.min(earliest, deadline);
    return earliest;
  }

  #place(timer: Timer<Payload>): void {
    this.#slots.getOrInsertComputed(this.#slotOf(timer), () => new Set()).add(timer);
  }

  #slotOf({ deadline }: Timer<Payload>): number {
    let slot = deadline % SLOTS;
    let [rest, own] = [deadline, this.#tick];
    for (let level = 0; rest !== own; level++) {
      slot = level * SLOTS + rest % SLOTS;
      rest = Math.floor(rest / SLOTS);
      own = Math.floor(own / SLOTS);
    }
    return slot;
  }

  /** Returns the first occupied slot, and its first tick: the wheel's own with the digit of the slot, and zeros below. */
  #first() {
    let slot = Infinity;
    for (const occupied of this.#slots.keys()) if (occupied < slot) slot = occupied;
    const timers = this.#slots.get(slot);
    if (timers === undefined) return null;
    const width = SLOTS ** Math.floor(slot / SLOTS);
    const startTick = this.#tick - this.#tick % (SLOTS * width) + slot % SLOTS * width;
    return { slot, startTick, timers };
  }
}
