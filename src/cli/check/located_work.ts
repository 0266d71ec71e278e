/** Checks with locations in a service: it runs them at its own location, and decides about those it owns. */
import type { EarlyLook, SharedStore } from "../../domain/membership.ts";
import type { Member } from "../../members/member.ts";
import { AgreedRuns } from "../../scheduler/agreed_runs.ts";
import { type LocationRuns, startLocationRuns } from "../../scheduler/location_runs.ts";
import type { CheckRunner, Limiters } from "../../scheduler/run_checks.ts";
import type { ScheduledConfig, Scheduler, SchedulerOptions } from "../../scheduler/scheduler.ts";
import type { StateRepository } from "../../state/state_repository.ts";

interface LocatedWorkOptions extends Pick<SchedulerOptions, "system" | "steps" | "onBug"> {
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
export async function startLocatedWork(
  config: ScheduledConfig,
  options: LocatedWorkOptions,
): Promise<LocatedWork> {
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
  readonly #options: LocatedWorkOptions;
  readonly #runs: LocationRuns | null;
  readonly #agreed: AgreedRuns;
  #checks: ReadonlyMap<string, ScheduledConfig["checks"][number]>;
  /** The scheduler of the checks that this member owns; `null` before it is created. */
  #scheduler: Scheduler | null = null;

  constructor(
    config: ScheduledConfig,
    runs: LocationRuns | null,
    options: LocatedWorkOptions,
  ) {
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

  /** Follows calls for checks that this member owns. */
  attach(scheduler: Scheduler): void {
    this.#scheduler = scheduler;
  }

  /** Runs the checks that this member owns. */
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
  return new Map(
    checks.filter(({ locations }) => locations !== undefined).map((check) => [check.name, check]),
  );
}
