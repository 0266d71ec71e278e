/** A summary for its readers: in words, as plain text and HTML, and as JSON. Pure. */
import { describeObjective, objectiveFields } from "./objectives.ts";
import { cleanLine } from "../../channels/clean_text.ts";
import { describeDuration } from "../../domain/duration.ts";
import { DAY_MS } from "../../shared/time_units.ts";
import { percent } from "../../state/availability.ts";
import { createPlainTime, joinMarkup, type Markup, markup, type PlainTime } from "../markup.ts";
import {
  type Bounded,
  type CheckAvailability,
  isMissed,
  type NamedCheck,
  nameOf,
  type Outage,
  type SlowCheck,
  type Summary,
  type Undelivered,
  WHOLE_SHARE,
} from "./summarize.ts";
import { truncate } from "../../shared/text.ts";
import { isoTime, isoTimeOrNull, roundedMs, roundedMsOrNull } from "../../shared/json_values.ts";
import { monitorFields } from "../json/monitor_fields.ts";
import { type Notification, PLAIN_NOTIFICATION } from "../../domain/outbox.ts";
import { SUMMARY_NAME } from "../../domain/channel.ts";

/** A part of a summary. All texts are one line each, without control characters. */
export interface Section {
  readonly title: string;
  readonly items: readonly SectionItem[];
  /** Describes the omitted items; empty: none. */
  readonly more: string;
}

interface SectionItem {
  /** How people call the check or the channel. */
  readonly name: string;
  readonly facts: string;
  /** Whether it requires attention. */
  readonly isBad: boolean;
}

const SHOWN_MAX = 10;
const NAME_LENGTH_MAX = 80;
const OUTPUT_LENGTH_MAX = 120;

/** Returns the first sentence, such as `3 of 42 checks were down, 2 h 14 min in all`. */
export function sentenceOf(summary: Summary): string {
  const { checks, downChecks, stillDown, missedObjectives, warningChecks, withoutData } = summary;
  const { pendingChecks, unknownChecks } = summary;
  const parts = [
    downSentence(summary),
    downChecks === 0 || stillDown === 0 ? "" : `${stillDown} ${stillDown === 1 ? "is" : "are"} still down`,
    pendingChecks === 0 ? "" : `${pendingChecks} failed and ${pendingChecks === 1 ? "is" : "are"} pending`,
    unknownChecks === 0 ? "" : `${unknownChecks} ${unknownChecks === 1 ? "is" : "are"} unknown now`,
    missedObjectives === 0
      ? ""
      : `${missedObjectives} missed ${missedObjectives === 1 ? "its objective" : "their objectives"}`,
    downChecks === 0 && warningChecks > 0
      ? `${countChecks(warningChecks)} had ${warningChecks === 1 ? "a warning" : "warnings"}`
      : "",
    withoutData.count === 0 || withoutData.count === checks
      ? ""
      : `${countChecks(withoutData.count)} ${withoutData.count === 1 ? "has" : "have"} no data`,
  ];
  return parts.filter((part) => part !== "").join("; ");
}

function downSentence({ checks, downChecks, downMs, withoutData, ...period }: Summary): string {
  if (checks === 0) return "There are no checks";
  const observed = checks - withoutData.count;
  if (observed === 0) return "There is no data";
  if (downChecks > 0) {
    const were = downChecks === 1 ? "was" : "were";
    const isPart = [...period.outages.items, ...period.jobs.items].some(({ hasGap }) => hasGap);
    const lasted = `${describeDuration(downMs)} ${isPart ? "observed in all" : "in all"}`;
    return `${downChecks} of ${countChecks(checks)} ${were} down, ${lasted}`;
  }
  const which = observed < checks ? `${countChecks(observed)} with data` : countChecks(checks);
  const were = `${observed === 1 ? "" : "All "}${which} ${observed === 1 ? "was" : "were"} up`;
  const { sinceMs, untilMs, observedMs, partlyObserved } = period;
  if (observedMs < WHOLE_SHARE * (untilMs - sinceMs)) {
    return `${were}; there is data of ${describeDuration(observedMs)} ${observed === 1 ? "only" : "at most"}`;
  }
  return partlyObserved === 0
    ? `${were} ${describeLength(period)}`
    : `${were}; there is data of a part of the time only of ${countChecks(partlyObserved)}`;
}

function countChecks(count: number): string {
  return `${count} ${count === 1 ? "check" : "checks"}`;
}

/** Such as `all week`; a DST change makes no difference. */
function describeLength({ sinceMs, untilMs }: Pick<Summary, "sinceMs" | "untilMs">): string {
  const days = Math.round((untilMs - sinceMs) / DAY_MS * 10) / 10;
  if (days === 1) return "all day";
  if (days === 7) return "all week";
  return days >= 28 && days <= 31 ? "all month" : `for ${describeDuration(untilMs - sinceMs)}`;
}

/** Returns the period, such as `2026-11-16 08:00 to 2026-11-23 08:00 (Europe/Zurich)`. */
export function describePeriod({ sinceMs, untilMs, timeZone }: Summary): string {
  const time = createPlainTime(timeZone);
  return `${time(sinceMs)} to ${time(untilMs)} (${timeZone})`;
}

function sectionsOf(summary: Summary): readonly Section[] {
  const { outages, jobs, availability, slowest, flapping, certificates, rehearsals } = summary;
  const { stale, withoutData, removed, undelivered } = summary;
  const time = createPlainTime(summary.timeZone);
  const outage = (item: Outage): SectionItem =>
    toItem(item, describeOutage(item, time), item.end !== "recovered");
  return [
    section("Down", outages, outage),
    section("Jobs that failed or were overdue", jobs, outage),
    section("Common causes", summary.causes, ({ checks, sinceMs, text }) => ({
      ...{ name: countChecks(checks), facts: `since ${time(sinceMs)}: ${text}`, isBad: false },
    })),
    section(
      "Availability",
      availability,
      (item) => toItem(item, describeAvailability(item), isMissed(item.objective)),
    ),
    section(
      "Slowest checks",
      { items: slowest, count: slowest.length },
      (item) => toItem(item, describeSlow(item), false),
    ),
    section("Flapping", flapping, (item) => {
      const facts = `${item.changes} ${item.changes === 1 ? "change" : "changes"}`;
      return toItem(item, item.isFlapping ? `${facts}, still flapping` : facts, item.isFlapping);
    }),
    section("Certificates that expire soon", certificates, (item) => {
      const leftMs = item.expiresAtMs - summary.untilMs;
      const facts = leftMs < 0
        ? `expired on ${time(item.expiresAtMs)}`
        : `expires in ${describeDuration(leftMs)}, on ${time(item.expiresAtMs)}`;
      return toItem(item, facts, leftMs < 7 * DAY_MS);
    }),
    section("Rehearsals", rehearsals, (item) => {
      const facts = item.provenAtMs === null ? "never proven" : `last proven on ${time(item.provenAtMs)}`;
      return toItem(item, facts, !item.isProven);
    }),
    section("Unknown now", stale, (item) => toItem(item, item.reason, true)),
    section("Checks without data", withoutData, (item) => toItem(item, item.reason, true)),
    section("Not in the config", removed, (item) => {
      const facts = item.lastRunAtMs === null ? "never ran" : `not run since ${time(item.lastRunAtMs)}`;
      return toItem(item, facts, false);
    }),
    section("Notifications that were not delivered", undelivered, toUndelivered),
  ].filter(({ items }) => items.length > 0);
}

function section<T>(title: string, { items, count }: Bounded<T>, toItem: (item: T) => SectionItem): Section {
  const shown = items.slice(0, SHOWN_MAX);
  const rest = count - shown.length;
  return { title, items: shown.map(toItem), more: rest === 0 ? "" : `and ${rest} more` };
}

function toItem({ name, title }: NamedCheck, facts: string, isBad: boolean): SectionItem {
  const line = cleanLine(title ?? "", NAME_LENGTH_MAX);
  return { name: line === "" ? cleanLine(name, NAME_LENGTH_MAX) : line, facts, isBad };
}

function describeOutage({ fromMs, toMs, end, hasGap, output }: Outage, time: PlainTime): string {
  const lasted = `${describeDuration(toMs - fromMs)}${hasGap ? ", not all of it observed" : ""}`;
  const from = time(fromMs);
  const to = time(toMs);
  // The day is not repeated.
  const until = from.slice(0, 10) === to.slice(0, 10) ? to.slice(11) : to;
  const span = {
    recovered: `${from} to ${until}, ${lasted}`,
    still_down: `since ${from}, ${lasted}, still down`,
    unobserved: `since ${from}, ${lasted}, no data since ${until}`,
  }[end];
  const said = cleanLine(output, OUTPUT_LENGTH_MAX);
  return said === "" ? span : `${span}: ${said}`;
}

const PLACES = 3;

function describeAvailability({ availability, downMs, objective }: CheckAvailability): string {
  const share = availability === null ? "no data" : `${percent(availability, PLACES)} up`;
  const down = downMs > 0 ? `, ${describeDuration(downMs)} down` : "";
  return `${share}${down}${objective === null ? "" : `; objective ${describeObjective(objective)}`}`;
}

/** By the p95; by the mean where that is not known of the period. */
function describeSlow({ percentiles, meanMs, maxMs, previousMeanMs, previousP95Ms }: SlowCheck): string {
  const most = `, ${milliseconds(maxMs)} at most`;
  if (percentiles === null) {
    return `${milliseconds(meanMs)} on average${compared(meanMs, previousMeanMs)}${most}`;
  }
  const { p50, p95 } = percentiles;
  return `p95 ${milliseconds(p95)}${compared(p95, previousP95Ms)}, p50 ${milliseconds(p50)}${most}`;
}

function compared(ms: number, previousMs: number | null): string {
  if (previousMs === null || previousMs === 0) return "";
  const change = Math.round((ms / previousMs - 1) * 100);
  return change === 0
    ? " (as before)"
    : ` (${change > 0 ? "+" : "−"}${Math.abs(change)}% to the period before)`;
}

function milliseconds(value: number): string {
  if (value < 1000) return `${value.toFixed(value < 10 ? 1 : 0)} ms`;
  return value < 60_000 ? `${(value / 1000).toFixed(1)} s` : describeDuration(value);
}

function toUndelivered({ channel, dropped, pending, reason }: Undelivered): SectionItem {
  const counts = [
    dropped === 0 ? "" : `${dropped} dropped`,
    pending === 0 ? "" : `${pending} pending`,
  ].filter((part) => part !== "").join(", ");
  const why = cleanLine(reason, OUTPUT_LENGTH_MAX);
  return {
    name: cleanLine(channel, NAME_LENGTH_MAX),
    facts: why === "" ? counts : `${counts}: ${why}`,
    isBad: true,
  };
}

/** Renders a summary as plain text: lines ended by line feeds. */
export function summaryText(summary: Summary): string {
  const head = [
    `${sentenceOf(summary)}.`,
    "",
    describePeriod(summary),
    `Host: ${summary.hostName}`,
    ...summary.notes,
  ];
  const lines = sectionsOf(summary).flatMap(({ title, items, more }) => [
    "",
    title,
    ...items.map(({ name, facts }) => `- ${name}: ${facts}`),
    ...more === "" ? [] : [`- ${more}`],
  ]);
  return [...head, ...lines].map((line) => `${line}\n`).join("");
}

// A summary as HTML for email. Programs for email drop style sheets and scripts and load no images, so styles are
// inline. No text or background color is set: each program chooses both for light and dark mode, and the marks are
// visible on either.

const LENGTH_MAX = 1000;
const RED = "#e5484d";
const GREEN = "#30a46c";
const GRAY = "#8b8d98";

const BODY =
  markup`margin:0;padding:16px;font:15px/1.5 system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif`;
const CELL = "padding:4px 12px 4px 0;vertical-align:top;text-align:left;overflow-wrap:anywhere";

export function summaryHtml(summary: Summary): Markup {
  const sentence = sentenceOf(summary);
  const { checks, downChecks, missedObjectives, pendingChecks, unknownChecks, withoutData } = summary;
  const isKnown = checks > 0 && pendingChecks + unknownChecks + withoutData.count === 0;
  const color = downChecks + missedObjectives > 0 ? RED : isKnown ? GREEN : GRAY;
  return markup`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,"><title>${
    cut(sentence)
  }</title></head>
<body style="${BODY}"><div role="main" style="max-width:720px;margin:0 auto">
<h1 style="margin:0 0 8px;padding-left:12px;border-left:6px solid ${color};font-size:19px;font-weight:600">${
    cut(sentence)
  }.</h1>
<p style="margin:0 0 16px;font-size:13px;opacity:.75">${cut(describePeriod(summary))}<br>${
    cut(`Host: ${summary.hostName}`)
  }${summary.notes.map((note) => markup`<br>${cut(note)}`)}</p>
${joinMarkup(sectionsOf(summary).map(sectionHtml), markup`\n`)}
</div></body></html>
`;
}

function sectionHtml({ title, items, more }: Section): Markup {
  const rows = items.map(({ name, facts, isBad }) =>
    markup`<tr><th scope="row" style="${CELL};width:34%;font-weight:600;padding-left:8px;border-left:4px solid ${
      isBad ? RED : GRAY
    }">${cut(name)}</th><td style="${CELL}">${cut(facts)}</td></tr>`
  );
  const rest = more === "" ? "" : markup`<tr><td colspan="2" style="${CELL}">${cut(more)}</td></tr>`;
  return markup`<h2 style="margin:20px 0 4px;font-size:15px;border-bottom:1px solid ${GRAY}">${
    cut(title)
  }</h2>
<table style="width:100%;border-collapse:separate;border-spacing:0 2px;table-layout:fixed">${
    joinMarkup(rows, markup`\n`)
  }${rest}</table>`;
}

function cut(text: string): string {
  return truncate(text, LENGTH_MAX);
}

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
