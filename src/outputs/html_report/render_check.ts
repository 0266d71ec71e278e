import { THRESHOLD } from "../../state/metric_sums.ts";
import type { ShownCondition } from "../../domain/condition.ts";
import { describeDuration } from "../../domain/duration.ts";
import type { ConditionChange } from "../../domain/store.ts";
import { DAY_MS, durationText, HOUR_MS, MINUTE_MS } from "../../shared/time_units.ts";
import { describeFaults, describeObserved, describeRunCounts, percent } from "../../state/availability.ts";
import { describeStatus, lastsSinceMs } from "../../engine/check_status.ts";
import type { OpenWindow } from "../../engine/maintenance_windows.ts";
import { durationOf, fieldWord, fieldWordsOf, isFound, NO_FILTER, shareOf } from "./page_filter.ts";
import { type PageScale, renderBars, renderStrips, STROKE_CLASSES } from "./strips.ts";
import { renderRowActions } from "./render_actions.ts";
import { truncate } from "../../shared/text.ts";
import { joinMarkup, type Markup, markup, markupLines, type PlainTime, type TimeText } from "../markup.ts";
import { isUnconfirmed, type PageCheck, type PageSpan, type ReportSnapshot } from "./snapshot.ts";
import { roundedSize } from "../../domain/describe_size.ts";

/** How much of each text is shown, in UTF-16 units. */
export const TEXT_MAX = {
  name: 120,
  output: 240,
  detail: 1500,
  changeOutput: 120,
  trace: 4096,
  note: 1000,
} as const;

/** The space for a check on the page. */
export interface Room {
  /** How many of its changes are shown. */
  readonly changes: number;
  /** The further lines of the last output. */
  readonly hasOutput: boolean;
  /** The trace of the run that confirmed a problem. */
  readonly hasTrace: boolean;
  /** Forms, if a person is signed in. */
  readonly hasForms: boolean;
}

export interface ItemOptions {
  readonly snapshot: ReportSnapshot;
  readonly plainTime: PlainTime;
  readonly time: TimeText;
  readonly scale: PageScale;
  roomOf(status: PageCheck): Room;
}

/** Renders the check of its own page, fully expanded. */
export function renderCheck(status: PageCheck, options: ItemOptions): Markup {
  const { condition } = status;
  return markup`<li class=${STROKE_CLASSES[condition]}><div><h2>${headingOf(status)}</h2>${
    renderWords(status, options)
  }</div>${renderBody(status, options)}${renderWhy(options.snapshot)}${renderRuns(status, options)}\n`;
}

/** Renders a check as one expandable line. Scripts find it by its `id`, and filter and sort by its data attributes. */
export function renderRow(status: PageCheck, options: ItemOptions): Markup {
  const { condition, spans, check: { name } } = status;
  const { snapshot: { nowMs, isLive, filter = NO_FILTER } } = options;
  const fields = fieldWordsOf(status);
  const [heading, words] = [headingOf(status), renderWords(status, options)];
  const what = markup`${truncate(describeStatus(status, nowMs), TEXT_MAX.output)}${
    renderLasting(status, nowMs)
  }`;
  const isHidden = filter.words !== "" && !isShown(status, options);
  const durationMs = durationOf(status);
  const own = isLive === true
    ? markup`<p><a href="checks/${encodeURIComponent(name.toWellFormed())}">Page of this check</a></p>`
    : "";
  return markup`<li class=${STROKE_CLASSES[condition]} id="${rowId(name)}" data-f="${fields}" data-ms="${
    Math.round(durationMs)
  }" data-share="${Number(shareOf(status).toFixed(4))}"${
    isHidden ? " hidden" : ""
  }><details class=row><summary><i>${
    CONDITION_WORDS[condition]
  }</i><h3>${heading}</h3><span class=l>${what}</span>${
    renderBars(status.days, { ...options, nowMs })
  }<span class=v>${renderShare(spans.at(-1))}</span><span class=q>${
    durationMs < 0 ? "" : durationText(durationMs)
  }</span></summary><div class=y>${own}${words}${status.isDetailed ? renderBody(status, options) : ""}${
    renderRowActions(status, { ...options, hasForms: options.roomOf(status).hasForms })
  }</div></details>\n`;
}

/** Returns whether the filter of the page matches a check. */
export function isShown(status: PageCheck, options: ItemOptions): boolean {
  const { nowMs, filter = NO_FILTER } = options.snapshot;
  const what = `${truncate(describeStatus(status, nowMs), TEXT_MAX.output)}${renderLasting(status, nowMs)}`;
  const words = [headingOf(status), ...namesOf(status), what];
  return isFound(filter.words, fieldWordsOf(status), words.join(" "));
}

/** Renders the share of ok, and the observed time, if that is clearly shorter than the span. */
function renderShare(span: PageSpan | undefined): Markup {
  if (span === undefined || span.shares === null) return markup`\u2013`;
  const { ms, shares, observedMs } = span;
  const isAll = describeObserved(observedMs, ms) === null;
  const of = isAll ? "" : markup`<small> of ${describeDuration(roughly(observedMs))}</small>`;
  return markup`${percent(shares.ok, ROW_PLACES)}${of}`;
}

const ROW_PLACES = 1;

/** Returns the id of a check on the page of all checks, for links and scripts. */
export function rowId(name: string): string {
  return `check-${encodeURIComponent(name.toWellFormed())}`;
}

/** Returns a short note: the duration of a problem, maintenance, and silences. */
function renderLasting(
  { check, record, state, condition, maintenance, isSilenced }: PageCheck,
  nowMs: number,
): string {
  const sinceMs = lastsSinceMs({ check, record });
  const isLasting = state === "current" && condition !== "ok" && sinceMs !== null;
  return [
    ...isLasting ? [describeDuration(roughly(Math.max(0, nowMs - sinceMs)))] : [],
    ...maintenance === null ? [] : ["maintenance"],
    ...isSilenced ? ["silenced"] : [],
  ].map((text) => ` \u00b7 ${text}`).join("");
}

/** Renders the description and the runbook. */
function renderAbout({ check: { description, runbook } }: PageCheck): Markup {
  const text = description === undefined
    ? ""
    : markup`<p class=o>${truncate(description, TEXT_MAX.note)}</p>`;
  if (runbook === undefined) return markup`${text}`;
  const said = truncate(runbook, TEXT_MAX.note);
  const help = /^https?:/.test(runbook) ? markup`<a href="${runbook}" rel=noreferrer>${said}</a>` : said;
  return markup`${text}<p class=o>Runbook: ${help}</p>`;
}

/** Rounds a duration down: to minutes from an hour on, to hours from a day on. */
export function roughly(ms: number): number {
  const unitMs = ms >= DAY_MS ? HOUR_MS : ms >= HOUR_MS ? MINUTE_MS : 1000;
  return Math.floor(ms / unitMs) * unitMs;
}

function renderBody(status: PageCheck, options: ItemOptions): Markup {
  const { condition, spans, record } = status;
  const { snapshot: { nowMs, isOfOneCheck } } = options;
  const output = markup`${truncate(describeStatus(status, nowMs), TEXT_MAX.output)}`;
  const parts = [
    renderAbout(status),
    output.isEmpty ? "" : markup`<p class=o>${output}</p>`,
    renderMeasures(record?.last?.metrics ?? {}),
    renderAvailability(spans),
    renderFaults(spans),
    renderStrips(status, { ...options, nowMs, hasDays: isOfOneCheck === true }),
    renderMore(status, options),
  ];
  return markup`<p class=s><b>${CONDITION_WORDS[condition]}</b>${renderSince(status, options)}${
    renderMarks(status, options)
  }</p>${parts}`;
}

const CONDITION_WORDS: Readonly<Record<ShownCondition, string>> = {
  ok: "Ok",
  pending: "Pending",
  unknown: "Unknown",
  warning: "Warning",
  critical: "Critical",
};

function titleOf({ check: { title } }: PageCheck): string | null {
  return title === undefined || title.trim() === "" ? null : title;
}

export function headingOf(status: PageCheck): string {
  return truncate(titleOf(status) ?? status.check.name, TEXT_MAX.name);
}

/** Returns the name, if the heading is the title. */
function namesOf(status: PageCheck): readonly string[] {
  return titleOf(status) === null ? [] : [truncate(status.check.name, TEXT_MAX.name)];
}

/** Renders the name and the tags; on the page of all checks, a tag sets the filter. */
function renderWords(status: PageCheck, options: ItemOptions): Markup {
  const { snapshot: { isOfOneCheck } } = options;
  const tags = status.check.tags.map((tag) => {
    const text = truncate(tag, TEXT_MAX.name);
    return isOfOneCheck === true ? markup`${text}` : renderFilterLink(fieldWord("tag", tag), text);
  });
  const words = [...namesOf(status).map((name) => markup`${name}`), ...tags];
  return words.length === 0 ? markup`` : markup`<p class=n>${joinMarkup(words, markup` \u00b7 `)}</p>`;
}

function renderSince(
  { check, record, state, condition }: PageCheck,
  { time, snapshot: { nowMs } }: ItemOptions,
): Markup {
  if (record === null || record.last === null) return markup``;
  if (state !== "current") return markup`, last run ${time(record.last.startedAtMs)}`;
  const sinceMs = lastsSinceMs({ check, record });
  if (sinceMs === null) return markup``;
  const lasted = condition === "ok" ? "" : `, for ${describeDuration(Math.max(0, nowMs - sinceMs))}`;
  return markup` since ${time(sinceMs)}${lasted}`;
}

function renderMarks(status: PageCheck, { time }: ItemOptions): readonly Markup[] {
  const { maintenance, isSilenced, record } = status;
  const marks = [
    ...isUnconfirmed(status) ? [`${record?.last?.condition}, not confirmed`] : [],
    ...maintenance === null ? [] : [renderMaintenance(maintenance, time)],
    ...isSilenced ? ["silenced"] : [],
  ];
  return marks.map((mark) => markup` <em>${mark}</em>`);
}

function renderMaintenance({ untilMs, reason }: OpenWindow, time: TimeText): Markup {
  const end = untilMs === null ? "" : markup` until ${time(untilMs)}`;
  return markup`maintenance${end}${reason === "" ? "" : ` (${truncate(reason, REASON_MAX)})`}`;
}

const REASON_MAX = 200;

/** Renders a link that sets the filter; without a script, it loads the filtered page. */
export function renderFilterLink(words: string, text: string): Markup {
  const query = new URLSearchParams({ q: words.toWellFormed() });
  return markup`<a href="${`?${query}`}" data-q="${words}">${text}</a>`;
}

/** Renders the share of ok in each span, and the part of it with data if that is not all. */
function renderAvailability(spans: readonly PageSpan[]): Markup {
  if (spans.every(({ shares }) => shares === null)) return markup``;
  const shown = spans.map(({ label, ms, shares, observedMs }) => {
    const share = shares === null ? "\u2013" : `${percent(shares.ok, PLACES)} ok`;
    const observed = shares === null ? null : describeObserved(observedMs, ms);
    return markup`${label} <b>${share}</b>${observed === null ? "" : markup` <small>${observed}</small>`}`;
  });
  return markup`<p class=a>${joinMarkup(shown, markup` `)}</p>`;
}

/** Renders the other conditions, confirmed or not; a span that adds nothing to the shorter one is omitted. */
function renderFaults(spans: readonly PageSpan[]): Markup {
  let failedBefore = 0;
  const shown = spans.flatMap((span) => {
    const faults = span.shares === null ? [] : describeFaults(span.shares, PLACES);
    const isNew = span.failedRuns > failedBefore || (failedBefore === 0 && faults.length > 0);
    failedBefore = Math.max(failedBefore, span.failedRuns);
    const runs = span.failedRuns === 0 ? [] : [describeRunCounts(span)];
    return isNew ? [markup`<b>${span.label}</b> ${[...faults, ...runs].join(", ")}`] : [];
  });
  return shown.length === 0 ? markup`` : markup`<p class=f>${joinMarkup(shown, markup`; `)}</p>`;
}

const PLACES = 2;

function renderMore(status: PageCheck, { snapshot, time, roomOf }: ItemOptions): readonly Markup[] {
  const room = roomOf(status);
  const { record } = status;
  const changes = status.changes.slice(0, room.changes);
  const detail = room.hasOutput ? record?.last?.detail ?? "" : "";
  // The trace of the present problem; the page of one check has it with the incident.
  const trace = room.hasTrace && snapshot.isOfOneCheck !== true ? status.changes[0]?.trace ?? "" : "";
  const items = changes.map((change) => markup`<li>${time(change.atMs)} ${renderMove(change)}`);
  const summary = changes.length === 0
    ? "Full output"
    : changes.length === 1
    ? "Last change"
    : `Last ${changes.length} changes`;
  return [
    renderDetails("changes", summary, markup`${preformatted(detail, TEXT_MAX.detail)}${renderItems(items)}`),
    renderDetails(
      "trace",
      "Trace of the run that confirmed the problem",
      preformatted(trace, TEXT_MAX.trace),
    ),
  ];
}

function renderWhy({ why = [] }: ReportSnapshot): Markup {
  const items = why.map(({ channel, text }) => markup`<li><b>${channel}</b> ${text}`);
  return renderDetails("why", "Why notified, or not", renderItems(items));
}

function renderRuns({ recent }: PageCheck, { time }: ItemOptions): Markup {
  const items = recent.map(({ endedAtMs, condition, durationMs }) =>
    markup`<li>${time(endedAtMs)} <b>${condition}</b> ${durationText(durationMs)}`
  );
  return renderDetails("runs", `Last ${recent.length} runs`, renderItems(items));
}

export function preformatted(text: string, lengthMax: number): Markup {
  return text === "" ? markup`` : markup`<pre>${markupLines(truncate(text, lengthMax))}</pre>`;
}

function renderItems(items: readonly Markup[]): Markup {
  return items.length === 0 ? markup`` : markup`<ul class=e>${items}</ul>`;
}

/** The script of the live page finds open ones again by their class. */
function renderDetails(kind: "changes" | "trace" | "why" | "runs", summary: string, content: Markup): Markup {
  return content.isEmpty
    ? content
    : markup`<details class=${kind}><summary>${summary}</summary>${content}</details>`;
}

/** Renders a change of a confirmed condition, and the output that decided it. */
function renderMove({ from, to, output }: ConditionChange): Markup {
  const text = markup`${truncate(output, TEXT_MAX.changeOutput)}`;
  return markup`${from} to <b>${to}</b>${text.isEmpty ? "" : markup`: ${text}`}`;
}

const NAME_LENGTH_MAX = 60;

/** Renders the metrics that have thresholds, each with them; empty without any. */
export function renderMeasures(metrics: Readonly<Record<string, number>>): Markup {
  const thresholds = new Map<string, string[]>();
  for (const [name, limit] of Object.entries(metrics)) {
    const [, measured = "", side = ""] = THRESHOLD.exec(name) ?? [];
    if (!Object.hasOwn(metrics, measured)) continue;
    const text = `${side.replaceAll("_", " ")} ${withUnit(measured, limit).value}`;
    thresholds.set(measured, [...thresholds.get(measured) ?? [], text]);
  }
  const shown = [...thresholds].map(([name, texts]) => {
    const { label, value } = withUnit(name, metrics[name] ?? NaN);
    return markup`${truncate(label, NAME_LENGTH_MAX)} <b>${value}</b>, ${texts.join(", ")}`;
  });
  return shown.length === 0 ? markup`` : markup`<p class=f>${joinMarkup(shown, markup`; `)}</p>`;
}

/** The unit by the end of a metric's name. */
const UNITS: readonly { readonly ending: string; write(value: number): string }[] = [
  { ending: "_percent", write: (value) => `${rounded(value)}%` },
  { ending: "_bytes", write: (value) => roundedSize(value, 3) },
  { ending: "_seconds", write: (value) => describeDuration(value * 1000) },
  { ending: "_ms", write: (value) => `${rounded(value)} ms` },
];

function withUnit(name: string, value: number): { readonly label: string; readonly value: string } {
  const unit = UNITS.find(({ ending }) => name.endsWith(ending));
  const label = unit === undefined ? name : name.slice(0, -unit.ending.length);
  return { label: label.replaceAll("_", " "), value: unit?.write(value) ?? `${rounded(value)}` };
}

function rounded(value: number): number {
  return Number(value.toFixed(2));
}
