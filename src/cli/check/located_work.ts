/** Checks with locations in a service: it runs them at its own location, and decides about those it owns. */
import type { EarlyLook, SharedStore, StoredLocationResult } from "../../domain/membership.ts";
import type { Member } from "../../members/member.ts";
import {
  AgreedRuns,
  createLocationRunner,
  type LocationRuns,
  startLocationRuns,
} from "../../scheduler/located_runs.ts";
import {
  type CheckRunner,
  connectivityOf,
  createLimiters,
  type Limiters,
  type PassOptions,
  runPass,
} from "../../scheduler/run_checks.ts";
import type { ScheduledConfig, Scheduler, SchedulerOptions } from "../../scheduler/scheduler.ts";
import type { StateRepository } from "../../state/state_repository.ts";
import { isEdited } from "../../domain/store.ts";
import type { Check, Result } from "../../domain/check.ts";
import type { System } from "../../domain/system.ts";
import { isDue } from "../../scheduler/next_run.ts";
import { isCron } from "../../domain/schedule.ts";
import { keptResult } from "../../engine/decide.ts";
import { type OpenConfig, runSettings } from "../open_config.ts";
import type { CheckCommandSettings } from "./settings.ts";

interface WorkOptions extends Pick<SchedulerOptions, "system" | "steps" | "onBug"> {
  readonly shared: { readonly store: Pick<SharedStore, "saveLocationResults" | "locationResults"> };
  readonly member: {
    readonly location: Pick<Member["location"], "name" | "runs"> & {
      readonly live: Pick<ReadonlySet<string>, "has">;
    };
    callFor(check: string, why: EarlyLook["why"]): void;
  };
  /** Of the checks that this member owns, and of those at its location. */
  readonly limiters: Limiters;
  readonly repository: Pick<StateRepository, "recordOf">;
}

/** Starts it; without a location it runs nothing, and only decides. */
export async function startLocatedWork(config: ScheduledConfig, options: WorkOptions): Promise<LocatedWork> {
  const { member: { location }, shared, onBug } = options;
  const runs = location.name === null ? null : await startLocationRuns(config, {
    ...options,
    location: location.name,
    shared: shared.store,
    share: location,
    callFor: (check, why) => work.callFor(check, why),
    onBug,
  });
  const work: LocatedWork = new LocatedWork(config, runs, options);
  return work;
}

export class LocatedWork {
  readonly #options: WorkOptions;
  readonly #runs: LocationRuns | null;
  readonly #agreed: AgreedRuns;
  #checks: ReadonlyMap<string, ScheduledConfig["checks"][number]>;
  /** The scheduler of the checks that this member owns; `null` before it is created. */
  #scheduler: Scheduler | null = null;

  constructor(config: ScheduledConfig, runs: LocationRuns | null, options: WorkOptions) {
    const { shared, member, system } = options;
    this.#options = options;
    this.#runs = runs;
    this.#checks = byName(config);
    this.#agreed = new AgreedRuns({
      store: shared.store,
      clock: system.clock,
      isLive: (location) => member.location.live.has(location),
      callFor: (check, why) => this.callFor(check, why),
    });
  }

  attach(scheduler: Scheduler): void {
    this.#scheduler = scheduler;
  }

  get runner(): CheckRunner {
    return this.#agreed;
  }

  get isAdvancing(): boolean {
    return this.#runs?.isAdvancing !== false;
  }

  get running(): readonly string[] {
    return this.#runs?.running ?? [];
  }

  /** Requests all members, this one included, to run a check at once. */
  callFor(check: string, why: EarlyLook["why"]): void {
    this.#options.member.callFor(check, why);
    this.look([{ check, why }]);
  }

  /** Runs requested checks here at once, and runs or decides about those that this member owns. */
  look(looks: readonly Pick<EarlyLook, "check" | "why">[]): void {
    this.#runs?.look(looks);
    for (const { check, why } of looks) {
      if (why === "needed") this.#scheduler?.runNow(check);
      else if (why !== "requested") this.#reconsider(check).catch(this.#options.onBug);
    }
  }

  spread(): void {
    this.#runs?.spread();
  }

  adopt(config: ScheduledConfig): void {
    this.#checks = byName(config);
    this.#runs?.reload(config);
    this.#agreed.reload(config.checks);
  }

  async stop(graceMs: number): Promise<readonly string[]> {
    this.#agreed.end();
    return await this.#runs?.stop(graceMs) ?? [];
  }

  /** A result counts at once if it changes the condition; the same one again has to wait for its interval. */
  async #reconsider(name: string): Promise<void> {
    const { repository, system } = this.#options;
    const check = this.#checks.get(name);
    if (check === undefined || this.#scheduler?.owns(name) !== true) return;
    const { observed } = repository.recordOf(name, system.clock.wallMs()).condition;
    if (await this.#agreed.isChanged(check, observed)) this.#scheduler.decideNow(name);
  }
}

function byName({ checks }: ScheduledConfig): ReadonlyMap<string, ScheduledConfig["checks"][number]> {
  const located = checks.filter(({ locations }) => locations !== undefined);
  return new Map(located.map((check) => [check.name, check]));
}

// Checks with locations in a single run: it runs them at its own location, and decides by all results.

interface LocatedPassOptions {
  readonly store: SharedStore;
  readonly system: Pick<System, "clock">;
  /** `null`: this run is at no location. */
  readonly location: string | null;
}

interface DueOptions {
  readonly system: PassOptions["system"];
  readonly config: Pick<OpenConfig, "source" | "timeZone" | "redact" | "connectivity">;
  readonly settings: Pick<CheckCommandSettings, "concurrency">;
  readonly repository: Pick<StateRepository, "recordOf">;
}

export class LocatedPass {
  readonly #options: LocatedPassOptions;
  readonly #agreed: AgreedRuns;
  readonly #here: ReturnType<typeof createLocationRunner>;

  constructor(options: LocatedPassOptions) {
    const { store, system, location } = options;
    this.#options = options;
    this.#here = createLocationRunner(location ?? "");
    this.#agreed = new AgreedRuns({
      store,
      clock: system.clock,
      // The other locations may be calls of cron.
      isLive: () => true,
      waits: false,
      callFor: () => {},
    });
  }

  /** Decides by the results of all locations. Unless `runDue` did, it runs checks at this location first. */
  runner({ isDue }: { readonly isDue: boolean }): CheckRunner {
    if (isDue) return this.#agreed;
    return {
      limitOf: (check) => (this.#isHere(check) ? this.#here : this.#agreed).limitOf(check),
      run: async (check, options) => {
        if (!this.#isHere(check)) return await this.#agreed.run(check, options);
        const result = await this.#here.run(check, options);
        await this.#save([result]);
        const agreed = await this.#agreed.run(check, options);
        return agreed === null || result.trace === undefined ? agreed : { ...agreed, trace: result.trace };
      },
    };
  }

  /** Runs the checks that are due at this location; returns the names of those whose condition changes. */
  async runDue(checks: readonly Check[], options: DueOptions): Promise<ReadonlySet<string>> {
    const { store, system } = this.#options;
    const here = checks.filter((check) => this.#isHere(check));
    const rows = here.length === 0 ? [] : await store.locationResults(here.map(({ name }) => name));
    const ownRows = rows.filter(({ location }) => location === this.#options.location);
    const byCheck = new Map(ownRows.map((row) => [row.check, row]));
    const nowMs = system.clock.wallMs();
    await this.#runHere(here.filter((check) => isDueHere(check, byCheck.get(check.name), nowMs)), options);
    const changed = await Promise.all(checks.map(async (check) => {
      const { observed } = options.repository.recordOf(check.name, nowMs).condition;
      return await this.#agreed.isChanged(check, observed) ? [check.name] : [];
    }));
    return new Set(changed.flat());
  }

  async #runHere(checks: readonly Check[], { system, config, settings }: DueOptions): Promise<void> {
    const results: Result[] = [];
    await runPass(checks, {
      system,
      jobs: null,
      ...runSettings(config),
      limiters: createLimiters({ process: settings.concurrency }),
      // Until the checks run, a signal ends the process.
      signal: new AbortController().signal,
      connectivity: connectivityOf(config),
      runner: this.#here,
      onResult: (result) => void results.push(result),
    });
    await this.#save(results);
  }

  #isHere({ locations }: Check): boolean {
    const { location } = this.#options;
    return location !== null && locations?.from.includes(location) === true;
  }

  async #save(results: readonly Result[]): Promise<void> {
    const { store, location } = this.#options;
    if (location === null || results.length === 0) return;
    await store.saveLocationResults(results.map((result) => {
      const { check: { name: check }, trace = "" } = result;
      return { check, location, result: keptResult(result, null), trace, ageMs: 0 };
    }));
  }
}

/** Decides by the age of the last result: each location has its own schedule. */
function isDueHere(check: Check, row: StoredLocationResult | undefined, nowMs: number): boolean {
  const { schedule } = check;
  if (row === undefined || isCron(schedule) || isEdited(check, { last: row.result })) return true;
  const { regularIntervalMs, attentiveIntervalMs } = schedule;
  const intervalMs = row.result.condition === "ok" ? regularIntervalMs : attentiveIntervalMs;
  const startedAtMs = nowMs - row.ageMs - row.result.durationMs;
  return isDue(startedAtMs + intervalMs, nowMs, intervalMs);
}
