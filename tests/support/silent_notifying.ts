import type { SchedulerOptions } from "../../src/scheduler/scheduler.ts";

/** Notifying without channels, for tests of the decisions. */
export function createSilentNotifying(notifies = true): SchedulerOptions["notifying"] {
  return {
    refresh: () => Promise.resolve(),
    deciding: () => ({
      suppressedBy: notifies ? null : "no_notify",
      acknowledged: null,
      dependents: 0,
      known: () => [],
      queue: () => [],
    }),
    dependenciesToRun: () => [],
    send: () => {},
  };
}
