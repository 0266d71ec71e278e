import type { Store } from "../domain/store.ts";

const nothing = (): Promise<void> => Promise.resolve();
const none = (): Promise<readonly never[]> => Promise.resolve([]);

/**
 * Persists nothing, and returns nothing: for a single pass without state. It avoids loading and opening the database,
 * which takes 2 ms.
 */
export const NO_STORE: Store = {
  records: none,
  save: none,
  changes: none,
  latestChanges: none,
  rollups: none,
  rollupSums: none,
  recentRuns: none,
  outbox: () => Promise.resolve({ notifications: [], markers: [], counts: [] }),
  changeOutbox: nothing,
  silences: none,
  addSilences: nothing,
  endSilences: () => Promise.resolve(0),
  job: (_name, nowMs) => Promise.resolve({ sinceMs: nowMs, last: null, inProgress: [] }),
  keepJobRun: nothing,
  monitorRun: () => Promise.resolve(null),
  keepMonitorRun: nothing,
  queuedSummary: () => Promise.resolve(null),
  queueSummary: () => Promise.resolve(false),
  prune: () => Promise.resolve({ finished: true, forgotten: [] }),
  close: nothing,
};
