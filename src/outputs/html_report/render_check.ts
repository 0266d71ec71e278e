import type { ShownCondition } from "../../domain/condition.ts";
import { describeDuration } from "../../domain/duration.ts";
import type { ConditionChange } from "../../domain/store.ts";
import { durationText } from "../../shared/duration_text.ts";
import { describeFaults, describeObserved, describeRunCounts, percent } from "../../state/availability.ts";
import { describeStatus } from "../../alerting/check_status.ts";
import type { OpenWindow } from "../../alerting/maintenance_windows.ts";
import type { PageScale } from "./page_scale.ts";
import { renderStrips, STROKE_CLASSES } from "./strips.ts";
import { renderMeasures } from "./render_measures.ts";
import { htmlBlock, htmlLine } from "./html_text.ts";
import { isUnconfirmed, type PageCheck, type PageSpan, type ReportSnapshot } from "./snapshot.ts";
import type { PlainTime, TimeText } from "./time_text.ts";

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
  /** So many of its changes. */
  readonly changes: number;
  /** The further lines of the last output. */
  readonly hasOutput: boolean;
  /** The trace of the run that confirmed a problem. */
  readonly hasTrace: boolean;
}

export interface ItemOptions {
  readonly snapshot: ReportSnapshot;
  readonly plainTime: PlainTime;
  readonly time: TimeText;
  readonly scale: PageScale;
  roomOf(status: PageCheck): Room;
  /** Whether the item has its tags, as it does not stand below them. */
  readonly hasTags: boolean;
}

/** A check as an item of a list, headed by its title, or its name where it has none. */
export function renderCheck(status: PageCheck, options: ItemOptions): string {
  const { condition, spans } = status;
  const { snapshot } = options;
  const { nowMs } = snapshot;
  const output = htmlLine(describeStatus(status, nowMs), TEXT_MAX.output);
  return [
    `<li class=${STROKE_CLASSES[condition]}>`,
    renderName(status, options),
    `<p class=s><b>${CONDITION_WORDS[condition]}</b>${renderSince(status, options)}${
      renderMarks(status, options)
    }</p>`,
    output === "" ? "" : `<p class=o>${output}</p>`,
    renderMeasures(status.record?.last?.metrics ?? {}),
    renderAvailability(spans),
    renderFaults(spans),
    renderStrips(status, { ...options, nowMs }),
    renderMore(status, options),
    snapshot.isOfOneCheck === true ? renderRuns(status, options) : "",
    "\n",
  ].join("");
}

const CONDITION_WORDS: Readonly<Record<ShownCondition, string>> = {
  ok: "Ok",
  pending: "Pending",
  unknown: "Unknown",
  warning: "Warning",
  critical: "Critical",
};

/** On a live page a link to the page of the check. */
function renderName({ check }: PageCheck, { snapshot, hasTags }: ItemOptions): string {
  const { isLive, isOfOneCheck, isPublic } = snapshot;
  const name = htmlLine(check.name, TEXT_MAX.name);
  const title = check.title === undefined || check.title.trim() === "" ? null : check.title;
  const heading = title === null ? name : htmlLine(title, TEXT_MAX.name);
  const hasLink = isLive === true && isOfOneCheck !== true;
  const words = [
    ...title === null || isPublic === true ? [] : [name],
    ...hasTags ? check.tags.map((tag) => htmlLine(tag, TEXT_MAX.name)) : [],
  ];
  return `<div><h3>${
    hasLink ? `<a href="checks/${encodeURIComponent(check.name.toWellFormed())}">${heading}</a>` : heading
  }</h3>${words.length === 0 ? "" : `<p class=n>${words.join(" · ")}</p>`}</div>`;
}

function renderSince(
  { record, state, condition }: PageCheck,
  { time, snapshot: { nowMs } }: ItemOptions,
): string {
  if (record === null || record.last === null) return "";
  if (state !== "current") return `, last run ${time(record.last.startedAtMs)}`;
  const sinceMs = record.condition.confirmedSinceMs ?? record.condition.problemBeganAtMs;
  if (sinceMs === null) return "";
  const lasted = condition === "ok" ? "" : `, for ${describeDuration(Math.max(0, nowMs - sinceMs))}`;
  return ` since ${time(sinceMs)}${lasted}`;
}

function renderMarks(status: PageCheck, { time }: ItemOptions): string {
  const { maintenance, isSilenced, record } = status;
  const marks = [
    ...isUnconfirmed(status) ? [`${record?.last?.condition}, not confirmed`] : [],
    ...maintenance === null ? [] : [renderMaintenance(maintenance, time)],
    ...isSilenced ? ["silenced"] : [],
  ];
  return marks.map((mark) => ` <em>${mark}</em>`).join("");
}

function renderMaintenance({ untilMs, reason }: OpenWindow, time: TimeText): string {
  const end = untilMs === null ? "" : ` until ${time(untilMs)}`;
  return `maintenance${end}${reason === "" ? "" : ` (${htmlLine(reason, REASON_MAX)})`}`;
}

const REASON_MAX = 200;

/** Renders the share of ok in each span, and the part of it with data if that is not all. */
function renderAvailability(spans: readonly PageSpan[]): string {
  if (spans.every(({ shares }) => shares === null)) return "";
  const shown = spans.map(({ label, ms, shares, observedMs }) => {
    const share = shares === null ? "–" : `${percent(shares.ok, PLACES)} ok`;
    const observed = shares === null ? null : describeObserved(observedMs, ms);
    return `${label} <b>${share}</b>${observed === null ? "" : ` <small>${observed}</small>`}`;
  });
  return `<p class=a>${shown.join(" ")}</p>`;
}

/** Renders the other conditions, confirmed or not; a span that adds nothing to the shorter one is omitted. */
function renderFaults(spans: readonly PageSpan[]): string {
  let failedBefore = 0;
  const shown = spans.flatMap((span) => {
    const faults = span.shares === null ? [] : describeFaults(span.shares, PLACES);
    const isNew = span.failedRuns > failedBefore || (failedBefore === 0 && faults.length > 0);
    failedBefore = Math.max(failedBefore, span.failedRuns);
    const runs = span.failedRuns === 0 ? [] : [describeRunCounts(span)];
    return isNew ? [`<b>${span.label}</b> ${[...faults, ...runs].join(", ")}`] : [];
  });
  return shown.length === 0 ? "" : `<p class=f>${shown.join("; ")}</p>`;
}

const PLACES = { places: 2 };

function renderMore(status: PageCheck, { time, roomOf }: ItemOptions): string {
  const room = roomOf(status);
  const { record } = status;
  const changes = status.changes.slice(0, room.changes);
  const detail = room.hasOutput ? record?.last?.detail ?? "" : "";
  // Of the problem that lasts.
  const trace = room.hasTrace ? status.changes[0]?.trace ?? "" : "";
  const items = changes.map((change) => `<li>${time(change.atMs)} ${renderMove(change)}`).join("");
  const summary = changes.length === 0
    ? "Full output"
    : changes.length === 1
    ? "Last change"
    : `Last ${changes.length} changes`;
  return [
    renderDetails(
      "changes",
      summary,
      `${detail === "" ? "" : `<pre>${htmlBlock(detail, TEXT_MAX.detail)}</pre>`}${
        items === "" ? "" : `<ul class=e>${items}</ul>`
      }`,
    ),
    renderDetails(
      "trace",
      "Trace of the run that confirmed the problem",
      trace === "" ? "" : `<pre>${htmlBlock(trace, TEXT_MAX.trace)}</pre>`,
    ),
  ].join("");
}

function renderRuns({ recent }: PageCheck, { time }: ItemOptions): string {
  const items = recent.map(({ endedAtMs, condition, durationMs }) =>
    `<li>${time(endedAtMs)} <b>${condition}</b> ${durationText(durationMs)}`
  );
  return renderDetails(
    "runs",
    `Last ${recent.length} runs`,
    items.length === 0 ? "" : `<ul class=e>${items.join("")}</ul>`,
  );
}

/** The script of the live page finds open ones again by their class. */
function renderDetails(kind: "changes" | "trace" | "runs", summary: string, content: string): string {
  return content === "" ? "" : `<details class=${kind}><summary>${summary}</summary>${content}</details>`;
}

/** Renders a change of a confirmed condition, and the output that decided it. */
export function renderMove({ from, to, output }: ConditionChange): string {
  const text = htmlLine(output, TEXT_MAX.changeOutput);
  return `${from} to <b>${to}</b>${text === "" ? "" : `: ${text}`}`;
}
