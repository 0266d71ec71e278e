import type { SchedulerOptions } from "../../src/scheduler/scheduler.ts";

/** Notifying without channels: what the soak measures ends at the kept state. */
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
