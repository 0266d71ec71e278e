import type { Clock } from "./clock.ts";

/** The machine's time and its one timer. Everything that waits uses {@linkcode Clock} instead. */
export interface RawTimer extends Pick<Clock, "wallMs" | "monotonicMs"> {
  /** Calls back once after a delay, instead of the call that was set before. A long delay may end early. */
  set(delayMs: number, callback: () => void): void;
  clear(): void;
}
