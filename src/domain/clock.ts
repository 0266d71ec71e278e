/** Time. Wall time is for showing, monotonic time for measuring. */
export interface Clock {
  /** Milliseconds since 1970; may step either way. */
  wallMs(): number;
  /** Milliseconds since some start; never goes back. */
  monotonicMs(): number;
  /** Calls `callback` once after the delay (clamped to what the runtime's timer takes); the answer cancels it. */
  after(delayMs: number, callback: () => void): () => void;
}
