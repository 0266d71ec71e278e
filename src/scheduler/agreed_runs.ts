/** The runs of checks with locations where they are owned: each makes one result of the last ones of all locations. */
import { agreeOn, describeVote } from "../condition/agreement.ts";
import type { Check } from "../domain/check.ts";
import type { Clock } from "../domain/clock.ts";
import type { EarlyLook, SharedStore, StoredLocationResult } from "../domain/membership.ts";
import type { CheckResult, Result } from "../domain/result.ts";
import { StoreError } from "../domain/store.ts";
import { sleep } from "../shared/deadline.ts";
import { LocationVotes, type Votes } from "./location_votes.ts";
import { type CheckRunner, RUN_HERE, type RunOptions } from "./run_checks.ts";

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
      const result = { ...resultOf(votes, agree), check, startedAtMs: clock.wallMs() };
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
