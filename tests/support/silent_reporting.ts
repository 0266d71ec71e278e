import type { WatchOptions } from "../../src/watch.ts";

/** Reporting without channels, for tests of what leads to reports. */
export function createSilentReporting(notifies = true): WatchOptions["reporting"] {
  return {
    refresh: () => Promise.resolve(),
    deciding: () => ({ held: notifies ? null : "no_notify", known: [], rowsOf: () => [] }),
    parentsToRun: () => [],
    send: () => {},
  };
}
