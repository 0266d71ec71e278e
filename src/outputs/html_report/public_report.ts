import type { CheckStatus, ShownCheck } from "../../engine/check_status.ts";
import type { ConditionChange, KeptResult } from "../../domain/store.ts";
import type { ReportSnapshot } from "./snapshot.ts";

/** The active checks that have one of some tags, with these tags alone. */
export function publicChecks<Shown extends Pick<ShownCheck, "tags" | "active">>(
  checks: readonly Shown[],
  tags: readonly string[],
): readonly Shown[] {
  return checks
    .map((check) => ({ ...check, tags: check.tags.filter((tag) => tags.includes(tag)) }))
    .filter((check) => check.active && check.tags.length > 0);
}

/** Returns a public status: without outputs, their data, notes, and whether and why nothing is sent. */
export function publicStatus<Status extends CheckStatus>(status: Status): Status {
  const { record, check: { runbook: _, ...check } } = status;
  return {
    ...status,
    check,
    record: record === null ? null : {
      ...record,
      condition: {
        ...record.condition,
        notified: record.condition.confirmed ?? "ok",
        notifiedAtMs: record.condition.confirmedSinceMs,
      },
      last: record.last === null ? null : publicResult(record.last),
    },
    waitsFor: [],
    isSilenced: false,
    acknowledged: null,
    maintenance: null,
  };
}

/** Lists the public fields, so that fields added to results stay hidden. */
function publicResult({ condition, startedAtMs, durationMs, lateMs }: KeptResult): KeptResult {
  return {
    condition,
    startedAtMs,
    durationMs,
    lateMs,
    output: "",
    detail: "",
    performanceData: "",
    metrics: {},
  };
}

/** Returns a public change. Lists the public fields, so that fields added to changes stay hidden. */
export function publicChange({ name, atMs, from, to }: ConditionChange): ConditionChange {
  return { name, atMs, from, to, output: "", trace: "" };
}

/** A page for everybody: without outputs, notifications, silences, host and config. Maintenance has no reason. */
export function publicReport(snapshot: ReportSnapshot): ReportSnapshot {
  return {
    ...snapshot,
    isPublic: true,
    hostName: "",
    configLabel: "",
    failedReload: null,
    checks: snapshot.checks.map((check) => ({
      ...publicStatus(check),
      maintenance: check.maintenance === null ? null : { ...check.maintenance, reason: "" },
      changes: check.changes.map(publicChange),
    })),
    why: [],
    ...snapshot.own !== undefined && { own: { ...snapshot.own, deliveries: [] } },
    rows: [],
    members: null,
    silences: [],
  };
}
