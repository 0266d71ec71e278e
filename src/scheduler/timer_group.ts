import type { Clock } from "../domain/clock.ts";

/** Timers of one owner, which end together. */
export class TimerGroup {
  readonly #clock: Pick<Clock, "after">;
  readonly #cancels = new Set<() => void>();
  #isEnded = false;

  constructor(clock: Pick<Clock, "after">) {
    this.#clock = clock;
  }

  /** Calls back once after a delay, unless the group has ended; returns a function that cancels it. */
  after(delayMs: number, callback: () => void): () => void {
    if (this.#isEnded) return () => {};
    const end = this.#clock.after(delayMs, () => {
      this.#cancels.delete(cancel);
      callback();
    });
    const cancel = (): void => {
      this.#cancels.delete(cancel);
      end();
    };
    this.#cancels.add(cancel);
    return cancel;
  }

  end(): void {
    this.#isEnded = true;
    for (const cancel of [...this.#cancels]) cancel();
  }
}
