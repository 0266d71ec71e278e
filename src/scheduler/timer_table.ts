/**
 * Where a timing wheel keeps its timers: rows of one typed array, linked into circular lists by row number. That
 * is 20 bytes a timer besides its payload and no object, so it is compact and a garbage collection need not walk
 * it. The columns of a row lie side by side, so one look at memory finds them all.
 *
 * The first rows are the heads of the lists. A list is emptied from its head and filled at its tail.
 */

/** No row, where a row could be. */
export const NO_ROW: number = -1;

/** Names one timer of one table. Never used again, so a handle kept too long does no harm. */
export type TimerHandle = number & {
  readonly brand: "TimerHandle";
};

/** The columns of a row. `NEXT` of a free row is the next free one. */
const NEXT = 0;
const PREVIOUS = 1;
const HIGH = 2;
const LOW = 3;
const USES = 4;
const COLUMNS = 5;

/** A handle is a row number and, above it, how often the row was used before. */
const ROWS_MAX = 2 ** 24;
const USES_MAX = 2 ** 29;
const ROWS_AT_FIRST = 64;

/** Timers, each with a deadline in two halves (31 bits at most) and a payload. */
export class TimerTable<Payload> {
  readonly #heads: number;
  #cells: Int32Array;
  readonly #payloads: (Payload | undefined)[] = [];
  /** How many rows were ever used. */
  #rows: number;
  #firstFree = NO_ROW;
  #size = 0;

  /** A table without timers and with so many empty lists, whose heads are the rows from 0 on. */
  constructor(heads: number) {
    this.#heads = heads;
    this.#rows = heads;
    this.#cells = new Int32Array((heads + ROWS_AT_FIRST) * COLUMNS);
    // Not by `clear`: hundreds of calls make the engine load its optimizing compiler, at 3 MB and 1 ms for each start.
    for (let head = 0; head < heads; head++) {
      this.#cells[head * COLUMNS + NEXT] = head;
      this.#cells[head * COLUMNS + PREVIOUS] = head;
    }
  }

  get size(): number {
    return this.#size;
  }

  /**
   * A row for a new timer, in no list yet.
   *
   * @throws {RangeError} If there are 16 million timers.
   */
  take(payload: Payload): number {
    const row = this.#takeRow();
    this.#payloads[row - this.#heads] = payload;
    this.#size++;
    return row;
  }

  /** Gives a row back; it must be in no list. */
  free(row: number): void {
    this.#size--;
    this.#payloads[row - this.#heads] = undefined;
    const uses = this.#get(row, USES) + 1;
    this.#set(row, USES, uses);
    // A row whose handles are used up is left alone rather than name a second timer by an old handle.
    if (uses === USES_MAX) return;
    this.#set(row, NEXT, this.#firstFree);
    this.#firstFree = row;
  }

  handleOf(row: number): TimerHandle {
    return this.#get(row, USES) * ROWS_MAX + row as TimerHandle;
  }

  /** The row that a handle names; `NO_ROW` when that timer is gone. */
  find(handle: TimerHandle): number {
    const row = handle % ROWS_MAX;
    const isTimer = row >= this.#heads && row < this.#rows;
    return isTimer && this.handleOf(row) === handle ? row : NO_ROW;
  }

  payload(row: number): Payload {
    return this.#payloads[row - this.#heads] as Payload;
  }

  setDeadline(row: number, high: number, low: number): void {
    this.#set(row, HIGH, high);
    this.#set(row, LOW, low);
  }

  /** The upper half of a timer's deadline. */
  high(row: number): number {
    return this.#get(row, HIGH);
  }

  /** The lower half of a timer's deadline. */
  low(row: number): number {
    return this.#get(row, LOW);
  }

  /** The row after this one in its list: the first timer of a head, the head itself after the last timer. */
  next(row: number): number {
    return this.#get(row, NEXT);
  }

  isEmpty(head: number): boolean {
    return this.#get(head, NEXT) === head;
  }

  append(row: number, head: number): void {
    const last = this.#get(head, PREVIOUS);
    this.#set(last, NEXT, row);
    this.#set(row, PREVIOUS, last);
    this.#set(row, NEXT, head);
    this.#set(head, PREVIOUS, row);
  }

  /** Removes a row from its list; returns the list's head when that leaves it empty, otherwise `NO_ROW`. */
  unlink(row: number): number {
    const next = this.#get(row, NEXT);
    const previous = this.#get(row, PREVIOUS);
    this.#set(previous, NEXT, next);
    this.#set(next, PREVIOUS, previous);
    // Only a head can be the neighbour on both sides.
    return next === previous ? next : NO_ROW;
  }

  clear(head: number): void {
    this.#set(head, NEXT, head);
    this.#set(head, PREVIOUS, head);
  }

  #takeRow(): number {
    const free = this.#firstFree;
    if (free !== NO_ROW) {
      this.#firstFree = this.#get(free, NEXT);
      return free;
    }
    if (this.#rows * COLUMNS === this.#cells.length) this.#grow();
    return this.#rows++;
  }

  #grow(): void {
    if (this.#rows >= ROWS_MAX) {
      throw new RangeError(`Cannot add a timer: ${this.#size} are waiting, the most there can be`);
    }
    const cells = new Int32Array(Math.min(this.#rows * 2, ROWS_MAX) * COLUMNS);
    cells.set(this.#cells);
    this.#cells = cells;
  }

  #get(row: number, column: number): number {
    return this.#cells[row * COLUMNS + column] as number;
  }

  #set(row: number, column: number, value: number): void {
    this.#cells[row * COLUMNS + column] = value;
  }
}
