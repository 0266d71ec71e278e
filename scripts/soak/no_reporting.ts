import type { WatchOptions } from "../../src/watch.ts";

/** Reporting without channels: what the soak measures ends at the kept state. */
export const NO_REPORTING: WatchOptions["reporting"] = {
  refresh: () => Promise.resolve(),
  deciding: () => ({ held: null, known: [], rowsOf: () => [] }),
  parentsToRun: () => [],
  send: () => {},
};
