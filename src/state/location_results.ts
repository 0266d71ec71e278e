/** The last results of checks at locations: the store of a location's runs, and its results in memory. */
import type { Clock } from "../domain/clock.ts";
import type { Condition } from "../domain/condition.ts";
import type { LocationResult, SharedStore, StoredLocationResult } from "../domain/membership.ts";
import type { Store } from "../domain/store.ts";
import { NO_STORE } from "./no_store.ts";

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
