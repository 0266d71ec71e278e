import type { SchedulerOptions } from "../../src/scheduler/scheduler.ts";

/** Notifying without channels: the soak measures everything up to the stored state. */
export const NO_REPORTING: SchedulerOptions["notifying"] = {
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
