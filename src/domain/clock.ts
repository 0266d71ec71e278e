/** Time. Wall time is for showing, monotonic time for measuring. */
export interface Clock {
  /** Milliseconds since 1970; may step either way. */
  wallMs(): number;
  /** Milliseconds since some start; never goes back. */
  monotonicMs(): number;
  /** Calls `callback` once after a delay of any length, never early; returns a function that cancels it. */
  after(delayMs: number, callback: () => void): () => void;
}
