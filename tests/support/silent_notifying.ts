import type { SchedulerOptions } from "../../src/scheduler/scheduler.ts";

/** Notifying without channels, for tests of the decisions. */
export function createSilentNotifying(): SchedulerOptions["notifying"] {
  return {
    refresh: () => Promise.resolve(),
    deciding: () => ({
      suppressedBy: null,
      acknowledged: null,
      dependents: 0,
      known: () => [],
      queue: () => [],
    }),
    dependenciesToRun: () => [],
    send: () => {},
  };
}
