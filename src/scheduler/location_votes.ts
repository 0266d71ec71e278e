/**
 * The contributions of the locations of a check to its result. No clock of the database or of another member decides
 * which ones are too old: the age is bounded by when this process read that there was no newer result.
 */
import type { Check } from "../domain/check.ts";
import type { LocationVote } from "../domain/location.ts";
import type { StoredLocationResult } from "../domain/membership.ts";
import { locationCountsMs, locationOverdueMs } from "../alerting/overdue.ts";
import { isEdited } from "../domain/store.ts";
import { describeDuration } from "../domain/duration.ts";
import { isCron } from "../domain/schedule.ts";

export interface Votes {
  /** In the order of the config. */
  readonly votes: readonly LocationVote[];
  /** The results behind them, by location. */
  readonly results: ReadonlyMap<string, StoredLocationResult>;
  /** Whether a location has not reported lately. */
  readonly isSilent: boolean;
  /** Whether a result is still to come, since this has just begun, or the state was unreachable. */
  readonly isIncomplete: boolean;
  /** Whether one is still to come of a location that has lately reported another definition of the check. */
  readonly isOutdated: boolean;
}

interface SeenResult {
  readonly runs: number;
  readonly endedAtMs: number;
}

interface SeenCheck {
  readonly firstReadAtMs: number;
  readonly readAtMs: number;
  readonly results: ReadonlyMap<string, SeenResult>;
}

/** See the top of the file. Times are of the monotonic clock. */
export class LocationVotes {
  readonly #seen = new Map<string, SeenCheck>();
  /** Whether nothing could be read since the last count. */
  #isInterrupted = false;
  #readableSinceMs = -Infinity;

  /**
   * Returns the votes after its results were read, if these locations have a live member. Results of another definition
   * of the check do not count: their locations are awaited until they are overdue.
   */
  count(
    check: Check,
    stored: readonly StoredLocationResult[],
    { isLive, nowMs }: { isLive(location: string): boolean; readonly nowMs: number },
  ): Votes {
    if (this.#isInterrupted) this.#readableSinceMs = nowMs;
    this.#isInterrupted = false;
    const before = this.#seen.get(check.name);
    const firstReadAtMs = before?.firstReadAtMs ?? nowMs;
    const seen = new Map(stored.map((row) => [row.location, seenResult(row, before, nowMs)]));
    this.#seen.set(check.name, { firstReadAtMs, readAtMs: nowMs, results: seen });
    const byLocation = new Map(stored.map((row) => [row.location, row]));
    const results = new Map<string, StoredLocationResult>();
    let [isIncomplete, isOutdated, isSilent] = [false, false, false];
    const votes = (check.locations?.from ?? []).map((location): LocationVote => {
      const last = byLocation.get(location);
      const row = last !== undefined && isEdited(check, { last: last.result }) ? undefined : last;
      const silentForMs = nowMs - (seen.get(location)?.endedAtMs ?? -Infinity);
      if (row !== undefined && silentForMs <= lastsMs(check, row, locationCountsMs)) {
        results.set(location, row);
        const { condition, output, durationMs } = row.result;
        const vote = row.result.locations?.[0] ?? { location, condition, output, durationMs };
        return { ...vote, run: row.runs };
      }
      isSilent = true;
      const mayCome = isLive(location);
      const waitedMs = nowMs - Math.max(firstReadAtMs, this.#readableSinceMs);
      const awaitedMs = lastsMs(check, row, locationOverdueMs);
      if (row === undefined && silentForMs <= awaitedMs) isOutdated = true;
      if (mayCome && waitedMs <= awaitedMs) isIncomplete = true;
      const reasons = [
        ...mayCome ? [] : ["no live member"],
        ...row === undefined ? [] : [`has not reported for ${describeDuration(silentForMs)}`],
      ];
      const output = reasons.length === 0 ? "no result yet" : reasons.join(", ");
      return {
        location,
        condition: null,
        output,
        durationMs: null,
        ...row !== undefined && { run: row.runs },
      };
    });
    return { votes, results, isSilent, isIncomplete, isOutdated };
  }

  /** Notes that nothing could be read: results that could not be written either are still to come. */
  interrupt(): void {
    this.#isInterrupted = true;
  }

  retain(names: ReadonlySet<string>): void {
    for (const name of this.#seen.keys()) if (!names.has(name)) this.#seen.delete(name);
  }
}

/** A new result ended after the last time that an older one was read. */
function seenResult(
  { location, runs, ageMs }: StoredLocationResult,
  before: SeenCheck | undefined,
  nowMs: number,
): SeenResult {
  const known = before?.results.get(location);
  if (known?.runs === runs) return known;
  return {
    runs,
    endedAtMs: Math.max(nowMs - ageMs, known === undefined ? -Infinity : before?.readAtMs ?? 0),
  };
}

/** Returns how long after its end a result lasts by a rule. Before the first one: as if it was ok. */
function lastsMs(
  { schedule, timeoutMs }: Check,
  row: StoredLocationResult | undefined,
  rule: typeof locationCountsMs,
): number {
  // Checks with cron schedules have no locations.
  if (isCron(schedule)) return Infinity;
  const { condition, durationMs } = row?.result ?? { condition: "ok", durationMs: 0 };
  return rule({ schedule, timeoutMs }, condition) - durationMs;
}
