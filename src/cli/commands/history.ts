import { addPresent, availabilityOf, percent, type SpanSummary, summarise } from "../../availability.ts";
import type { ConditionChange } from "../../domain/store.ts";
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
} from "../command.ts";
import { openDocument } from "../document.ts";
import { EXIT } from "../exit_code.ts";
import { isoTime, roundedMs } from "../formats/check_members.ts";
import { jsonText } from "../formats/json_text.ts";
import { printable } from "../printable.ts";
import { locateState, readState, STATE_OPTION } from "../state.ts";

const DAY_MS = 86_400_000;
const CHANGES_SHOWN = 20;
const SPANS = [
  { name: "24 hours", member: "day", ms: DAY_MS },
  { name: "7 days", member: "week", ms: 7 * DAY_MS },
  { name: "30 days", member: "month", ms: 30 * DAY_MS },
] as const;

/** `monitor history NAME`: what has become of a check. */
export const historyCommand: Command = {
  name: "history",
  summary: "show a check's condition changes, availability and durations",
  operands: "NAME",
  operandsMax: 1,
  operandKind: "check",
  description:
    "Shows the changes of a check's settled condition, and over the last 24 hours, 7 and 30 days its " +
    "availability (the share of the watched time in which ok was settled) and how long its runs took.",
  options: [CONFIG_OPTION, STATE_OPTION, REPORT_FORMAT_OPTION],
  examples: [
    ["monitor history web", "one check"],
    ["monitor history --format json web", "every change that is kept, for programs"],
  ],
  uses: ["read", "write", "env", "sys"],
  endings: ["done", "name", "state", "permission", "document"],
  run: runHistory,
};

async function runHistory(invocation: Invocation, system: System): Promise<number> {
  const [name] = invocation.operands;
  if (name === undefined) throw new UsageError("history needs the name of a check", "monitor history NAME");
  const format = optionChoice(invocation, "format", REPORT_FORMATS) ?? "pretty";
  const document = await openDocument(invocation, system, { withoutSecrets: true });
  const store = await readState(await locateState(invocation, document, system), system);
  const nowMs = system.clock.wallMs();
  const record = (await store?.records() ?? []).find((candidate) => candidate.name === name);
  if (record === undefined) {
    await store?.close();
    const isInDocument = document.checks.some((check) => check.name === name);
    throw new UsageError(
      isInDocument ? `the check "${name}" never ran` : `nothing is kept of a check "${name}"`,
      "list the checks with: monitor status",
    );
  }
  const changes = await store?.changes(name, { sinceMs: 0, limit: Infinity }) ?? [];
  const rollups = await store?.rollups(name, nowMs - 30 * DAY_MS) ?? [];
  await store?.close();
  const spans = SPANS.map((span) => {
    const summary = summarise(rollups, { sinceMs: nowMs - span.ms, untilMs: nowMs });
    const lastedMs = addPresent(summary.lastedMs, record, nowMs);
    return { ...span, ...summary, lastedMs, availability: availabilityOf(lastedMs) };
  });
  system.stdout.write(
    format === "json" ? renderJson(name, changes, spans) : renderPretty(name, changes, spans),
  );
  return EXIT.ok;
}

type Span = typeof SPANS[number] & SpanSummary;

function renderJson(name: string, changes: readonly ConditionChange[], spans: readonly Span[]): string {
  const value = {
    name,
    changes: changes.map(({ atMs, from, to, output }) => ({
      at: isoTime(atMs),
      from,
      to,
      output,
    })),
    spans: Object.fromEntries(spans.map((span) => [span.member, {
      runs: span.runs,
      availability: span.availability,
      duration_mean_ms: span.durationMeanMs === null ? null : roundedMs(span.durationMeanMs),
      duration_max_ms: span.durationMaxMs === null ? null : roundedMs(span.durationMaxMs),
      observed: span.observed,
      lasted_ms: mapCounts(span.lastedMs, Math.round),
    }])),
  };
  return `${jsonText(value, { indent: 2 })}\n`;
}

function mapCounts(counts: ConditionCounts, map: (value: number) => number): ConditionCounts {
  const { ok, unknown, warning, critical } = counts;
  return { ok: map(ok), unknown: map(unknown), warning: map(warning), critical: map(critical) };
}

function renderPretty(name: string, changes: readonly ConditionChange[], spans: readonly Span[]): string {
  const lines = [printable(name), ""];
  for (const span of spans) {
    const availability = span.availability === null
      ? "not watched"
      : `${percent(span.availability, { places: 3 })} ok`;
    const durations = span.runs === 0
      ? ""
      : `, ${span.runs} ${span.runs === 1 ? "run" : "runs"}, ${ms(span.durationMeanMs)} on average, ${
        ms(span.durationMaxMs)
      } at most`;
    lines.push(`last ${span.name.padEnd(8)}  ${availability}${durations}`);
  }
  lines.push("", changes.length === 0 ? "no changes" : "changes, the newest first:");
  for (const { atMs, from, to, output } of changes.slice(0, CHANGES_SHOWN)) {
    lines.push(
      `  ${new Date(atMs).toISOString().replace(/\.\d+Z$/, "Z")}  ${from} to ${to}${
        output === "" ? "" : `: ${printable(output)}`
      }`,
    );
  }
  const older = changes.length - CHANGES_SHOWN;
  if (older > 0) lines.push(`  and ${older} before them, which --format json lists`);
  return `${lines.join("\n")}\n`;
}

function ms(value: number | null): string {
  if (value === null) return "-";
  return value < 1000 ? `${value.toFixed(value < 10 ? 1 : 0)} ms` : describeDuration(value);
}
