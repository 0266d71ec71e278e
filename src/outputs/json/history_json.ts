import {
  type Availability,
  availabilityOf,
  lastedIn,
  type SpanSummary,
  summarise,
} from "../../state/availability.ts";
import type { CheckStatus } from "../../engine/check_status.ts";
import { eachCondition } from "../../domain/condition.ts";
import { measuredIn } from "../../state/metric_sums.ts";
import type { CheckRecord, ConditionChange, JournalRow, RecentRun, Store } from "../../domain/store.ts";
import { jsonText } from "../../shared/text.ts";
import { DAY_MS } from "../../shared/time_units.ts";
import { isoTime, roundedMs, roundedMsOrNull } from "../../shared/json_values.ts";
import { monitorFields, type MonitorStatus } from "./monitor_fields.ts";
import type { LoggedDelivery, PageAction } from "../../domain/outbox.ts";
import { actionFields, deliveryFields } from "../outbox_status.ts";
import { objectiveFields, type ObjectiveResult } from "../summary/objectives.ts";

const SPANS = [
  { name: "24 hours", key: "day", ms: DAY_MS },
  { name: "7 days", key: "week", ms: 7 * DAY_MS },
  { name: "30 days", key: "month", ms: 30 * DAY_MS },
] as const;

export interface HistorySpan extends SpanSummary, Availability {
  readonly name: string;
  /** The key in JSON. */
  readonly key: string;
  /** Its length, milliseconds. */
  readonly ms: number;
}

/** The history of a check, except for its changes, which may be very many. */
interface History {
  readonly name: string;
  readonly spans: readonly HistorySpan[];
  /** The last one first. */
  readonly runs: readonly RecentRun[];
}

/** Reads the past of a check, in a span if there is one. Rejects with a {@linkcode StoreError}. */
export async function readHistory(
  store: Store,
  record: CheckRecord,
  nowMs: number,
  chosen: { readonly sinceMs: number; readonly untilMs: number } | null = null,
): Promise<History> {
  const { name } = record;
  const untilMs = chosen?.untilMs ?? nowMs;
  const wanted = chosen === null ? SPANS : [{ name: "span", key: "span", ms: untilMs - chosen.sinceMs }];
  const rollups = await store.rollups(name, untilMs - Math.max(...wanted.map(({ ms }) => ms)));
  const spans = wanted.map((span) => {
    // What begins at the end is not in it.
    const summary = summarise(rollups, {
      sinceMs: untilMs - span.ms,
      untilMs: chosen === null ? nowMs : untilMs - 1,
    });
    const lastedMs = lastedIn(summary, record, untilMs);
    return { ...span, ...summary, lastedMs, ...availabilityOf(lastedMs) };
  });
  const [recent] = await store.recentRuns([name]);
  return { name, spans, runs: recent?.runs ?? [] };
}

/** What is known now about a check. */
export interface PresentFacts {
  readonly status: Pick<CheckStatus, "condition" | "state">;
  /** `null`: the config has errors. */
  readonly isInConfig: boolean | null;
  /** `null`: no process that runs the checks is recorded, or it is not shown. */
  readonly monitor: MonitorStatus | null;
  /** `null`: it has none, or the config has errors. */
  readonly objective: ObjectiveResult | null;
  /** The lines of its `duration`; empty without one. */
  readonly durations: readonly string[];
  /** The lines of its `metrics`; empty without limits. */
  readonly metricLimits: readonly string[];
}

/** What happened to a check. */
export interface Past {
  readonly changes: AsyncIterable<ConditionChange>;
  /** Its journal, the newest row first; `null`: not shown. */
  readonly results: readonly JournalRow[] | null;
  /** The newest first; `null`: not shown. */
  readonly deliveries: readonly LoggedDelivery[] | null;
  /** Actions on the live page, the newest first. */
  readonly actions: readonly PageAction[];
}

const NO_PERCENTILES = { p50: null, p95: null, p99: null };

/** Renders the JSON of `monitor history`, piece by piece; fields are only ever added. */
export async function* historyJson(
  { name, spans, runs }: History,
  { status: { condition, state }, isInConfig, monitor, objective, durations, metricLimits }: PresentFacts,
  { changes, results, deliveries, actions }: Past,
): AsyncGenerator<string> {
  const fields = {
    name,
    condition,
    state,
    in_config: isInConfig,
    monitor: monitorFields(monitor),
    spans: Object.fromEntries(spans.map((span) => [span.key, {
      observed_ms: Math.round(span.observedMs),
      availability: span.availability,
      shares: span.shares,
      runs: span.runs,
      failed_runs: span.failedRuns,
      longest_failed_streak: span.failedStreakMax,
      duration_mean_ms: roundedMsOrNull(span.durationMeanMs),
      duration_p50_ms: roundedMsOrNull(span.percentiles?.p50),
      duration_p95_ms: roundedMsOrNull(span.percentiles?.p95),
      duration_p99_ms: roundedMsOrNull(span.percentiles?.p99),
      duration_max_ms: roundedMsOrNull(span.durationMaxMs),
      metrics: span.metrics === null ? null : Object.fromEntries(
        Object.entries(span.metrics).map(([name, sum]) => {
          const { percentiles, ...known } = measuredIn(sum);
          return [name, { ...known, ...percentiles ?? NO_PERCENTILES }];
        }),
      ),
      observed: span.observed,
      lasted_ms: eachCondition((condition) => Math.round(span.lastedMs[condition])),
    }])),
    objective: objective === null ? null : objectiveFields(objective),
    durations,
    metric_limits: metricLimits,
    recent_runs: runs.map(({ endedAtMs, condition, durationMs }) => ({
      ended_at: isoTime(endedAtMs),
      condition,
      duration_ms: durationMs,
    })),
    ...results !== null && { results: results.map(resultsJson) },
    ...deliveries !== null && { deliveries: deliveries.map(deliveryFields) },
    actions: actions.map(actionFields),
  };
  yield `${jsonText(fields, 2).slice(0, -2)},\n  "changes": [`;
  let isFirst = true;
  for await (const { atMs, from, to, output, trace } of changes) {
    const text = jsonText({ at: isoTime(atMs), from, to, output, trace }, 2).replaceAll("\n", "\n    ");
    yield `${isFirst ? "" : ","}\n    ${text}`;
    isFirst = false;
  }
  yield `${isFirst ? "" : "\n  "}]\n}\n`;
}

function resultsJson(
  { condition, awaits, firstMs, lastMs, runs, intervalMs, gap, isInterrupted, output }: JournalRow,
): Readonly<Record<string, unknown>> {
  return {
    first_at: isoTime(firstMs),
    last_at: isoTime(lastMs),
    condition,
    counts: awaits === null,
    runs,
    interval_ms: roundedMs(intervalMs),
    after_gap: gap,
    interrupted: isInterrupted,
    output,
  };
}
