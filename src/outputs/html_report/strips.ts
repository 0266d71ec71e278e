/**
 * The picture of a check: a line of the p95 of its durations, above three strips of conditions, of 90 days, of 24
 * hours and of the last 50 runs. One unit of the picture is a day across. There may be a thousand pictures on a page,
 * so equal slots in a row are one stroke, a strip has one path a condition, and only slots that are not ok have a
 * tooltip.
 */
import { type Markup, markup, type PlainTime } from "../markup.ts";
import { SHOWN_CONDITIONS, type ShownCondition } from "../../domain/condition.ts";
import { DAY_MS, durationText, HOUR_MS } from "../../shared/time_units.ts";
import { RECENT_RUNS_MAX } from "../../state/retention.ts";
import { DAYS_SHOWN, HOURS_SHOWN, type PageCheck, type PageDay, type PageSlot } from "./snapshot.ts";

/** Heights in the picture's units; `page_assets.ts` gives the strokes of the strips their height. */
const LINE_TOP = 1;
const LINE_BOTTOM = 17;
const MIDDLES = { days: 24, hours: 37, runs: 50 } as const;
const HEIGHT = 56;

/** The classes of the strokes; short, since they are on every check. */
export const STROKE_CLASSES: Readonly<Record<ShownCondition, string>> = {
  ok: "k",
  pending: "p",
  unknown: "u",
  warning: "w",
  critical: "x",
};

/** Failed runs in an hour or a day in which ok was confirmed all the time that is counted. */
const UNCONFIRMED = "f";

interface DayOptions {
  /** When the last slots are; wall time, milliseconds since 1970. */
  readonly nowMs: number;
  /** The words for a condition on some days. @default the span and the condition */
  labelOf?(what: string): string;
}

/** Renders the days of a check as bars of one unit, for its line. */
export function renderBars(
  days: readonly PageSlot[],
  options: DayOptions & { readonly scale: Pick<PageScale, "stretchesMax"> },
): Markup {
  const { stretchesMax } = options.scale;
  const { fine, others } = stripOf(days, {
    middle: 6,
    slots: DAYS_SHOWN,
    stretchesMax,
    ...wordsOfDays(options),
  });
  return markup`<svg class=b viewBox="0 0 ${DAYS_SHOWN} 12" preserveAspectRatio=none>${
    fine === "" ? "" : markup`<path d="${fine}"/>`
  }${others}</svg>`;
}

interface PictureOptions extends DayOptions {
  readonly plainTime: PlainTime;
  readonly scale: Pick<PageScale, "daysPerPoint" | "stretchesMax">;
}

export function renderStrips(
  { hours, days, recent }: Pick<PageCheck, "hours" | "days" | "recent">,
  options: PictureOptions & { readonly hasDays: boolean },
): Markup {
  const { scale: { stretchesMax, daysPerPoint }, hasDays } = options;
  // Without the days, the other strips move to their position.
  const lift = hasDays ? 0 : MIDDLES.hours - MIDDLES.days;
  const strips = [
    ...hasDays
      ? [stripOf(days, { middle: MIDDLES.days, slots: DAYS_SHOWN, stretchesMax, ...wordsOfDays(options) })]
      : [],
    stripOf(hours, {
      middle: MIDDLES.hours - lift,
      slots: HOURS_SHOWN,
      stretchesMax,
      ...wordsOfHours(options),
    }),
    stripOf(recent.map(({ condition }) => ({ highest: condition, failedRuns: 0 })).reverse(), {
      middle: MIDDLES.runs - lift,
      slots: RECENT_RUNS_MAX,
      stretchesMax,
      ...wordsOfRuns(recent, options),
    }),
  ];
  const fine = strips.map(({ fine }) => fine).join("");
  const points = toPoints(days, daysPerPoint);
  const known = points.filter((point) => point !== null);
  const most = Math.max(0, ...known);
  const line = known.length === 0 ? "" : markup`<path class=l d="${linePath(points, most, daysPerPoint)}"/>`;
  return markup`<svg class="${hasDays ? "three" : "two"}" viewBox="0 0 ${DAYS_SHOWN} ${
    HEIGHT - lift
  }" preserveAspectRatio=none>${line}${fine === "" ? "" : markup`<path d="${fine}"/>`}${
    strips.map(({ others }) => others)
  }</svg><p class=m>${known.length === 0 ? "" : durationText(most)}</p>`;
}

/** The texts of tooltips for ranges of slots. */
interface Words {
  labelOf(what: string, stretches: readonly Stretch[]): string;
  timesOf(stretch: Stretch): string;
}

interface StripOptions extends Words {
  readonly middle: number;
  /** How many slots are as wide as the picture. Fewer are at its end. */
  readonly slots: number;
  readonly stretchesMax: number;
}

/** Returns the path of all data, and the paths of slots that are not ok, with their tooltips. */
function stripOf(
  slots: readonly PageSlot[],
  options: StripOptions,
): { readonly fine: string; readonly others: readonly (Markup | "")[] } {
  const offset = options.slots - slots.length;
  const draw = (strokeClass: string, what: string, isWanted: (slot: PageSlot) => boolean): Markup | "" => {
    const stretches = stretchesOf(slots, isWanted);
    if (stretches.length === 0) return "";
    const path = stripPath(stretches, { ...options, offset });
    return markup`<path class=${strokeClass} d="${path}"><title>${
      describeStretches(what, stretches, options)
    }</title></path>`;
  };
  return {
    // Slots that are not ok are taller, and drawn over the others.
    fine: stripPath(stretchesOf(slots, ({ highest }) => highest !== null), { ...options, offset }),
    others: [
      draw(UNCONFIRMED, "failed runs", ({ highest, failedRuns }) => highest === "ok" && failedRuns > 0),
      ...NOT_OK.map((condition) =>
        draw(STROKE_CLASSES[condition], condition, ({ highest }) => highest === condition)
      ),
    ],
  };
}

const NOT_OK: readonly ShownCondition[] = SHOWN_CONDITIONS.filter((condition) => condition !== "ok");

/** Slots in a row. */
interface Stretch {
  readonly from: number;
  readonly count: number;
}

function stretchesOf(slots: readonly PageSlot[], isWanted: (slot: PageSlot) => boolean): readonly Stretch[] {
  const stretches: { from: number; count: number }[] = [];
  for (const [index, slot] of slots.entries()) {
    if (!isWanted(slot)) continue;
    const last = stretches.at(-1);
    if (last !== undefined && last.from + last.count === index) last.count++;
    else stretches.push({ from: index, count: 1 });
  }
  return stretches;
}

/** A path with a stroke for each stretch: `M3 28h1m4 0h2`. */
function stripPath(
  stretches: readonly Stretch[],
  { middle, slots, offset }: { readonly middle: number; readonly slots: number; readonly offset: number },
): string {
  const xOf = (slot: number): number => rounded((offset + slot) * DAYS_SHOWN / slots);
  let pen = 0;
  return stretches.map(({ from, count }, index) => {
    const [startX, endX] = [xOf(from), xOf(from + count)];
    const move = index === 0 ? `M${startX} ${middle}` : `m${rounded(startX - pen)} 0`;
    pen = endX;
    return `${move}h${rounded(endX - startX)}`;
  }).join("");
}

function rounded(units: number): number {
  return Math.round(units * 100) / 100;
}

function describeStretches(
  what: string,
  stretches: readonly Stretch[],
  { labelOf, timesOf, stretchesMax }: StripOptions,
): string {
  const listed = stretches.slice(-stretchesMax).map(timesOf);
  const rest = stretches.length - listed.length;
  return `${labelOf(what, stretches)}: ${rest === 0 ? "" : `${rest} earlier, `}${listed.join(", ")}`;
}

function wordsOfDays({ nowMs, labelOf = (what) => `${DAYS_SHOWN} d: ${what}` }: DayOptions): Words {
  const dayOf = (index: number): string =>
    new Date(nowMs - (DAYS_SHOWN - 1 - index) * DAY_MS).toISOString().slice(5, 10);
  return {
    labelOf,
    timesOf: ({ from, count }) => `${dayOf(from)}${count === 1 ? "" : ` to ${dayOf(from + count - 1)}`}`,
  };
}

/** When the hours of the strips begin; wall time, milliseconds since 1970. */
export function firstHourMs(nowMs: number): number {
  return (Math.floor(nowMs / HOUR_MS) - HOURS_SHOWN + 1) * HOUR_MS;
}

function wordsOfHours({ nowMs, plainTime }: PictureOptions): Words {
  const startMs = firstHourMs(nowMs);
  const hourOf = (index: number): string => plainTime(startMs + index * HOUR_MS).slice(11);
  return {
    labelOf: (what) => `${HOURS_SHOWN} h: ${what}`,
    timesOf: ({ from, count }) => `${hourOf(from)} to ${hourOf(from + count)}`,
  };
}

function wordsOfRuns(recent: PageCheck["recent"], { nowMs, plainTime }: PictureOptions): Words {
  const timeOf = (index: number): string => {
    const { endedAtMs } = recent[recent.length - 1 - index] ?? { endedAtMs: NaN };
    return plainTime(endedAtMs).slice(nowMs - endedAtMs < DAY_MS ? 11 : 5);
  };
  return {
    labelOf: (what, stretches) => {
      const total = stretches.reduce((sum, { count }) => sum + count, 0);
      return `${total} of ${recent.length} runs ${what}`;
    },
    timesOf: ({ from, count }) => {
      const [first, last] = [timeOf(from), timeOf(from + count - 1)];
      return first === last ? first : `${first} to ${last}`;
    },
  };
}

/** The highest p95 of the days behind each point; `null` where it is known of none of them. */
function toPoints(days: readonly PageDay[], daysPerPoint: number): readonly (number | null)[] {
  const points: (number | null)[] = [];
  for (let index = 0; index < days.length; index += daysPerPoint) {
    const known = days.slice(index, index + daysPerPoint).flatMap(({ durationP95Ms }) => durationP95Ms ?? []);
    points.push(known.length === 0 ? null : Math.max(...known));
  }
  return points;
}

/** A path through the points, broken where there is none; steps are relative, and equal heights make one. */
function linePath(points: readonly (number | null)[], most: number, daysPerPoint: number): string {
  const heightOf = (point: number): number =>
    LINE_BOTTOM - Math.round((most === 0 ? 0 : point / most) * (LINE_BOTTOM - LINE_TOP));
  let path = "";
  let height: number | null = null;
  let level = 0;
  let isInSteps = false;
  const endLevel = (): void => {
    if (level > 0) path += `h${level}`;
    if (level > 0) isInSteps = false;
    level = 0;
  };
  for (const [index, point] of points.entries()) {
    const next = point === null ? null : heightOf(point);
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

/** The limits of everything on a page. A page of a thousand checks is to stay below a megabyte. */
export type PageScale = Readonly<typeof FEW>;

/** How many checks have `changesEach` changes. */
export const CHECKS_WITH_CHANGES_MAX = 100;

const MANY_CHECKS = 250;

const FEW = {
  /** Of the line of durations; a divisor of the days shown. */
  daysPerPoint: 1,
  /** Stretches of time that a tooltip lists, the latest ones. */
  stretchesMax: 6,
  changesEach: 5,
  /** Problems with their last output in full. */
  outputsMax: 50,
  /** Problems with the trace of the run that confirmed them. */
  tracesMax: 20,
  /** Checks with details: the most urgent ones, then those that changed last. */
  detailsMax: Infinity,
};

const MANY: PageScale = {
  daysPerPoint: 5,
  stretchesMax: 3,
  changesEach: 3,
  outputsMax: 10,
  tracesMax: 5,
  detailsMax: 100,
};

/** Returns the scale of a page of so many checks; one that is about one check has everything. */
export function pageScale(checks: number, isOfOneCheck: boolean): PageScale {
  if (isOfOneCheck) return { ...FEW, changesEach: Infinity };
  return checks > MANY_CHECKS ? MANY : FEW;
}
