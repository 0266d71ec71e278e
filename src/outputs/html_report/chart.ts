/**
 * The picture of a check's days: a line of how long its runs took, above a strip of its conditions. One unit of the
 * picture is a day across. There may be a thousand of them on a page, so equal days in a row are one stroke.
 */
import { type Condition, CONDITIONS, severity } from "../../domain/condition.ts";
import { durationText } from "../../shared/duration_text.ts";
import type { PageDay } from "./snapshot.ts";

/** Heights in the picture's units; `style.ts` gives the strokes of the strip their height. */
const LINE_TOP = 1;
const LINE_BOTTOM = 19;
const STRIP_MIDDLE = 28;
const HEIGHT = 34;

/** The classes of the strokes; short, since they are on every check. */
export const STROKE_CLASSES: Readonly<Record<Condition, string>> = {
  ok: "k",
  unknown: "u",
  warning: "w",
  critical: "x",
};

interface ChartOptions {
  /** When the last day is; wall time, milliseconds since 1970. */
  readonly nowMs: number;
  /** How many days one point of the line stands for; 1 or more. */
  readonly daysPerPoint: number;
}

/** The picture and its scale as HTML. The label says in words what it shows. */
export function renderChart(days: readonly PageDay[], { nowMs, daysPerPoint }: ChartOptions): string {
  const points = toPoints(days, daysPerPoint);
  const means = points.filter((mean) => mean !== null);
  const most = Math.max(0, ...means);
  const label = `${describeDays(days, nowMs)}. ${describeDurations(means)}`;
  const strip = CONDITIONS.map((condition) => {
    const path = stripPath(days, condition);
    return path === "" ? "" : `<path class=${STROKE_CLASSES[condition]} d="${path}"/>`;
  }).join("");
  const line = means.length === 0 ? "" : `<path class=l d="${linePath(points, { most, daysPerPoint })}"/>`;
  const scale = means.length === 0 ? "" : `<p class=m aria-hidden=true>${durationText(most)}<br>0</p>`;
  return `<svg viewBox="0 0 ${days.length} ${HEIGHT}" preserveAspectRatio=none role=img aria-label="${label}">${line}${strip}</svg>${scale}`;
}

/** The mean of the days behind each point; `null` where none of them had a run. */
function toPoints(days: readonly PageDay[], daysPerPoint: number): readonly (number | null)[] {
  const points: (number | null)[] = [];
  for (let index = 0; index < days.length; index += daysPerPoint) {
    const means = days.slice(index, index + daysPerPoint).flatMap(({ durationMeanMs }) =>
      durationMeanMs ?? []
    );
    points.push(means.length === 0 ? null : means.reduce((sum, mean) => sum + mean, 0) / means.length);
  }
  return points;
}

/** A path with a stroke for each run of days that have a condition: `M3 28h1m4 0h2`. */
function stripPath(days: readonly PageDay[], condition: Condition): string {
  let path = "";
  let pen = 0;
  for (const { from, count, highest } of runsOf(days)) {
    if (highest !== condition) continue;
    path += path === "" ? `M${from} ${STRIP_MIDDLE}h${count}` : `m${from - pen} 0h${count}`;
    pen = from + count;
  }
  return path;
}

interface Run {
  readonly from: number;
  readonly count: number;
  readonly highest: Condition | null;
}

function runsOf(days: readonly PageDay[]): readonly Run[] {
  const runs: Run[] = [];
  for (const [from, { highest }] of days.entries()) {
    const last = runs.at(-1);
    if (last?.highest === highest) runs.splice(-1, 1, { ...last, count: last.count + 1 });
    else runs.push({ from, count: 1, highest });
  }
  return runs;
}

/** A path through the points, broken where there is none; steps are relative, and equal heights make one. */
function linePath(
  points: readonly (number | null)[],
  { most, daysPerPoint }: { readonly most: number; readonly daysPerPoint: number },
): string {
  const heightOf = (mean: number): number =>
    LINE_BOTTOM - Math.round((most === 0 ? 0 : mean / most) * (LINE_BOTTOM - LINE_TOP));
  let path = "";
  let height: number | null = null;
  let level = 0;
  let isInSteps = false;
  const endLevel = (): void => {
    if (level > 0) path += `h${level}`;
    if (level > 0) isInSteps = false;
    level = 0;
  };
  for (const [index, mean] of points.entries()) {
    const next = mean === null ? null : heightOf(mean);
    if (next === null) {
      endLevel();
    } else if (height === null) {
      // A stroke of no length is a dot, should the next one be missing too.
      path += `M${(index + 0.5) * daysPerPoint} ${next}h0`;
      isInSteps = false;
    } else if (next === height) {
      level += daysPerPoint;
    } else {
      endLevel();
      const rise = next - height;
      path += `${isInSteps ? " " : "l"}${daysPerPoint}${rise < 0 ? "" : " "}${rise}`;
      isInSteps = true;
    }
    height = next;
  }
  endLevel();
  return path;
}

/** So many problems are listed with their days, the latest ones. */
const SPANS_MAX = 6;

function describeDays(days: readonly PageDay[], nowMs: number): string {
  const counts = CONDITIONS.toSorted((one, other) => severity(other) - severity(one)).flatMap((condition) => {
    const count = days.filter(({ highest }) => highest === condition).length;
    return count === 0 ? [] : [`${count} ${condition}`];
  });
  const withoutData = days.filter(({ highest }) => highest === null).length;
  if (withoutData > 0) counts.push(`${withoutData} without data`);
  const dayOf = (index: number): string =>
    new Date(nowMs - (days.length - 1 - index) * 86_400_000).toISOString().slice(5, 10);
  const troubles = runsOf(days).filter(({ highest }) => highest !== null && highest !== "ok").toReversed();
  const listed = troubles.slice(0, SPANS_MAX).map(({ from, count, highest }) =>
    `${highest} ${dayOf(from)}${count === 1 ? "" : ` to ${dayOf(from + count - 1)}`}`
  );
  const rest = troubles.length - listed.length;
  return `Days: ${counts.join(", ")}${listed.length === 0 ? "" : `: ${listed.join(", ")}`}${
    rest === 0 ? "" : ` and ${rest} earlier`
  }`;
}

function describeDurations(means: readonly number[]): string {
  if (means.length === 0) return "No runs";
  const [least, most] = [durationText(Math.min(...means)), durationText(Math.max(...means))];
  return least === most ? `Runs took ${most}` : `Runs took ${least} to ${most}`;
}
