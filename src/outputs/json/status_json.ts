import type { Condition } from "../../domain/condition.ts";
import { type CheckStatus, knownNotified, unconfirmedOf } from "../../engine/check_status.ts";
import { queuedNotificationFields, type QueuedNotifications } from "../outbox_status.ts";
import { jsonDocument } from "../../shared/text.ts";
import { isoTimeOrNull, roundedMs } from "../../shared/json_values.ts";
import type { FoundCause } from "../../engine/causes.ts";
import { agentFields, reportingFields, type ReportingStatus } from "../agents_status.ts";
import { foundCauseFields } from "../present_causes.ts";
import { locationFields, monitorFields, type MonitorStatus } from "./monitor_fields.ts";

export interface StatusSnapshot {
  readonly statuses: readonly CheckStatus[];
  readonly notifications: QueuedNotifications;
  /** `null`: no process that runs the checks is recorded. */
  readonly monitor: MonitorStatus | null;
  /** The reports to another monitor; `null`: none were ever sent. */
  readonly reporting: ReportingStatus | null;
  /** The common causes of several problems. */
  readonly causes: readonly FoundCause[];
  /** The member or host whose endpoint renders it; `null`: a command does, or it is not shown. */
  readonly servedBy: string | null;
  /** Why the config can't be used; `null` if it can. */
  readonly configError: string | null;
}

/** Renders the JSON of `monitor status`; fields are only ever added. */
export function statusJson(
  { statuses, notifications, monitor, reporting, causes, servedBy, configError }: StatusSnapshot,
  condition: Condition,
): string {
  const value = {
    condition,
    checks: statuses.map(checkFields),
    ...queuedNotificationFields(notifications),
    monitor: monitorFields(monitor),
    agents: agentFields(statuses),
    report_to: reportingFields(reporting),
    causes: causes.map(foundCauseFields),
    served_by: servedBy,
    config_error: configError,
  };
  return jsonDocument(value);
}

export function checkJson(status: CheckStatus): string {
  return jsonDocument(checkFields(status));
}

function checkFields({ check, record, condition, state, maintenance, acknowledged }: CheckStatus): unknown {
  const burning = record?.condition.burn?.alert ?? null;
  return {
    name: check.name,
    title: check.title ?? null,
    description: check.description ?? null,
    runbook: check.runbook ?? null,
    kind: check.kind,
    target: check.target ?? null,
    condition,
    state,
    confirmed: record?.condition.confirmed ?? null,
    confirmed_since: isoTimeOrNull(record?.condition.confirmedSinceMs),
    unconfirmed: record === null ? null : unconfirmedOf(check, record),
    notified: record === null ? null : knownNotified(record.condition),
    last: !record?.last ? null : {
      condition: record.last.condition,
      output: record.last.output,
      detail: record.last.detail,
      performance_data: record.last.performanceData,
      metrics: record.last.metrics,
      started_at: isoTimeOrNull(record.last.startedAtMs),
      duration_ms: roundedMs(record.last.durationMs),
      ...locationFields(record.last.locations),
    },
    next_run_at: isoTimeOrNull(record?.nextRunAtMs),
    missed_runs: record?.missedRuns ?? 0,
    tags: check.tags,
    maintenance: maintenance === null ? null : {
      until: isoTimeOrNull(maintenance.untilMs),
      reason: maintenance.reason,
    },
    acknowledged,
    flapping_since: isoTimeOrNull(record?.condition.flappingSinceMs),
    burning: burning && { rate: burning.rate, since: isoTimeOrNull(burning.sinceMs) },
  };
}
