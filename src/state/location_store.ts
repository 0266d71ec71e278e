/** The store of the runs at one location: of each check it has the last result there, and nothing else. */
import type { Condition } from "../domain/condition.ts";
import type { SharedStore } from "../domain/membership.ts";
import type { Store } from "../domain/store.ts";
import { NO_STORE } from "./no_store.ts";

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
