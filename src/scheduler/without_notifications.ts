import type { Notifying } from "../alerting/notifying.ts";

/** The notifications of runs that call no channel: nothing is suppressed, and nothing is queued. */
export const WITHOUT_NOTIFICATIONS: Pick<
  Notifying,
  "refresh" | "forget" | "know" | "deciding" | "dependenciesToRun" | "send"
> = {
  refresh: () => Promise.resolve(),
  forget: () => {},
  know: () => Promise.resolve(),
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
