import type { Clock } from "../domain/clock.ts";

/**
 * The one line of time that a loop plans on: monotonic time, moved so that it reads as wall time. A step of the
 * wall clock does not move it until the loop asks for it and deals with it.
 */
export interface ScheduleTime {
  nowMs(): number;
  /**
   * Catches up with the wall clock and returns by how much: it was set, or the system was suspended (monotonic time
   * stops then). Returns 0 if that is too little to matter, and then does not catch up.
   */
  catchUp(): number;
}

/** The clocks tick in different ways, and small corrections are many. */
const STEP_MS = 100;

/** Makes the line, at the present wall time. */
export function createScheduleTime(clock: Clock): ScheduleTime {
  let offsetMs = clock.wallMs() - clock.monotonicMs();
  return {
    nowMs: () => clock.monotonicMs() + offsetMs,
    catchUp: () => {
      const stepMs = clock.wallMs() - clock.monotonicMs() - offsetMs;
      if (Math.abs(stepMs) <= STEP_MS) return 0;
      offsetMs += stepMs;
      return stepMs;
    },
  };
}
