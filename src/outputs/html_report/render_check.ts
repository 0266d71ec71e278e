import type { Condition } from "../../domain/condition.ts";
import { describeDuration } from "../../domain/duration.ts";
import type { ConditionChange } from "../../domain/store.ts";
import { describeFaults, describeObserved, describeRunCounts, percent } from "../../state/availability.ts";
import { describeStatus } from "../../alerting/check_status.ts";
import { renderChart, STROKE_CLASSES } from "./chart.ts";
import { renderMeasures } from "./render_measures.ts";
import { htmlBlock, htmlLine } from "./html_text.ts";
import type { PageCheck, PageSpan } from "./snapshot.ts";
import type { TimeText } from "./time_text.ts";

/** How much of each text is shown, in UTF-16 units. */
export const TEXT_MAX = { name: 120, output: 240, detail: 1500, changeOutput: 120, trace: 4096 } as const;

interface CheckOptions {
  /** When the page was made; wall time, milliseconds since 1970. */
  readonly nowMs: number;
  readonly time: TimeText;
  /** How many days a point of the line stands for. */
  readonly daysPerPoint: number;
  /** The changes of this check that have room on the page, the newest first. */
  readonly changes: readonly ConditionChange[];
  /** Whether the further lines of the last output have room on the page. */
  readonly hasDetail: boolean;
}

/** A check as an item of a list, headed by its title, or its name where it has none. */
export function renderCheck(status: PageCheck, options: CheckOptions): string {
  const { check, condition, days, spans } = status;
  const name = htmlLine(check.name, TEXT_MAX.name);
  const title = check.title === undefined || check.title.trim() === "" ? null : check.title;
  const output = htmlLine(describeStatus(status, options.nowMs), TEXT_MAX.output);
  return [
    `<li class=${STROKE_CLASSES[condition]}><h3>${
      title === null ? name : htmlLine(title, TEXT_MAX.name)
    }</h3>`,
    title === null ? "" : `<p class=n>${name}</p>`,
    `<p class=s><b>${CONDITION_WORDS[condition]}</b>${renderSince(status, options)}</p>`,
    output === "" ? "" : `<p class=o>${output}</p>`,
    renderMeasures(status.record?.last?.metrics ?? {}),
    renderAvailability(spans),
    renderFaults(spans),
    renderChart(days, options),
    renderMore(status, options),
    "\n",
  ].join("");
}

const CONDITION_WORDS: Readonly<Record<Condition, string>> = {
  ok: "Ok",
  unknown: "Unknown",
  warning: "Warning",
  critical: "Critical",
};

function renderSince({ record, state, condition }: PageCheck, { time, nowMs }: CheckOptions): string {
  if (record === null || record.last === null) return "";
  if (state !== "current") return `, last run ${time(record.last.startedAtMs)}`;
  const { confirmedSinceMs } = record.condition;
  if (confirmedSinceMs === null) return "";
  const lasted = condition === "ok" ? "" : `, for ${describeDuration(Math.max(0, nowMs - confirmedSinceMs))}`;
  return ` since ${time(confirmedSinceMs)}${lasted}`;
}

/** The share of ok in each span, with how much of it was observed where that is not all. */
function renderAvailability(spans: readonly PageSpan[]): string {
  if (spans.every(({ shares }) => shares === null)) return "";
  const shown = spans.map(({ label, ms, shares, observedMs }) => {
    const share = shares === null ? "–" : `${percent(shares.ok, PLACES)} ok`;
    const observed = shares === null ? null : describeObserved(observedMs, ms);
    return `${label} <b>${share}</b>${observed === null ? "" : ` <small>${observed}</small>`}`;
  });
  return `<p class=a><i>Availability</i> ${shown.join(" ")}</p>`;
}

/** What else there was, confirmed or not; a span that adds nothing to the shorter one is left out. */
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

function renderMore({ record }: PageCheck, { time, changes, hasDetail }: CheckOptions): string {
  const detail = hasDetail ? record?.last?.detail ?? "" : "";
  // Of the problem that lasts.
  const trace = hasDetail ? changes[0]?.trace ?? "" : "";
  if (detail === "" && changes.length === 0) return "";
  const items = changes.map((change) => `<li>${time(change.atMs)} ${renderMove(change)}`).join("");
  const summary = changes.length === 0
    ? "Full output"
    : changes.length === 1
    ? "Last change"
    : `Last ${changes.length} changes`;
  return `<details><summary>${summary}</summary>${
    detail === "" ? "" : `<pre>${htmlBlock(detail, TEXT_MAX.detail)}</pre>`
  }${items === "" ? "" : `<ul class=e>${items}</ul>`}</details>${
    trace === ""
      ? ""
      : `<details><summary>Trace of the run that confirmed the problem</summary><pre>${
        htmlBlock(trace, TEXT_MAX.trace)
      }</pre></details>`
  }`;
}

/** What a change of a confirmed condition was, and the output that decided it. */
export function renderMove({ from, to, output }: ConditionChange): string {
  const text = htmlLine(output, TEXT_MAX.changeOutput);
  return `${from} to <b>${to}</b>${text === "" ? "" : `: ${text}`}`;
}
