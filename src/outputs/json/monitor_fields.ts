import type { Check, LocationVote } from "../../domain/check.ts";
import { describeDuration } from "../../domain/duration.ts";
import type { MonitorRun, NotRunning } from "../../domain/monitor_run.ts";
import { isoTimeOrNull, roundedMs } from "../../shared/json_values.ts";
import { isLiveMember, type MemberStatus } from "../../domain/membership.ts";

/** The process that runs the checks, and whether it has the present config. */
export interface MonitorStatus {
  /** `cron`: there is no service, and single calls run the checks. */
  readonly state: NotRunning["state"] | "running" | "cron";
  /** Why no service runs; `null`: one runs, or there is none. */
  readonly notRunning: NotRunning | null;
  readonly run: MonitorRun;
  /** Its config, compared with the present one; `unknown`: that has errors or came from stdin. */
  readonly config: "same" | "edited" | "another" | "unknown";
  /** The members that run checks, or died; `null` or absent if the state isn't shared. */
  readonly members?: readonly MemberStatus[] | null;
  /** The locations of the config, in its order; empty or absent: it has none, or the state isn't shared. */
  readonly locations?: readonly LocationStatus[];
}

interface LocationStatus {
  readonly location: string;
  /** `none`: no member of the location has joined, or none for a day. */
  readonly members: "live" | "dead" | "none";
  /** How many active checks name it. */
  readonly checks: number;
}

export function locationStatuses(
  checks: readonly Pick<Check, "active" | "locations">[],
  members: readonly Pick<MemberStatus, "location" | "silentForMs">[],
): readonly LocationStatus[] {
  const named = checks.flatMap(({ active, locations }) => active ? locations?.from ?? [] : []);
  return [...Map.groupBy(named, (name) => name)].map(([location, { length }]) => {
    const there = members.filter((member) => member.location === location);
    const found = there.some(isLiveMember) ? "live" : there.length > 0 ? "dead" : "none";
    return { location, members: found, checks: length };
  });
}

/** Describes a member, such as `no heartbeat for 5 min`. */
export function describeMember(member: Pick<MemberStatus, "silentForMs" | "config" | "active">): string {
  if (!isLiveMember(member)) return `no heartbeat for ${describeDuration(member.silentForMs)}`;
  const { config, active } = member;
  return active !== "" && config !== active ? "another config, runs no checks" : "live";
}

/** The fields of `monitor` in JSON; fields are only ever added. */
export function monitorFields(status: MonitorStatus | null): Readonly<Record<string, unknown>> | null {
  if (status === null) return null;
  const { state, notRunning, run, config, members = null, locations = [] } = status;
  return {
    state,
    process_id: run.processId,
    started_at: isoTimeOrNull(run.startedAtMs),
    stopped_at: isoTimeOrNull(state === "stopped" ? notRunning?.sinceMs ?? null : null),
    last_seen_at: isoTimeOrNull(state === "stopped" ? null : notRunning?.sinceMs ?? null),
    config: run.configPath,
    config_loaded_at: isoTimeOrNull(run.configLoadedAtMs),
    config_edited: config === "unknown" || config === "another" ? null : config === "edited",
    reload_failed_at: isoTimeOrNull(run.failedReload?.atMs ?? null),
    reload_error: run.failedReload?.reason ?? null,
    members: members?.map((member) => ({
      member: member.host,
      live: isLiveMember(member),
      location: member.location,
    })) ?? null,
    ...locations.length > 0 && {
      locations: locations.map(({ location, members: found, checks }) => ({
        location,
        live: found === "live",
        checks,
      })),
    },
  };
}

/** The field `locations` of a result; without any if the check did not run at locations. */
export function locationFields(
  votes: readonly LocationVote[] | undefined,
): { readonly locations?: readonly (Omit<LocationVote, "durationMs"> & { duration_ms: number | null })[] } {
  if (votes === undefined) return {};
  return {
    locations: votes.map(({ location, condition, output, durationMs }) => ({
      location,
      condition,
      output,
      duration_ms: durationMs === null ? null : roundedMs(durationMs),
    })),
  };
}
