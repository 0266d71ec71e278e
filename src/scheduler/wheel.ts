/**
 * A hierarchical hashed timing wheel: George Varghese and Tony Lauck, "Hashed and Hierarchical Timing Wheels:
 * Data Structures for the Efficient Implementation of a Timer Facility" (SOSP 1987), scheme 7. Starting,
 * cancelling and expiring a timer cost the same however many there are.
 *
 * A tick is written as nine digits of six bits, which takes in every safe integer, so no deadline is too far
 * away. Each digit has a level of 64 slots. A timer stands at the level of the highest digit in which its
 * deadline differs from the wheel's own tick, in the slot of that digit. Once the wheel's tick reaches a slot, the
 * slot's timers move to lower levels (at most eight times in the life of a timer), and from level 0 they expire.
 *
 * Three things follow, and the code below leans on them:
 *
 * - Every occupied slot begins after the wheel's tick, but for the one of timers due right now. So the earliest
 *   timer is in the lowest occupied slot of the lowest occupied level, and nothing ever wraps around.
 * - Timers with one deadline are always in one slot, in the order in which they were inserted, because slots
 *   are emptied from their head and filled at their tail.
 * - A bit for each slot finds the next occupied one without a look at the empty ones, so a jump over years
 *   costs no more than a step.
 */
import { NO_ROW, type TimerHandle, TimerTable } from "./timer_table.ts";

const DIGIT_BITS = 6;
const SLOTS = 1 << DIGIT_BITS;
const LEVELS = 9;

/** A tick is split after five digits, since the bit operators take 32 bits. */
const LOW_LEVELS = 5;
const LOW_RANGE = 2 ** (DIGIT_BITS * LOW_LEVELS);

const NO_SLOT = -1;

/** Timers that each carry a payload. A tick is in any unit of the caller, a safe integer of 0 or more. */
export class TimerWheel<Payload> {
  /** The list of slot s of level l is number 64 l + s. */
  readonly #timers = new TimerTable<Payload>(LEVELS * SLOTS);

  #tick = 0;
  #tickHigh = 0;
  #tickLow = 0;

  /** A bit for each level that has an occupied slot. */
  #levels = 0;
  /** A bit for each occupied slot, two words a level. */
  readonly #occupied = new Int32Array(2 * LEVELS);
  /** The earliest deadline that was put into a slot since it was last empty. */
  readonly #earliest = new Float64Array(LEVELS * SLOTS);

  /**
   * A wheel without timers, at the given tick.
   *
   * @throws {RangeError} If the tick is not a safe integer of 0 or more.
   */
  constructor(tick = 0) {
    requireTick("start the wheel at", tick);
    this.#setTick(tick);
  }

  /** The tick the wheel was last advanced to. */
  get tick(): number {
    return this.#tick;
  }

  /** How many timers are waiting. */
  get size(): number {
    return this.#timers.size;
  }

  /**
   * Adds a timer. A deadline that has passed counts as the wheel's own tick: the next `advance` expires it, also
   * one that stays at that tick.
   *
   * @throws {RangeError} If the deadline is not a safe integer of 0 or more, or if 16 million timers are waiting.
   */
  insert(deadlineTick: number, payload: Payload): TimerHandle {
    requireTick("insert a timer at", deadlineTick);
    const deadline = Math.max(deadlineTick, this.#tick);
    const high = Math.floor(deadline / LOW_RANGE);
    const row = this.#timers.take(payload);
    this.#timers.setDeadline(row, high, deadline - high * LOW_RANGE);
    this.#place(row);
    return this.#timers.handleOf(row);
  }

  /** Removes a timer. `false` when it had expired or been cancelled before. */
  cancel(handle: TimerHandle): boolean {
    const row = this.#timers.find(handle);
    if (row === NO_ROW) return false;
    const emptied = this.#timers.unlink(row);
    if (emptied !== NO_ROW) this.#vacate(emptied);
    this.#timers.free(row);
    return true;
  }

  /**
   * Moves the wheel to a tick and removes the timers due by then, which are returned by deadline, those of one
   * deadline in the order of their insertion.
   *
   * @throws {RangeError} If the tick is not a safe integer, or lies before the wheel's own.
   */
  advance(tick: number): Payload[] {
    requireTick("advance the wheel to", tick);
    if (tick < this.#tick) {
      throw new RangeError(
        `cannot advance the wheel to tick "${tick}": it is at ${this.#tick} and never goes back`,
      );
    }
    const expired: Payload[] = [];
    for (let slot = this.#firstSlot(); slot !== NO_SLOT; slot = this.#firstSlot()) {
      const start = this.#startOf(slot);
      if (start > tick) break;
      if (slot < SLOTS) this.#expire(slot, start, expired);
      else this.#cascade(slot, tick);
    }
    this.#setTick(tick);
    return expired;
  }

  /**
   * The tick to sleep until; `null` if no timer is pending. It is the earliest deadline, and never later; it is earlier
   * only if the earliest timer of its slot was cancelled, and then once, since an `advance` to it finds nothing to
   * expire and reads the slot again.
   */
  nextDeadline(): number | null {
    const slot = this.#firstSlot();
    if (slot === NO_SLOT) return null;
    return slot < SLOTS ? this.#startOf(slot) : this.#earliest[slot] as number;
  }

  #expire(slot: number, start: number, expired: Payload[]): void {
    this.#setTick(start);
    let row = this.#timers.next(slot);
    this.#timers.clear(slot);
    this.#vacate(slot);
    while (row !== slot) {
      const next = this.#timers.next(row);
      expired.push(this.#timers.payload(row));
      this.#timers.free(row);
      row = next;
    }
  }

  /** Moves the timers of the first slot to lower levels. */
  #cascade(slot: number, tick: number): void {
    // Nothing is due before the slot's earliest timer, which so comes down to level 0 in one go.
    this.#setTick(Math.min(tick, this.#earliest[slot] as number));
    let row = this.#timers.next(slot);
    this.#timers.clear(slot);
    this.#vacate(slot);
    while (row !== slot) {
      const next = this.#timers.next(row);
      this.#place(row);
      row = next;
    }
  }

  #place(row: number): void {
    const high = this.#timers.high(row);
    const low = this.#timers.low(row);
    const slot = this.#slotFor(high, low);
    const deadline = high * LOW_RANGE + low;
    if (this.#timers.isEmpty(slot)) this.#occupy(slot, deadline);
    else if (deadline < (this.#earliest[slot] as number)) this.#earliest[slot] = deadline;
    this.#timers.append(row, slot);
  }

  #slotFor(high: number, low: number): number {
    if (high !== this.#tickHigh) {
      const digit = highestDigit(high ^ this.#tickHigh);
      return (LOW_LEVELS + digit) * SLOTS + digitAt(high, digit);
    }
    const digit = highestDigit(low ^ this.#tickLow);
    return digit * SLOTS + digitAt(low, digit);
  }

  /** The first tick of an occupied slot: the wheel's own with the slot's digit in it, and zeros below that. */
  #startOf(slot: number): number {
    const level = slot >> DIGIT_BITS;
    const value = slot & (SLOTS - 1);
    if (level >= LOW_LEVELS) return withDigit(this.#tickHigh, level - LOW_LEVELS, value) * LOW_RANGE;
    return this.#tickHigh * LOW_RANGE + withDigit(this.#tickLow, level, value);
  }

  #firstSlot(): number {
    if (this.#levels === 0) return NO_SLOT;
    const level = lowestBit(this.#levels);
    const word = this.#occupied[2 * level] as number;
    const otherWord = this.#occupied[2 * level + 1] as number;
    return level * SLOTS + (word === 0 ? 32 + lowestBit(otherWord) : lowestBit(word));
  }

  #occupy(slot: number, deadline: number): void {
    this.#earliest[slot] = deadline;
    this.#occupied[slot >> 5] = (this.#occupied[slot >> 5] as number) | (1 << (slot & 31));
    this.#levels |= 1 << (slot >> DIGIT_BITS);
  }

  #vacate(slot: number): void {
    const word = slot >> 5;
    this.#occupied[word] = (this.#occupied[word] as number) & ~(1 << (slot & 31));
    // The other word of the level differs in the last bit.
    if (this.#occupied[word] === 0 && this.#occupied[word ^ 1] === 0) {
      this.#levels &= ~(1 << (slot >> DIGIT_BITS));
    }
  }

  #setTick(tick: number): void {
    this.#tick = tick;
    this.#tickHigh = Math.floor(tick / LOW_RANGE);
    this.#tickLow = tick - this.#tickHigh * LOW_RANGE;
  }
}

/** The place of the highest digit that is not 0, counted from below; 0 for 0. */
function highestDigit(half: number): number {
  return Math.floor((31 - Math.clz32(half | 1)) / DIGIT_BITS);
}

function digitAt(half: number, place: number): number {
  return (half >>> (place * DIGIT_BITS)) & (SLOTS - 1);
}

/** Puts a digit in its place and zeros below it. A half has 30 bits at most, so the shifts stay in range. */
function withDigit(half: number, place: number, digit: number): number {
  const above = (place + 1) * DIGIT_BITS;
  return ((half >>> above) << above) | (digit << (place * DIGIT_BITS));
}

function lowestBit(word: number): number {
  return 31 - Math.clz32(word & -word);
}

function requireTick(action: string, tick: number): void {
  if (Number.isSafeInteger(tick) && tick >= 0) return;
  throw new RangeError(`cannot ${action} tick "${tick}": a tick is a safe integer of 0 or more`);
}
