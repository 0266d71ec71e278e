/**
 * The runs of this member at its location: a separate scheduler, with a record of each check that contains only the
 * last result here. The owner of the check decides on its condition, see `agreed_runs.ts`.
 */
import type { Check, Result, TraceDepth } from "../domain/check.ts";
import type { EarlyLook, SharedStore, WorkShare } from "../domain/membership.ts";
import { Engine } from "../engine/engine.ts";
import { createLocationStore } from "../state/no_store.ts";
import { openStateRepository, type StateRepository } from "../state/state_repository.ts";
import {
  type CheckRunner,
  type Limiters,
  mayConfirmProblem,
  RUN_HERE,
  runCheck,
  type RunOptions,
} from "./run_checks.ts";
import { splayOf } from "./plan.ts";
import { type ScheduledConfig, Scheduler, type SchedulerOptions } from "./scheduler.ts";

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
