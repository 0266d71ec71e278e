/**
 * The runs of checks with locations. Where they are owned, each makes one result of the last ones of all locations; at a
 * location, they are those of a separate scheduler.
 */
import { agreeOn, describeVote } from "../condition/agreement.ts";
import type { Check, CheckResult, LocationVote, Result, TraceDepth } from "../domain/check.ts";
import type { Clock } from "../domain/clock.ts";
import type { EarlyLook, SharedStore, StoredLocationResult, WorkShare } from "../domain/membership.ts";
import { isEdited, StoreError } from "../domain/store.ts";
import { sleep } from "../shared/deadline.ts";
import { defined } from "../shared/json_values.ts";
import { locationAttributes } from "./attributes.ts";
import {
  type CheckRunner,
  type Limiters,
  mayConfirmProblem,
  RUN_HERE,
  runCheck,
  type RunOptions,
} from "./run_checks.ts";
import { locationCountsMs, locationOverdueMs } from "../engine/check_status.ts";
import { describeDuration } from "../domain/duration.ts";
import { isCron } from "../domain/schedule.ts";
import { Engine } from "../engine/engine.ts";
import { createLocationStore } from "../state/location_results.ts";
import { openStateRepository, type StateRepository } from "../state/state_repository.ts";
import { splayOf } from "./next_run.ts";
import { type ScheduledConfig, Scheduler, type SchedulerOptions } from "./scheduler.ts";

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
  #nextRead: {
    readonly checks: Set<string>;
    readonly rows: Promise<ReadonlyMap<string, StoredLocationResult[]>>;
  } | null = null;

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
      const result = { ...agreed, check, startedAtMs: clock.wallMs(), ...defined({ attributes }) };
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

/** Times are of the monotonic clock. */
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
      return { location, condition: null, output, durationMs: null, ...defined({ run: row?.runs }) };
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

// The runs of this member at its location: a separate scheduler, with a record of each check that contains only the
// last result here. The owner of the check decides on its condition.

interface LocationRunsOptions extends Pick<SchedulerOptions, "system" | "steps" | "onBug"> {
  readonly location: string;
  readonly shared: Pick<SharedStore, "saveLocationResults">;
  readonly share: Pick<WorkShare, "runs">;
  readonly limiters: Limiters;
  /** Called when the result here changed, and others can read that. */
  callFor(check: string, why: EarlyLook["why"]): void;
}

export async function startLocationRuns(
  config: ScheduledConfig,
  options: LocationRunsOptions,
): Promise<LocationRuns> {
  const { location, shared, system, callFor } = options;
  const traces = new Map<string, string>();
  const repository = await openStateRepository({
    store: createLocationStore({
      shared,
      location,
      nowMs: () => system.clock.wallMs(),
      traceOf: (check) => traces.get(check) ?? "",
      onChanged: (check, condition) => callFor(check, condition === "ok" ? "changed" : "failing"),
    }),
    // The same database has the state, whose failures are logged.
    onFailure: () => {},
    reopen: (error) => Promise.reject(error),
  });
  return new LocationRuns(config, repository, { ...options, traces });
}

export class LocationRuns {
  readonly #options: LocationRunsOptions;
  readonly #repository: StateRepository;
  readonly #scheduler: Scheduler;
  #checks: ReadonlyMap<string, Check>;

  /** See {@linkcode startLocationRuns}; `traces` receives that of the last failing run of each check. */
  constructor(
    config: ScheduledConfig,
    repository: StateRepository,
    options: LocationRunsOptions & { readonly traces: Map<string, string> },
  ) {
    const { location, share, traces } = options;
    this.#options = options;
    this.#repository = repository;
    this.#checks = new Map(config.checks.map((check) => [check.name, check]));
    const runner = createLocationRunner(location);
    this.#scheduler = new Scheduler(atLocation(config, location), {
      ...options,
      jobs: null,
      repository,
      engine: new Engine([], { repository, sender: null, newId: () => "", hostName: "" }),
      share: { runs: (check) => share.runs(check), prunes: false },
      runner: {
        ...runner,
        run: async (check, others) => {
          const result = await runner.run(check, { ...others, traceOf: (one) => this.#traceOf(one) });
          if (result.condition === "ok") traces.delete(check.name);
          else if (result.trace !== undefined) traces.set(check.name, result.trace);
          return result;
        },
      },
      onEvent: () => {},
    });
  }

  get isAdvancing(): boolean {
    return this.#scheduler.isAdvancing;
  }

  /** The checks that run now, in no order. */
  get running(): readonly string[] {
    return this.#scheduler.running;
  }

  reload(config: ScheduledConfig): void {
    this.#checks = new Map(config.checks.map((check) => [check.name, check]));
    this.#scheduler.reload(atLocation(config, this.#options.location));
  }

  spread(): void {
    this.#scheduler.spread();
  }

  /** Runs checks at once that others call for; one that fails here runs often as it is. */
  look(looks: readonly Pick<EarlyLook, "check" | "why">[]): void {
    const nowMs = this.#options.system.clock.wallMs();
    for (const { check, why } of looks) {
      const { observed } = this.#repository.recordOf(check, nowMs).condition;
      const isNeeded = why === "requested" || why === "failing" && (observed ?? "ok") === "ok";
      if (isNeeded) this.#scheduler.runNow(check);
    }
  }

  #traceOf({ name }: Check): TraceDepth | null {
    const check = this.#checks.get(name);
    const record = this.#repository.recordOf(name, this.#options.system.clock.wallMs());
    return check !== undefined && mayConfirmProblem(check, record) ? "brief" : null;
  }

  stop(graceMs: number): Promise<readonly string[]> {
    return this.#scheduler.stop(graceMs);
  }
}

/** Returns the checks of a location, each at its own offset in the interval. */
function atLocation(config: ScheduledConfig, location: string): ScheduledConfig {
  const checks = config.checks.flatMap((check) => {
    const index = check.locations?.from.indexOf(location) ?? -1;
    if (check.locations === undefined || index < 0) return [];
    const splay = (splayOf(check.name) + (index + 1) / (check.locations.from.length + 1)) % 1;
    return [{ ...check, ...COUNTING_NOTHING, splay }];
  });
  return { ...config, checks, configChecks: checks };
}

const COUNTING_NOTHING = {
  threshold: 1,
  recoveryThreshold: 1,
  reminders: false,
  maintenanceWindows: [],
  notifications: [],
  dependsOn: [],
} as const satisfies Partial<Check>;

/** Runs a check here; its result does not count if it failed because this machine has no network. */
export function createLocationRunner(
  location: string,
): Omit<CheckRunner, "run"> & { run(check: Check, options: RunOptions): Promise<Result> } {
  return {
    limitOf: RUN_HERE.limitOf,
    run: async (check, options) => {
      const { awaits, ...result } = await runCheck(check, options);
      const condition = awaits === undefined ? result.condition : null;
      const { output, durationMs } = result;
      return { ...result, locations: [{ location, condition, output, durationMs }] };
    },
  };
}
