/** Stores without a database: of nothing, and of the last results of locations. */
import type { ReportStore } from "../domain/reports.ts";
import { NOTHING_KEPT, type Store } from "../domain/store.ts";
import type { Condition } from "../domain/condition.ts";
import type { LocationResult, SharedStore, StoredLocationResult } from "../domain/membership.ts";
import type { Clock } from "../domain/clock.ts";

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

// The last results of locations in memory: those of this process and of agents, without a state that others share.

type Stored = Omit<StoredLocationResult, "ageMs"> & {
  /** When it ended, by the monotonic clock. */
  readonly endedMs: number;
};

export class LocalLocations implements Pick<SharedStore, "saveLocationResults" | "locationResults"> {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #stored = new Map<string, Map<string, Stored>>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  saveLocationResults(results: readonly (LocationResult & { readonly ageMs: number })[]): Promise<void> {
    for (const { ageMs, ...result } of results) this.save(result, ageMs);
    return Promise.resolve();
  }

  /** Saves a result in the place of the last one, unless that ended later; returns whether its condition is another one. */
  save(result: LocationResult, ageMs: number): boolean {
    const { check, location } = result;
    const ofCheck = this.#stored.getOrInsertComputed(check, () => new Map());
    const before = ofCheck.get(location);
    const endedMs = this.#clock.monotonicMs() - ageMs;
    if (before !== undefined && before.endedMs >= endedMs) return false;
    ofCheck.set(location, { ...result, runs: (before?.runs ?? 0) + 1, endedMs });
    return before?.result.condition !== result.result.condition;
  }

  locationResults(checks: readonly string[]): Promise<readonly StoredLocationResult[]> {
    const nowMs = this.#clock.monotonicMs();
    return Promise.resolve(
      checks.flatMap((check) =>
        [...this.#stored.get(check)?.values() ?? []].map(({ endedMs, ...stored }) => ({
          ...stored,
          ageMs: Math.max(0, nowMs - endedMs),
        }))
      ),
    );
  }

  retain(names: ReadonlySet<string>): void {
    for (const name of this.#stored.keys()) if (!names.has(name)) this.#stored.delete(name);
  }
}
