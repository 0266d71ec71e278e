import process from "node:process";
import { EarliestFirst } from "../../src/shared/earliest_first.ts";
import type { Random } from "./random.ts";

/** The one for whom something happens: what is meant for a paused one waits, for a dead one it never happens. */
export interface Owner {
  readonly state: "running" | "paused" | "dead";
}

interface Event {
  atMs: number;
  /** The order of events of one moment, from the seed. */
  order: number;
  readonly owner: Owner | null;
  /** `null` once it was called or cancelled. */
  callback: (() => void) | null;
}

/**
 * The time of a world, and everything that will happen in it. Nothing happens by itself: {@linkcode Timeline.run}
 * calls one event after the other, and waits until everything that follows from it at once has happened.
 *
 * Time is in milliseconds since the beginning of the world.
 */
export class Timeline {
  readonly #random: Random;
  readonly #events = new EarliestFirst<Event>();
  readonly #held = new Map<Owner, Event[]>();
  #nowMs = 0;
  #isRunning = false;

  constructor(random: Random) {
    this.#random = random;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Calls back after a delay; the returned function cancels that. Events of one moment come in any order. */
  after(delayMs: number, callback: () => void, owner: Owner | null = null): () => void {
    const atMs = this.#nowMs + Math.max(0, delayMs);
    const event: Event = { atMs, order: this.#random.next(), owner, callback };
    this.#events.add(event);
    return () => void (event.callback = null);
  }

  /** What was held back while its owner was paused happens now, in any order. */
  release(owner: Owner): void {
    for (const event of this.#held.get(owner) ?? []) {
      event.atMs = this.#nowMs;
      event.order = this.#random.next();
      this.#events.add(event);
    }
    this.#held.delete(owner);
  }

  /** Moves time on to a moment, or until something is true, which is asked after each event. */
  async run(untilMs: number, isDone: () => boolean = () => false): Promise<void> {
    if (this.#isRunning) throw new Error("time is moved on already: await the first call");
    this.#isRunning = true;
    try {
      await settle();
      while (!isDone()) {
        const event = this.#events.take(untilMs);
        if (event === null) {
          this.#nowMs = Math.max(this.#nowMs, untilMs);
          return;
        }
        if (this.#happens(event)) await settle();
      }
    } finally {
      this.#isRunning = false;
    }
  }

  #happens(event: Event): boolean {
    const { owner, callback } = event;
    if (callback === null || owner?.state === "dead") return false;
    this.#nowMs = Math.max(this.#nowMs, event.atMs);
    if (owner?.state === "paused") {
      const held = this.#held.get(owner) ?? [];
      held.push(event);
      this.#held.set(owner, held);
      return false;
    }
    event.callback = null;
    callback();
    return true;
  }
}

/**
 * Waits until all promise callbacks have run, however deep. Nothing in a world waits for anything else: its modules are
 * loaded before (`preload.ts`), and its machines have nothing of the runtime. So a tick suffices, which takes a third of
 * the time of a macrotask.
 */
function settle(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
