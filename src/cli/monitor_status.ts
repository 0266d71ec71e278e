/** The process that runs the checks, by the state and its lock. */
import { hashHex } from "../shared/hash.ts";
import { describeDuration } from "../domain/duration.ts";
import type { MonitorRun } from "../domain/monitor_run.ts";
import type { CheckRecord } from "../domain/store.ts";
import { isLiveMember, type MemberStatus } from "../domain/membership.ts";
import type { System } from "../domain/system.ts";
import { describeHeartbeat, locationStatuses, type MonitorStatus } from "../outputs/json/monitor_fields.ts";
import type { OpenConfig } from "./open_config.ts";
import type { StateLocation } from "./state_location.ts";

export function configHash({ sources }: Pick<OpenConfig, "sources">): string {
  return hashHex(JSON.stringify(sources.map(({ text }) => text)), 32);
}

interface MonitorStatusOptions {
  readonly place: StateLocation;
  /** The config as it is now; `null` while it has errors. */
  readonly config: OpenConfig | null;
  /** The state of the checks; after a service was stopped, other calls may have run them. */
  readonly records: readonly CheckRecord[];
  readonly system: Pick<System, "state">;
  /** The members that run checks, or died; `null` if the state isn't shared. */
  readonly members: readonly MemberStatus[] | null;
}

/** Describes the process that runs the checks; `null` if none is recorded. */
export function monitorStatusOf(
  run: MonitorRun | null,
  { place, config, records, system, members }: MonitorStatusOptions,
): MonitorStatus | null {
  if (run === null) return null;
  const state = members?.some(isLiveMember) === true
    ? "running"
    : stateOf(run, { place, records, system, members });
  const locations = members === null ? [] : locationStatuses(config?.checks ?? [], members);
  return { state, run, config: compareConfig(run, config), members, locations };
}

function stateOf(
  { mode, processId, stoppedAtMs }: MonitorRun,
  { place, records, members, system: { state } }: Omit<MonitorStatusOptions, "config">,
): MonitorStatus["state"] {
  if (mode === "cron") return "cron";
  if (stoppedAtMs !== null) {
    const hasRunSince = records.some(({ condition }) => (condition.observedAtMs ?? 0) > stoppedAtMs);
    return hasRunSince ? "cron" : "stopped";
  }
  // No lock shows whether the process of another machine runs.
  if (members !== null) return "died";
  const lockPath = `${place.path}.lock`;
  // A call of check --once by hand has the lock, too.
  const isIts = processId === null || state.holder(lockPath) === processId;
  return isIts && state.isLocked(lockPath) ? "running" : "died";
}

function compareConfig(run: MonitorRun, config: OpenConfig | null): MonitorStatus["config"] {
  if (config === null || config.source.path === null || run.configPath === null) return "unknown";
  if (config.source.path !== run.configPath) return "another";
  return configHash(config) === run.configHash ? "same" : "edited";
}

/** A part of a summary line, such as `monitor running for 2 h`; `null`: there is none. */
export function describeMonitor(status: MonitorStatus | null, nowMs: number): string | null {
  if (status === null || status.state === "cron") return null;
  const { state, run } = status;
  if (state === "running") {
    return `monitor running for ${describeDuration(Math.max(0, nowMs - run.startedAtMs))}`;
  }
  if (state === "died" || run.stoppedAtMs === null) return "monitor not running";
  return `monitor ${whyNotRunning(status, nowMs)}`;
}

/** Returns why no service runs, in words such as `stopped 2 h ago`. */
export function whyNotRunning({ run: { stoppedAtMs } }: MonitorStatus, nowMs: number): string {
  return stoppedAtMs === null
    ? TERMINATED
    : `stopped ${describeDuration(Math.max(0, nowMs - stoppedAtMs))} ago`;
}

const TERMINATED = "terminated unexpectedly (killed, crash or power failure)";

/** Further facts: lines without newlines. */
export function describeMonitorTrouble(
  status: MonitorStatus | null,
  { nowMs, hasErrors }: { readonly nowMs: number; readonly hasErrors: boolean },
): readonly string[] {
  if (status === null) return [];
  const dead = status.members?.filter((member) => !isLiveMember(member)) ?? [];
  return [
    ...describeTroubleOf(status, { nowMs, hasErrors }),
    ...dead.map((member) => `member "${member.host}": ${describeHeartbeat(member)}`),
    ...describeLocations(status),
  ];
}

/** Calls of cron are no members, so without any service the locations are unknown. */
function describeLocations({ state, locations = [] }: MonitorStatus): readonly string[] {
  if (state !== "running") return [];
  return locations.filter(({ members }) => members !== "live").map(({ location, members, checks }) => {
    const found = members === "dead" ? "no live member" : "no member has joined";
    return `location "${location}": ${found}, ${checks} ${checks === 1 ? "check names" : "checks name"} it`;
  });
}

function describeTroubleOf(
  { state, run, config }: MonitorStatus,
  { nowMs, hasErrors }: { readonly nowMs: number; readonly hasErrors: boolean },
): readonly string[] {
  if (state === "died") return [`monitor: ${TERMINATED}`];
  if (state !== "running") return [];
  const loaded = describeDuration(Math.max(0, nowMs - run.configLoadedAtMs));
  if (hasErrors) return [`config: invalid; monitor uses the one loaded ${loaded} ago`];
  if (config === "another") return [`config: monitor uses another one, "${run.configPath}"`];
  if (config !== "edited") return [];
  const signal = run.processId === null ? "SIGHUP" : `kill -HUP ${run.processId}`;
  const how = run.controlPath === null ? signal : "monitor reload";
  return [`config: edited since it was loaded ${loaded} ago; reload it with: ${how}`];
}
