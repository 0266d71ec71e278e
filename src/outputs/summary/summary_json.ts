import { isoTime, isoTimeOrNull, roundedMs, roundedMsOrNull } from "../../shared/json_values.ts";
import { monitorFields } from "../json/monitor_fields.ts";
import { objectiveFields } from "./objectives.ts";
import { type Bounded, nameOf, type Outage, type Summary } from "./summarize.ts";
import { sentenceOf, summaryText } from "./summary_sections.ts";
import { type Notification, PLAIN_NOTIFICATION } from "../../domain/outbox.ts";
import { SUMMARY_NAME } from "../../domain/channel.ts";
import { summaryHtml } from "./summary_html.ts";

/** The fields of a summary in JSON; fields are only ever added. */
export function summaryFields(summary: Summary): Readonly<Record<string, unknown>> {
  const { availability, slowest, flapping, certificates, stale, withoutData, removed, undelivered } = summary;
  return {
    from: isoTime(summary.sinceMs),
    until: isoTime(summary.untilMs),
    time_zone: summary.timeZone,
    host: summary.hostName,
    sentence: sentenceOf(summary),
    checks: summary.checks,
    checks_down: summary.downChecks,
    checks_still_down: summary.stillDown,
    checks_with_warnings: summary.warningChecks,
    checks_pending: summary.pendingChecks,
    checks_unknown: summary.unknownChecks,
    down_ms: Math.round(summary.downMs),
    observed_ms: Math.round(summary.observedMs),
    objectives: summary.objectives,
    objectives_missed: summary.missedObjectives,
    outages: list(summary.outages, outageFields),
    jobs: list(summary.jobs, outageFields),
    causes: list(summary.causes, ({ text, checks, sinceMs }) => ({ text, checks, since: isoTime(sinceMs) })),
    availability: list(availability, (item) => ({
      ...nameOf(item),
      availability: item.availability,
      down_ms: Math.round(item.downMs),
      observed_ms: Math.round(item.observedMs),
      objective: item.objective === null ? null : objectiveFields(item.objective),
    })),
    slowest: slowest.map((item) => ({
      ...nameOf(item),
      mean_ms: roundedMs(item.meanMs),
      p50_ms: roundedMsOrNull(item.percentiles?.p50),
      p95_ms: roundedMsOrNull(item.percentiles?.p95),
      p99_ms: roundedMsOrNull(item.percentiles?.p99),
      max_ms: roundedMs(item.maxMs),
      previous_mean_ms: roundedMsOrNull(item.previousMeanMs),
      previous_p95_ms: roundedMsOrNull(item.previousP95Ms),
    })),
    flapping: list(flapping, (item) => ({
      ...nameOf(item),
      changes: item.changes,
      flapping: item.isFlapping,
    })),
    certificates: list(certificates, (item) => ({ ...nameOf(item), expires_at: isoTime(item.expiresAtMs) })),
    rehearsals: list(summary.rehearsals, ({ provenAtMs, isProven, ...item }) => ({
      ...nameOf(item),
      last_proven_at: isoTimeOrNull(provenAtMs),
      proven: isProven,
    })),
    unknown: list(stale, (item) => ({ ...nameOf(item), state: item.state, reason: item.reason })),
    without_data: list(withoutData, (item) => ({ ...nameOf(item), runs: item.runs, reason: item.reason })),
    not_in_config: list(removed, ({ name, lastRunAtMs }) => ({
      name,
      last_run_at: isoTimeOrNull(lastRunAtMs),
    })),
    undelivered: list(undelivered, (item) => ({ ...item })),
    monitor: monitorFields(summary.monitor),
    notes: summary.notes,
  };
}

function list<T>({ items, count }: Bounded<T>, toFields: (item: T) => object): object {
  return { count, items: items.map(toFields) };
}

function outageFields(outage: Outage): object {
  return {
    ...nameOf(outage),
    condition: outage.condition,
    from: isoTime(outage.fromMs),
    to: outage.end === "recovered" ? isoTime(outage.toMs) : null,
    end: outage.end,
    duration_ms: Math.round(outage.toMs - outage.fromMs),
    has_gap: outage.hasGap,
    output: outage.output,
  };
}

interface NotificationOptions {
  /** Letters, digits and `-`. */
  readonly id: string;
  /** Wall time, milliseconds since 1970; so is the other time. */
  readonly nowMs: number;
  /** When the next one is scheduled. */
  readonly nextAtMs: number;
}

/** Returns a summary as a notification: its sentence is the output, its text the detail. */
export function summaryNotification(
  summary: Summary,
  { id, nowMs, nextAtMs }: NotificationOptions,
): Notification {
  return {
    ...PLAIN_NOTIFICATION,
    id,
    check: SUMMARY_NAME,
    title: "Summary",
    event: "summary",
    condition: "ok",
    output: sentenceOf(summary),
    detail: summaryText(summary),
    problemBeganAtMs: summary.sinceMs,
    decidedAtMs: nowMs,
    occurrences: 0,
    nextRunAtMs: nextAtMs,
    hostName: summary.hostName,
    summary: { html: summaryHtml(summary).toString(), json: JSON.stringify(summaryFields(summary)) },
  };
}
