import type { Clock } from "../src/domain/clock.ts";
import { createWheelClock } from "../src/scheduler/wheel_clock.ts";
import { createRawTimer } from "../src/system/runtime.ts";

/** Makes the machine's clock, as `main.ts` does. */
export function createRealClock(): Clock {
  return createWheelClock(createRawTimer());
}
