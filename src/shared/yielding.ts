import { pause } from "./deadline.ts";
import type { Clock } from "../domain/clock.ts";

const WORK_MS = 5;

/** Returns a function for long work to call between its steps: it yields to other work every few milliseconds. */
export function createYield(clock: Pick<Clock, "monotonicMs" | "after">): () => Promise<void> {
  let beganMs = clock.monotonicMs();
  return async () => {
    if (clock.monotonicMs() - beganMs < WORK_MS) return;
    await pause(clock, 0);
    beganMs = clock.monotonicMs();
  };
}
