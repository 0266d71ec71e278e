/** The runs of checks with locations where they are owned: each makes one result of the last ones of all locations. */
import { agreeOn, describeVote } from "../condition/agreement.ts";
import type { Check, CheckResult, LocationVote, Result } from "../domain/check.ts";
import type { Clock } from "../domain/clock.ts";
import type { EarlyLook, SharedStore, StoredLocationResult } from "../domain/membership.ts";
import { isEdited, StoreError } from "../domain/store.ts";
import { sleep } from "../shared/deadline.ts";
import { locationAttributes } from "./attributes.ts";
import { type CheckRunner, RUN_HERE, type RunOptions } from "./run_checks.ts";
import { locationCountsMs, locationOverdueMs } from "../engine/overdue.ts";
import { describeDuration } from "../domain/duration.ts";
import { isCron } from "../domain/schedule.ts";

interface AgreedRunsOptions {
  readonly store: Pick<SharedStore, "locationResults">;
  readonly clock: Clock;
  isLive(location: string): boolean;
  /** Whether it waits for the first results of live locations, and reads together; not in a single run. @default true */
  readonly waits?: boolean;
  callFor(check: string, why: EarlyLook["why"]): void;
}

/** Without a result, the next attempt comes so soon. */
const AGAIN_AFTER_MS = 1_000;
/** Results required within this time are read together. */
const GATHER_MS = 100;
/** A request takes up to two heartbeats, and the result of a run up to a second to be written. */
const CALL_MS = 4_000;
const POLL_MS = 250;

/** Runs checks with locations so, and all others in this process. */
export class AgreedRuns implements CheckRunner {
  readonly #options: AgreedRunsOptions;
  readonly #votes = new LocationVotes();
  readonly #ended = new AbortController();
  #lastRead: Promise<unknown> = Promise.resolve();
  /** The read that has not begun yet: checks requested meanwhile are read together. */
  #nextRead: { readonly checks: Set<string>; readonly rows: Promise<RowsByCheck> } | null = null;

  constructor(options: AgreedRunsOptions) {
    this.#options = options;
  }

  async limitOf(check: Check): Promise<"process" | "network" | "none"> {
    return check.locations === undefined ? await RUN_HERE.limitOf(check) : "none";
  }

  /** While the shared state is unreachable there is no result: one location alone decides nothing. */
  async run(check: Check, options: RunOptions): Promise<Result | null> {
    if (check.locations === undefined) return await RUN_HERE.run(check, options);
    const { clock, waits = true } = this.#options;
    const votes = await this.#read(check);
    const { agree } = check.locations;
    const isWaiting = votes === null || this.#isWaiting(votes, agree);
    if (votes !== null && (!isWaiting || !waits)) {
      const agreed = resultOf(votes, agree);
      const attributes = locationAttributes(votes.votes, agreed.condition);
      const result = {
        ...agreed,
        ...{ check, startedAtMs: clock.wallMs() },
        ...attributes !== undefined && { attributes },
      };
      return isWaiting ? { ...result, awaits: "checks" } : result;
    }
    await sleep(clock, AGAIN_AFTER_MS, options.signal);
    return null;
  }

  /** Returns whether the locations agree on another condition than the last one. */
  async isChanged(check: Check, observed: string | null): Promise<boolean> {
    if (check.locations === undefined || observed === null) return false;
    const votes = await this.#read(check);
    if (votes === null || this.#isWaiting(votes, check.locations.agree)) return false;
    return agreeOn(votes.votes, check.locations.agree).condition !== observed;
  }

  /** Runs a check at all locations, and resolves once those with a live member have a new result. */
  refresh(check: Check): Promise<void> | null {
    return check.locations === undefined ? null : this.#refresh(check, check.locations.from);
  }

  reload(checks: readonly Check[]): void {
    this.#votes.retain(new Set(checks.map(({ name }) => name)));
  }

  end(): void {
    this.#ended.abort(new Error("Stopped"));
  }

  async #refresh({ name, timeoutMs }: Check, from: readonly string[]): Promise<void> {
    const { clock, callFor, isLive } = this.#options;
    const { signal } = this.#ended;
    try {
      const before = runsOf(await this.#rowsOf(name));
      callFor(name, "requested");
      const deadlineMs = clock.monotonicMs() + timeoutMs + CALL_MS;
      while (clock.monotonicMs() < deadlineMs) {
        await sleep(clock, POLL_MS, signal);
        const after = runsOf(await this.#rowsOf(name));
        const isNew = (location: string): boolean => after.get(location) !== before.get(location);
        if (from.every((location) => isNew(location) || !isLive(location))) return;
      }
    } catch (error) {
      if (!signal.aborted && !(error instanceof StoreError)) throw error;
    }
  }

  async #read(check: Check): Promise<Votes | null> {
    const { clock, isLive } = this.#options;
    try {
      const rows = await this.#rowsOf(check.name);
      return this.#votes.count(check, rows, { isLive, nowMs: clock.monotonicMs() });
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#votes.interrupt();
      return null;
    }
  }

  /** After a start or an edit, a location that has not run yet is no reason for `unknown`. */
  #isWaiting({ votes, isIncomplete, isOutdated }: Votes, agree: number): boolean {
    const { waits = true } = this.#options;
    return (isOutdated || waits && isIncomplete) &&
      votes.filter(({ condition }) => condition !== null).length < agree;
  }

  async #rowsOf(check: string): Promise<readonly StoredLocationResult[]> {
    const { clock, waits = true } = this.#options;
    if (this.#nextRead === null) {
      const checks = new Set<string>();
      const rows = this.#lastRead.catch(() => {}).then(async () => {
        if (waits) await new Promise<void>((resolve) => void clock.after(GATHER_MS, resolve));
        this.#nextRead = null;
        return Map.groupBy(await this.#options.store.locationResults([...checks]), (row) => row.check);
      });
      this.#nextRead = { checks, rows };
      this.#lastRead = rows;
    }
    const { checks, rows } = this.#nextRead;
    checks.add(check);
    return (await rows).get(check) ?? [];
  }
}

type RowsByCheck = ReadonlyMap<string, readonly StoredLocationResult[]>;

function runsOf(rows: readonly StoredLocationResult[]): ReadonlyMap<string, number> {
  return new Map(rows.map(({ location, runs }) => [location, runs]));
}

function resultOf(
  { votes, results, isSilent }: Votes,
  agree: number,
): CheckResult & Pick<Result, "durationMs" | "trace"> {
  const { condition, output, decisive } = agreeOn(votes, agree);
  const only = results.values().next().value?.result;
  const isOne = votes.length === 1 && only !== undefined;
  const trace = condition === "ok" ? "" : results.get(decisive?.location ?? "")?.trace ?? "";
  return {
    condition,
    output,
    detail: isOne ? only.detail : votes.map(describeVote).join("\n"),
    metrics: isOne ? only.metrics : metricsOf(results),
    performanceData: isOne ? only.performanceData : "",
    locations: votes,
    ...isSilent && decisive === null && { isSilent },
    ...trace !== "" && { trace: `at ${decisive?.location}:\n${trace}` },
    durationMs: Math.max(0, ...votes.map(({ durationMs }) => durationMs ?? 0)),
  };
}

/** The metrics of each location under its name. */
function metricsOf(results: Votes["results"]): Readonly<Record<string, number>> {
  return Object.fromEntries(
    [...results].flatMap(([location, { result: { metrics } }]) =>
      Object.entries(metrics).map(([name, value]) => [`${location}.${name}`, value])
    ),
  );
}

// The contributions of the locations of a check to its result. No clock of the database or of another member decides
// which ones are too old: the age is bounded by when this process read that there was no newer result.

interface Votes {
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
