import {
  addPresent,
  type Availability,
  availabilityOf,
  describeFaults,
  describeObserved,
  describeRunCounts,
  percent,
  type SpanSummary,
  summarise,
} from "../../state/availability.ts";
import { allChanges } from "../../state/all_changes.ts";
import type { ConditionChange, RecentRun } from "../../domain/store.ts";
import type { ConditionCounts } from "../../domain/condition_state.ts";
import { describeDuration } from "../../domain/duration.ts";
import type { System } from "../../domain/system.ts";
import {
  type Command,
  CONFIG_OPTION,
  type Invocation,
  optionChoice,
  REPORT_FORMAT_OPTION,
  REPORT_FORMATS,
  UsageError,
} from "../command_definition.ts";
import { EXIT } from "../exit_code.ts";
import { isoTime, roundedMs } from "../formats/check_fields.ts";
import { jsonText } from "../formats/json_text.ts";
import { openKnownConfig } from "../known_config.ts";
import { printable } from "../../shared/printable.ts";
import { readState, STATE_OPTION } from "../state.ts";
import { DAY_MS } from "../../shared/time_units.ts";

const CHANGES_SHOWN = 20;
const SPANS = [
  { name: "24 hours", key: "day", ms: DAY_MS },
  { name: "7 days", key: "week", ms: 7 * DAY_MS },
  { name: "30 days", key: "month", ms: 30 * DAY_MS },
] as const;

/** `monitor history NAME`: what has become of a check. */
export const historyCommand: Command = {
  name: "history",
  summary: "show the changes, availability and durations of a check",
  operands: "NAME",
  operandsMax: 1,
  operandKind: "check",
  description:
    "Shows the changes of a check's confirmed condition. For the last 24 hours, 7 days and 30 days it also shows " +
    "availability, failed runs and durations.",
  page: "reference/output_formats.md",
  options: [CONFIG_OPTION, STATE_OPTION, REPORT_FORMAT_OPTION],
  examples: [
    ["monitor history web", "show one check"],
    ["monitor history --format json web", "print every stored change as JSON"],
  ],
  uses: ["read", "write", "net", "env", "sys"],
  endings: ["done", "name", "state", "permission", "config"],
  run: runHistory,
};

async function runHistory(invocation: Invocation, system: System): Promise<number> {
  const [name] = invocation.operands;
  if (name === undefined) {
    throw new UsageError("history requires the name of a check", "monitor history NAME");
  }
  const format = optionChoice(invocation, "format", REPORT_FORMATS) ?? "pretty";
  const { config, place } = await openKnownConfig(invocation, { names: [], tags: [] }, system);
  const store = await readState(place, system);
  const nowMs = system.clock.wallMs();
  const record = (await store?.records() ?? []).find((candidate) => candidate.name === name);
  if (store === null || record === undefined) {
    await store?.close();
    const isInConfig = config?.checks.some((check) => check.name === name) ?? false;
    throw new UsageError(
      isInConfig ? `the check "${name}" never ran` : `no data for check "${name}"`,
      "list the checks with: monitor status",
    );
  }
  const rollups = await store.rollups(name, nowMs - 30 * DAY_MS);
  const spans = SPANS.map((span) => {
    const summary = summarise(rollups, { sinceMs: nowMs - span.ms, untilMs: nowMs });
    const lastedMs = addPresent(summary.lastedMs, record, nowMs);
    return { ...span, ...summary, lastedMs, ...availabilityOf(lastedMs) };
  });
  const [recent] = await store.recentRuns([name]);
  const changes = allChanges(store, name);
  const pieces = format === "json"
    ? renderJson(name, changes, { spans, runs: recent?.runs ?? [] })
    : renderPretty(name, changes, spans);
  for await (const piece of pieces) {
    if (system.stdout.closed) break;
    system.stdout.write(piece);
  }
  await store.close();
  return EXIT.ok;
}

type Span = typeof SPANS[number] & SpanSummary & Availability;

async function* renderJson(
  name: string,
  changes: AsyncIterable<ConditionChange>,
  { spans, runs }: { readonly spans: readonly Span[]; readonly runs: readonly RecentRun[] },
): AsyncGenerator<string> {
  const fields = {
    name,
    spans: Object.fromEntries(spans.map((span) => [span.key, {
      observed_ms: Math.round(span.observedMs),
      availability: span.availability,
      shares: span.shares,
      runs: span.runs,
      failed_runs: span.failedRuns,
      longest_failed_streak: span.failedStreakMax,
      duration_mean_ms: span.durationMeanMs === null ? null : roundedMs(span.durationMeanMs),
      duration_max_ms: span.durationMaxMs === null ? null : roundedMs(span.durationMaxMs),
      observed: span.observed,
      lasted_ms: mapCounts(span.lastedMs, Math.round),
    }])),
    recent_runs: runs.map(({ endedAtMs, condition, durationMs }) => ({
      ended_at: isoTime(endedAtMs),
      condition,
      duration_ms: durationMs,
    })),
  };
  yield `${jsonText(fields, { indent: 2 }).slice(0, -2)},\n  "changes": [`;
  let isFirst = true;
  for await (const { atMs, from, to, output } of changes) {
    const text = jsonText({ at: isoTime(atMs), from, to, output }, { indent: 2 }).replaceAll("\n", "\n    ");
    yield `${isFirst ? "" : ","}\n    ${text}`;
    isFirst = false;
  }
  yield `${isFirst ? "" : "\n  "}]\n}\n`;
}

function mapCounts(counts: ConditionCounts, map: (value: number) => number): ConditionCounts {
  const { ok, unknown, warning, critical } = counts;
  return { ok: map(ok), unknown: map(unknown), warning: map(warning), critical: map(critical) };
}

async function* renderPretty(
  name: string,
  changes: AsyncIterable<ConditionChange>,
  spans: readonly Span[],
): AsyncGenerator<string> {
  yield `${printable(name)}\n\n`;
  for (const span of spans) {
    yield `last ${span.name.padEnd(8)}  ${describeSpan(span)}\n`;
  }
  let count = 0;
  for await (const { atMs, from, to, output } of changes) {
    if (count === 0) yield "\nchanges, newest first:\n";
    if (count++ === CHANGES_SHOWN) return yield "  more with --format json\n";
    const time = new Date(atMs).toISOString().replace(/\.\d+Z$/, "Z");
    yield `  ${time}  ${from} to ${to}${output === "" ? "" : `: ${printable(output)}`}\n`;
  }
  if (count === 0) yield "\nno changes\n";
}

function describeSpan(span: Span): string {
  const { shares, observedMs, runs } = span;
  const parts = [
    ...(shares === null ? ["no data"] : [
      `${percent(shares.ok, PLACES)} ok`,
      ...describeFaults(shares, PLACES),
      describeObserved(observedMs, span.ms),
    ]),
    ...(runs === 0 ? [] : [
      describeRunCounts(span),
      `${ms(span.durationMeanMs)} on average`,
      `${ms(span.durationMaxMs)} at most`,
    ]),
  ];
  return parts.filter((part) => part !== null).join(", ");
}

const PLACES = { places: 3 };

function ms(value: number | null): string {
  if (value === null) return "-";
  return value < 1000 ? `${value.toFixed(value < 10 ? 1 : 0)} ms` : describeDuration(value);
}
