import { counted } from "../../shared/text.ts";
import { ConfigError, type PlacedProblem } from "../../config/problem.ts";
import type { Log } from "../../domain/system.ts";
import type { ScheduledConfig } from "../../scheduler/scheduler.ts";
import { UsageError } from "../command_definition.ts";
import {
  type CommandContext,
  type OpenConfig,
  openConfig,
  readSelection,
  rejectUnsharedLocations,
  runSettings,
  selectChecks,
  type Selection,
} from "../open_config.ts";
import { describeMissing, permissionsOfConfig, requireGranted } from "../config_permissions.ts";
import { describeFailure, MissingPermissionsError } from "../failure.ts";
import { locateState } from "../open_state.ts";
import {
  compareConfigs,
  describeDifference,
  type ReloadOutcome,
  type ServiceFacts,
} from "./service_output.ts";

interface ReloadOptions extends CommandContext {
  readonly config: OpenConfig;
  readonly scheduled: ScheduledConfig;
  readonly statePath: string | null;
  readonly isShared: boolean;
  readonly log: Log;
  adopt(config: OpenConfig, scheduled: ScheduledConfig): void;
  onReloaded(outcome: ReloadOutcome): void;
}

export function createReload(options: ReloadOptions): () => Promise<ReloadOutcome> {
  const { invocation, system, statePath, isShared, log } = options;
  let { config, scheduled } = options;
  let running: Promise<ReloadOutcome> | null = null;
  let queued: Promise<ReloadOutcome> | null = null;

  const adopt = async (): Promise<ReloadOutcome> => {
    const reread = await readAgain({ invocation, system, config, log, isShared });
    if ("error" in reread) return { adopted: false, ...reread };
    const difference = compareConfigs(
      { checks: scheduled.checks, files: config.files },
      { checks: reread.scheduled.checks, files: reread.config.files },
    );
    ({ config, scheduled } = reread);
    options.adopt(config, scheduled);
    logWarnings(config, log);
    const place = await locateState(invocation, config, system);
    if (place.path !== null && place.path !== statePath) {
      log.warning(`the state path is now "${place.path}"; restart to use it`);
    }
    const facts = factsOf(config, scheduled);
    log.info(`config reloaded: ${counted(facts.checks, "check")}, ${describeDifference(difference)}`);
    return { adopted: true, ...facts, ...difference };
  };
  const start = (): Promise<ReloadOutcome> =>
    running = adopt().then((outcome) => {
      options.onReloaded(outcome);
      return outcome;
    }).finally(() => running = null);
  return () => {
    if (running === null) return start();
    // The one in progress may have read the config before it was edited.
    return queued ??= running.catch(() => {}).then(() => {
      queued = null;
      return start();
    });
  };
}

/**
 * Returns the scheduled part of a config: its active checks, or the selected ones of them.
 *
 * @throws {UsageError} If a name or a tag is not in the config.
 */
export function toScheduled(config: OpenConfig, selection: Selection): ScheduledConfig {
  return {
    checks: selectChecks(config.checks, selection).filter((check) => check.active),
    configChecks: config.checks,
    retentionMs: config.retentionMs,
    commonCauses: config.commonCauses,
    connectivity: config.connectivity,
    ...runSettings(config),
  };
}

export function factsOf(config: OpenConfig, scheduled: ScheduledConfig): ServiceFacts {
  return {
    config: config.source.label,
    checks: scheduled.checks.length,
    inactive: config.checks.filter((check) => !check.active).length,
  };
}

export function logWarnings({ source, placedWarnings }: OpenConfig, log: Log): void {
  for (const warning of placedWarnings) log.warning(describePlace(source.label, warning));
}

type RereadOptions = Pick<ReloadOptions, "invocation" | "system" | "config" | "log" | "isShared">;

/** The config that was read again, or the reason why the old one stays in force. */
type Reread = Pick<ReloadOptions, "config" | "scheduled"> | {
  readonly error: string;
  readonly first?: string;
};

async function readAgain({ invocation, system, config, log, isShared }: RereadOptions): Promise<Reread> {
  const { source } = config;
  try {
    if (source.path === null) throw new UsageError("the config is read from stdin and cannot be reloaded");
    const next = await openConfig(invocation, system);
    if (next.source.path !== source.path) {
      const found = `another config, "${next.source.label}", is found now instead of "${source.label}"`;
      throw new UsageError(`${found}; restart to use it`);
    }
    const scheduled = toScheduled(next, readSelection(invocation));
    const { checks } = scheduled;
    if (!isShared) await rejectUnsharedLocations(next, checks);
    // A restart grants what was dropped at the start.
    const dropped = next.lacks.find(({ denied }) =>
      denied !== undefined && system.permissions.isDropped(denied)
    );
    if (dropped !== undefined) throw new Deno.errors.NotCapable(dropped.message);
    const missing = requireGranted(await permissionsOfConfig(next, { invocation, system, checks }), system);
    for (const need of missing) log.warning(describeMissing(need));
    return { config: next, scheduled };
  } catch (error) {
    const places = error instanceof ConfigError
      ? error.problems.map((problem) => describePlace(error.source?.label ?? "", problem))
      : [];
    for (const place of places) log.error(place);
    if (error instanceof MissingPermissionsError) {
      for (const need of error.missing) log.error(describeMissing(need));
    }
    const isDropped = error instanceof MissingPermissionsError || error instanceof Deno.errors.NotCapable;
    const reason = `${reasonOf(error)}${isDropped ? "; restart to grant it" : ""}`;
    log.error(`config not reloaded, the old one stays active: ${reason}`);
    return { error: reason, ...places[0] !== undefined && { first: places[0] } };
  }
}

function describePlace(label: string, problem: PlacedProblem): string {
  const { line, column, path, message, hint, source } = problem;
  const place = `${source?.label ?? label}:${line}:${column}: ${path === "" ? "" : `${path}: `}`;
  return `${place}${message}${hint === null ? "" : ` (${hint})`}`;
}

const ERROR_PREFIX = "monitor: error: ";

function reasonOf(error: unknown): string {
  const lines = describeFailure(error, { color: false }).text.split("\n");
  return lines.find((line) => line.startsWith(ERROR_PREFIX))?.slice(ERROR_PREFIX.length) ?? String(error);
}
