/** A store that has nothing. */
import type { ReportStore } from "../domain/reports.ts";
import { NOTHING_KEPT, type Store } from "../domain/store.ts";

const nothing = (): Promise<void> => Promise.resolve();
const none = (): Promise<readonly never[]> => Promise.resolve([]);

export const NO_REPORTS: ReportStore = {
  reports: () => Promise.resolve({ reports: [], waiting: 0 }),
  reporting: () => Promise.resolve(null),
  keepReporting: nothing,
  dropReports: () => Promise.resolve(0),
};

/** Persists and returns nothing: for a pass without state, which avoids loading the database. */
export const NO_STORE: Store = {
  records: none,
  save: none,
  changes: none,
  latestChanges: none,
  rollups: none,
  rollupSums: none,
  metricHours: none,
  recentRuns: none,
  journal: none,
  outbox: () => Promise.resolve(NOTHING_KEPT),
  changeOutbox: nothing,
  deliveries: none,
  silences: none,
  addSilences: nothing,
  endSilences: () => Promise.resolve(0),
  keepAction: nothing,
  actions: none,
  job: (_name, nowMs) => Promise.resolve({ sinceMs: nowMs, last: null, inProgress: [] }),
  keepJobRun: nothing,
  monitorRun: () => Promise.resolve(null),
  keepMonitorRun: nothing,
  queuedSummary: () => Promise.resolve(null),
  queueSummary: () => Promise.resolve(false),
  ...NO_REPORTS,
  prune: () => Promise.resolve({ finished: true, forgotten: [] }),
  close: nothing,
};
