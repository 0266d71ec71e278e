/** Renders the page of one check: response times, incidents with their deliveries, settings and command lines. */
import { actionTitle, describeRun } from "../../condition/action.ts";
import { describeBurning } from "../../condition/burn.ts";
import { describeDurationRule, describeMetricRules } from "../../condition/duration_rule.ts";
import { isCron } from "../../domain/schedule.ts";
import { type Condition, mostUrgentFirst, type ShownCondition } from "../../domain/condition.ts";
import { describeDuration } from "../../domain/duration.ts";
import type { LoggedDelivery } from "../../domain/outbox.ts";
import type { ConditionChange } from "../../domain/store.ts";
import { shellWord, truncate } from "../../shared/text.ts";
import type { Percentiles } from "../../shared/histograms.ts";
import { DAY_MS, durationText, HOUR_MS } from "../../shared/time_units.ts";
import { describeAction } from "../outbox_status.ts";
import { type Markup, markup, type PlainTime } from "../markup.ts";
import { renderActions } from "./render_actions.ts";
import {
  headingOf,
  type ItemOptions,
  preformatted,
  renderCheck,
  roughly,
  rowId,
  TEXT_MAX,
} from "./render_check.ts";
import { DAYS_SHOWN, HOURS_SHOWN, type PageCheck } from "./snapshot.ts";

export function* renderOwnPage(status: PageCheck, item: ItemOptions): Generator<Markup> {
  yield markup`<ul class=c role=list>\n${renderCheck(status, item)}</ul>\n`;
  yield renderActions(status, item);
  yield renderCharts(item);
  yield renderMeasured(item);
  yield renderIncidents(status, item);
  yield renderTaken(item);
  yield renderSettings(status, item);
  yield renderCommands(status.check.name);
}

/** Renders charts; each point is the percentiles of an hour or a day, and the last one is the present one. */
function renderCharts({ snapshot: { own, nowMs, timeZone }, plainTime }: ItemOptions): Markup {
  const { hours = [], days = [] } = own ?? {};
  const axis = { nowMs, timeZone, plainTime };
  const charts = [
    chart("24 h", linesOf(hours.slice(-HOURS_SHOWN)), { ...axis, stepMs: HOUR_MS, words: [11, 16] }),
    chart("7 d", linesOf(hours), { ...axis, stepMs: HOUR_MS, words: [5, 10] }),
    chart(`${DAYS_SHOWN} d`, linesOf(days), { ...axis, stepMs: DAY_MS, words: [5, 10] }),
  ];
  return chartSection("durations", "Response times", charts);
}

/** Renders a chart of each measured value; each point is the percentiles of an hour, its lowest and its highest value. */
function renderMeasured({ snapshot: { own, nowMs, timeZone }, plainTime }: ItemOptions): Markup {
  const write = (value: number): string => String(Number(value.toPrecision(4)));
  const axis = { nowMs, timeZone, plainTime, stepMs: HOUR_MS, words: [5, 10], write } as const;
  const charts = (own?.measured ?? []).map(([name, hours]) => {
    const range = (["min", "max"] as const)
      .map((line) => ({ name: line, values: hours.map((hour) => hour?.[line] ?? null) }));
    const lines = [...linesOf(hours.map((hour) => hour?.percentiles ?? null)), ...range];
    return chart(`${truncate(name, TEXT_MAX.note)}, 7 d`, lines, axis);
  });
  return chartSection("measured", "Measured values", charts);
}

function chartSection(id: string, title: string, charts: readonly Markup[]): Markup {
  const shown = charts.filter(({ isEmpty }) => !isEmpty);
  return section(id, title, shown.length === 0 ? markup`` : markup`<div class=charts>${shown}</div>`);
}

interface Line {
  readonly name: string;
  readonly values: readonly (number | null)[];
}

function linesOf(points: readonly (Percentiles | null)[]): readonly Line[] {
  return (["p50", "p95", "p99"] as const)
    .map((name) => ({ name, values: points.map((point) => point?.[name] ?? null) }));
}

const CHART_HEIGHT = 60;

interface ChartAxis {
  readonly nowMs: number;
  readonly timeZone: string;
  readonly plainTime: PlainTime;
  /** The time of a point. */
  readonly stepMs: number;
  /** The part of a time that is shown. */
  readonly words: readonly [from: number, to: number];
  /** Returns a value as text. @default that of a duration */
  readonly write?: (value: number) => string;
}

/**
 * Renders a chart of lines, from the fourth on lighter ones; empty without data. Their ranges are text, so that screen readers can read
 * them. The script of the page draws another one from the attributes.
 */
function chart(
  label: string,
  lines: readonly Line[],
  { nowMs, timeZone, plainTime, stepMs, words, write = durationText }: ChartAxis,
): Markup {
  const ranges = lines.map(({ name, values }) => ({ name, ...rangeOf(values) }))
    .filter(({ most }) => most > -Infinity);
  const most = Math.max(...ranges.map((range) => range.most));
  if (most === -Infinity) return markup``;
  const bottom = Math.min(0, ...ranges.map((range) => range.least));
  const top = most > bottom ? most : bottom + 1;
  const points = lines[0]?.values.length ?? 0;
  const fromMs = (Math.floor(nowMs / stepMs) - points + 1) * stepMs;
  const times = [1, 0.5].map((part) => plainTime(nowMs - part * points * stepMs).slice(...words));
  const texts = ranges.map(({ name, least, most }) =>
    `${name} ${write(least)}${most > least ? ` to ${write(most)}` : ""}`
  );
  const values = lines.map(({ values }) =>
    values.map((value) => value === null ? "" : Number(value.toPrecision(6))).join()
  );
  return markup`<figure data-span="${label}" data-from="${fromMs}" data-step="${stepMs}" data-zone="${timeZone}" data-unit="${
    write === durationText ? "ms" : ""
  }" data-names="${lines.map(({ name }) => name).join()}" data-values="${
    values.join(";")
  }"><figcaption>${label}: ${texts.join(", ")}</figcaption><div class=plot><p><span>${
    write(top)
  }</span><span>${write((top + bottom) / 2)}</span><span>${
    bottom === 0 ? "0" : write(bottom)
  }</span></p><svg viewBox="0 -1 ${Math.max(1, points - 1)} ${
    CHART_HEIGHT + 2
  }" preserveAspectRatio=none aria-hidden=true>${
    lines.map(({ values }, index) =>
      markup`<path class=l${index < 3 ? "" : " opacity=.35"} d="${linePath(values, { bottom, top })}"/>`
    )
  }</svg></div><p class=times>${[...times, "now"].map((text) => markup`<span>${text}</span>`)}</p></figure>`;
}

/** Of no value: from infinity to minus infinity. */
function rangeOf(values: readonly (number | null)[]) {
  const known = values.filter((value) => value !== null);
  return { least: Math.min(...known), most: Math.max(...known) };
}

/** A path through the values, broken where one is missing. */
function linePath(
  values: readonly (number | null)[],
  { bottom, top }: Readonly<Record<"bottom" | "top", number>>,
): string {
  let isBroken = true;
  return values.map((value, index) => {
    if (value === null) {
      isBroken = true;
      return "";
    }
    const step = `${isBroken ? "M" : "L"}${index} ${
      Math.round((top - value) / (top - bottom) * CHART_HEIGHT * 10) / 10
    }`;
    // A stroke of length 0 is a dot, in case the next point is missing.
    const point = isBroken ? `${step}h0` : step;
    isBroken = false;
    return point;
  }).join("");
}

/** A problem from its confirmation to its recovery. */
interface Incident {
  readonly beganAtMs: number;
  /** `null`: it is in progress. */
  readonly endedAtMs: number | null;
  readonly highest: Condition;
  /** The change that confirmed it. */
  readonly first: ConditionChange;
}

/** Returns the incidents whose begin is among some changes; both the newest first. */
export function incidentsOf(changes: readonly ConditionChange[]): readonly Incident[] {
  const incidents: Incident[] = [];
  for (const change of changes.toReversed()) {
    if (!isProblem(change.from)) {
      // If one is still open, its end was not observed.
      if (change.to !== "ok") {
        incidents.push({ beganAtMs: change.atMs, endedAtMs: null, highest: change.to, first: change });
      }
      continue;
    }
    const open = incidents.pop();
    // The begin may be older than the changes.
    if (open === undefined) continue;
    const [highest = open.highest] = [open.highest, change.to].sort(mostUrgentFirst);
    incidents.push({ ...open, highest, ...change.to === "ok" && { endedAtMs: change.atMs } });
  }
  return incidents.reverse();
}

/** Renders an incident: its highest severity, its duration, and the output that confirmed it. */
function renderIncident(
  { beganAtMs, endedAtMs, highest, first }: Incident,
  lastsUntilMs: number | null,
): Markup {
  const untilMs = endedAtMs ?? lastsUntilMs;
  const took = untilMs === null ? "" : describeDuration(roughly(Math.max(0, untilMs - beganAtMs)));
  const end = endedAtMs !== null
    ? `lasted ${took}`
    : untilMs === null
    ? "its end was not observed"
    : `for ${took}`;
  const output = first.output === "" ? "" : markup`: ${truncate(first.output, TEXT_MAX.output)}`;
  return markup`<b>${highest}</b>, ${end}${output}`;
}

/** Returns the present time if an incident is in progress, which only the newest one can be; `null` otherwise. */
function lastsUntil(index: number, { condition, state }: PageCheck, nowMs: number): number | null {
  return index === 0 && isProblem(condition) && state === "current" ? nowMs : null;
}

function renderIncidents(status: PageCheck, { snapshot: { own, nowMs }, time }: ItemOptions): Markup {
  const items = incidentsOf(status.changes).map((incident, index, { [index - 1]: next }) => {
    const { beganAtMs, endedAtMs, first } = incident;
    const lastsUntilMs = lastsUntil(index, status, nowMs);
    const untilMs = endedAtMs ?? next?.beganAtMs ?? nowMs;
    const sent = (own?.deliveries ?? []).filter(({ decidedAtMs }) =>
      decidedAtMs >= beganAtMs && decidedAtMs <= untilMs
    );
    const trace = preformatted(first.trace, TEXT_MAX.trace);
    return markup`<li>${time(beganAtMs)} ${renderIncident(incident, lastsUntilMs)}${renderSent(sent, time)}${
      trace.isEmpty
        ? ""
        : markup`<details class=trace${
          lastsUntilMs === null ? "" : " open"
        }><summary>Trace of the run that confirmed it</summary>${trace}</details>`
    }`;
  });
  const list = items.length === 0 ? markup`` : markup`<ul class=e role=list>${items}</ul>`;
  return section("incidents", `Incidents (${items.length})`, list);
}

const TIMELINE_MAX = 20;

/** Renders the latest incidents of all checks by day, each with a link to its check. */
export function renderTimeline({ snapshot: { checks, nowMs }, plainTime }: ItemOptions): Markup {
  const latest = checks.flatMap((status) =>
    incidentsOf(status.changes).map((incident, index) => ({
      status,
      incident,
      lastsUntilMs: lastsUntil(index, status, nowMs),
    }))
  ).sort((one, other) => other.incident.beganAtMs - one.incident.beganAtMs).slice(0, TIMELINE_MAX);
  const days = Map.groupBy(latest, ({ incident }) => plainTime(incident.beganAtMs).slice(0, 10));
  const shown = [...days].map(([day, incidents]) => {
    const items = incidents.map(({ status, incident, lastsUntilMs }) =>
      markup`<li><time>${plainTime(incident.beganAtMs).slice(11)}</time> <a href="#${
        rowId(status.check.name)
      }">${headingOf(status)}</a> ${renderIncident(incident, lastsUntilMs)}\n`
    );
    return markup`<h3>${day}</h3><ul class=e role=list>\n${items}</ul>`;
  });
  return section("incidents", "Latest incidents", shown.length === 0 ? markup`` : markup`${shown}`);
}

function isProblem(condition: ShownCondition): boolean {
  return condition !== "ok" && condition !== "pending";
}

function renderSent(sent: readonly LoggedDelivery[], time: ItemOptions["time"]): Markup {
  if (sent.length === 0) return markup``;
  const items = sent.slice(0, SENT_MAX).map(({ atMs, event, channelName, outcome, answer }) =>
    markup`<li>${time(atMs)} ${event} to <b>${channelName}</b>: ${outcome}${
      answer === "" ? "" : ` (${truncate(answer, TEXT_MAX.changeOutput)})`
    }`
  );
  return markup`<ul class=sent role=list>${items}</ul>`;
}

const SENT_MAX = 20;

function renderSettings(
  { check, record }: PageCheck,
  { snapshot: { nowMs, objective, channels = [] }, time }: ItemOptions,
): Markup {
  const { kind, target, schedule, threshold, recoveryThreshold, dependsOn, locations, action } = check;
  const every = isCron(schedule)
    ? "at the times of its cron expression"
    : `every ${describeDuration(schedule.regularIntervalMs)}, while it fails every ${
      describeDuration(schedule.attentiveIntervalMs)
    }`;
  const nextMs = record?.nextRunAtMs ?? null;
  const burning = record === null ? "" : describeBurning(check, record.condition, nowMs);
  const rows: readonly (readonly [string, Markup | string])[] = [
    ...kind === null ? [] : [["Kind", kind] as const],
    ...target === undefined ? [] : [["Target", truncate(target, TEXT_MAX.note)] as const],
    ["Runs", every],
    ...nextMs === null
      ? []
      : [["Next run", markup`${time(nextMs)}${nextMs < nowMs ? " (late)" : ""}`] as const],
    ...threshold === null ? [] : [["A problem after", results(threshold)] as const],
    ...recoveryThreshold === null ? [] : [["A recovery after", results(recoveryThreshold)] as const],
    ...dependsOn.length === 0 ? [] : [["Depends on", dependsOn.join(", ")] as const],
    ...locations === undefined ? [] : [["Locations", locations.from.join(", ")] as const],
    ...describeDurationRule(check, record, nowMs).map((text) => ["Durations", text] as const),
    ...describeMetricRules(check, record, nowMs).map((text) =>
      ["Measured values", truncate(text, TEXT_MAX.note)] as const
    ),
    ...action === undefined ? [] : [["Action", renderRuns(action, record, time)] as const],
    ...objective === undefined ? [] : [["Objective", objective] as const],
    ...burning === "" ? [] : [["Objective", burning] as const],
    ...channels.map(({ channel, text }) => ["Channel", markup`<b>${channel}</b> ${text}`] as const),
  ];
  const items = rows.map(([word, value]) => markup`<dt>${word}</dt><dd>${value}</dd>`);
  return section("settings", "Settings", markup`<dl>${items}</dl>`);
}

const RUNS_SHOWN = 5;

/** Renders the action of the check with its last runs, the newest first. */
function renderRuns(
  action: NonNullable<PageCheck["check"]["action"]>,
  record: PageCheck["record"],
  time: ItemOptions["time"],
): Markup {
  const runs = (record?.condition.actions ?? []).slice(-RUNS_SHOWN).toReversed().map((run) =>
    markup`<br>${time(run.atMs)} ${truncate(describeRun(run), TEXT_MAX.note)}`
  );
  return markup`<b>${actionTitle(action)}</b> after ${
    action.after === 1 ? "1 critical result" : `${action.after} critical results`
  }, at most ${action.atMost} an hour${runs}`;
}

function results(count: number): string {
  return count === 1 ? "1 result" : `${count} results in a row`;
}

const TAKEN_MAX = 10;

function renderTaken({ snapshot: { own, timeZone }, time }: ItemOptions): Markup {
  const items = (own?.actions ?? []).toReversed().slice(0, TAKEN_MAX).map((action) =>
    markup`<li>${time(action.atMs)} ${truncate(describeAction(action, { timeZone }), TEXT_MAX.output)}`
  );
  const list = items.length === 0 ? markup`` : markup`<ul class=e role=list>${items}</ul>`;
  return section("taken", "Actions on this page", list);
}

function renderCommands(name: string): Markup {
  const items = ["why", "history", "run", "acknowledge"].map((command) =>
    markup`<li><code>monitor ${command} ${shellWord(name)}</code>`
  );
  return section("commands", "In a terminal", markup`<ul class=commands role=list>${items}</ul>`);
}

function section(id: string, title: string, content: Markup): Markup {
  return content.isEmpty
    ? content
    : markup`<section aria-labelledby=${id}><h2 id=${id}>${title}</h2>${content}</section>\n`;
}
