import type { ReportStore } from "../domain/reports.ts";
import { NOTHING_KEPT, type Store } from "../domain/store.ts";
import type { Condition } from "../domain/condition.ts";
import type { SharedStore } from "../domain/membership.ts";

const nothing = (): Promise<void> => Promise.resolve();
const none = (): Promise<readonly never[]> => Promise.resolve([]);

/** Of a state that reports nothing. */
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

// The store of the runs at one location: of each check it has the last result there, and nothing else.

interface LocationStoreOptions {
  readonly shared: Pick<SharedStore, "saveLocationResults">;
  readonly location: string;
  nowMs(): number;
  /** The trace of the last failing run of a check; empty: there is none. */
  traceOf(check: string): string;
  /** Called when a condition has changed, once others can read that. */
  onChanged(check: string, condition: Condition): void;
}

/** Creates the store. It starts empty: results of another member at the location are not its own. */
export function createLocationStore(
  { shared, location, nowMs, traceOf, onChanged }: LocationStoreOptions,
): Store {
  return {
    ...NO_STORE,
    save: async (updates) => {
      const atMs = nowMs();
      const results = new Map(updates.flatMap(({ record: { name, last } }) => {
        if (last === null) return [];
        const ageMs = Math.max(0, atMs - last.startedAtMs - last.durationMs);
        return [[name, { check: name, location, result: last, trace: traceOf(name), ageMs }]];
      }));
      if (results.size > 0) await shared.saveLocationResults([...results.values()]);
      const changed = new Map(
        updates.flatMap(({ change }) => change === null ? [] : [[change.name, change.to]]),
      );
      for (const [name, condition] of changed) onChanged(name, condition);
      return [];
    },
  };
}
