/** Time. Wall time is for showing, monotonic time for measuring. */
export interface Clock {
  /** Milliseconds since 1970; may step either way. */
  wallMs(): number;
  /** Milliseconds since some start; never goes back. */
  monotonicMs(): number;
  /** Calls `callback` once after a delay of any length, never early; returns a function that cancels it. */
  after(delayMs: number, callback: () => void): () => void;
}

/** The machine's time and its one timer. Everything that waits uses {@linkcode Clock} instead. */
export interface RawTimer extends Pick<Clock, "wallMs" | "monotonicMs"> {
  /** Calls back once after a delay, instead of the call that was set before. A long delay may end early. */
  set(delayMs: number, callback: () => void): void;
  clear(): void;
}
