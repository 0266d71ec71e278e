import type { Clock } from "../domain/clock.ts";

/** So long some work goes on before others have their turn. */
const TURN_MS = 5;

/** Returns what long work calls between its steps: it lets others go on if they waited for some milliseconds. */
export function createTurns(clock: Pick<Clock, "monotonicMs" | "after">): () => Promise<void> {
  let beganMs = clock.monotonicMs();
  return async () => {
    if (clock.monotonicMs() - beganMs < TURN_MS) return;
    await new Promise<void>((resolve) => void clock.after(0, resolve));
    beganMs = clock.monotonicMs();
  };
}
