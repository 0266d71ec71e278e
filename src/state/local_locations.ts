/** The last results of locations in memory: those of this process and of agents, without a state that others share. */
import type { LocationResult, SharedStore, StoredLocationResult } from "../domain/membership.ts";
import type { Clock } from "../domain/clock.ts";

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
