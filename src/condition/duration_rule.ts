/**
 * The rule of `duration`: while the runs of a check that are `ok` take too long, an `ok` counts as a `warning`. That of each
 * of its `metrics` is the same, of a measured value instead of the duration. Pure.
 *
 * A percentile is above a limit if more runs than its share took longer, by nearest rank. These are counted, so the rule is
 * exact. The time of the rule has twelve parts, and the runs of the last twelve count, the present one included. What is
 * usual at an hour of the week, in UTC, is the median of the medians of its last four weeks.
 */
import type { Check } from "../domain/check.ts";
import { exactDuration } from "../domain/duration.ts";
import type { CheckRecord, DurationHistory, MetricHistory, UsualDurations } from "../domain/store.ts";
import { durationText, HOUR_MS } from "../shared/time_units.ts";
import { defined } from "../shared/json_values.ts";
import { addValue, valuePercentiles } from "../shared/histograms.ts";

/** Of a measured value, they are in its unit instead of milliseconds. */
export interface DurationLimits extends NonNullable<Check["duration"]> {
  readonly lessThanUsual?: number;
}

/** By the name of the value. */
export type MetricLimits = NonNullable<Check["metrics"]>;

const PARTS = 12;
/** Those with the last runs are stored, so that a clock that is wrong for a moment drops none that count. */
const PARTS_STORED = PARTS + 2;

interface Limit {
  /** As in the config. */
  readonly key: string;
  /** What it is if more runs than that take longer, such as `p95 above 1 s`. */
  readonly name: string;
  /** What it is else, such as `p95 not above 1 s`. */
  readonly within: string;
  /** So many of 100 runs may take longer. */
  readonly slowPercent: number;
  /** With fewer runs it decides nothing: one slow run is never enough. */
  readonly runsMin: number;
  /** In milliseconds, or the unit of the value; `null`: it is not known, so that no run counts. */
  readonly limit: number | null;
  /** Whether the runs below it count against it. */
  readonly isLower: boolean;
  /** Why it is not known; else empty. */
  readonly lack: string;
}

/** What a rule counts, and its words. */
export interface Counted {
  /** In front of each text. */
  readonly prefix: string;
  readonly one: string;
  readonly several: string;
  /** What those are that count against a limit. */
  readonly beyond: string;
  /** What those are that are above what is usual. */
  readonly more: string;
  write(limit: number): string;
  writeUsual(usual: number): string;
  readonly scale: Scale;
}

/** How the median of an hour is stored. */
interface Scale {
  /** The characters of a median. */
  readonly width: number;
  /** Adds to the levels of an hour. */
  add(levels: UsualDurations["levels"], value: number): UsualDurations["levels"];
  /** Of an hour that has some. */
  pack(levels: UsualDurations["levels"]): string;
  /** `null`: of an hour without a median. */
  unpack(text: string): number | null;
}

/** Always the same ones of a rule, in one order. */
function limitsAt(
  limits: DurationLimits,
  history: DurationHistory | null,
  nowMs: number,
  counted: Counted,
): readonly Limit[] {
  const { p50AboveMs, p95AboveMs, p99AboveMs, slowerThanUsual, lessThanUsual } = limits;
  const { prefix, write } = counted;
  const above = (name: string, slowPercent: number, limit: number | undefined): readonly Limit[] =>
    limit === undefined ? [] : [{
      key: `${name}_above`,
      name: `${prefix}${name} above ${write(limit)}`,
      within: `${prefix}${name} not above ${write(limit)}`,
      slowPercent,
      runsMin: Math.max(RUNS_MIN, 100 / slowPercent),
      limit,
      isLower: false,
      lack: "",
    }];
  const usual = (times: number | undefined, isLower: boolean): readonly Limit[] =>
    times === undefined ? [] : [usualLimit({ times, isLower }, history, nowMs, counted)];
  return [
    ...above("p50", 50, p50AboveMs),
    ...above("p95", 5, p95AboveMs),
    ...above("p99", 1, p99AboveMs),
    ...usual(slowerThanUsual, false),
    ...usual(lessThanUsual, true),
  ];
}

const RUNS_MIN = 10;

/** Returns how many runs each limit requires, by key; the parts of the rule have eleven twelfths of its time at least. */
export function runsRequired(
  limits: DurationLimits,
  counted: Counted,
): readonly (readonly [key: string, runs: number])[] {
  return limitsAt(limits, null, 0, counted)
    .map(({ key, runsMin }) => [key, Math.ceil(runsMin * PARTS / (PARTS - 1))]);
}

function usualLimit(
  { times, isLower }: { readonly times: number; readonly isLower: boolean },
  history: DurationHistory | null,
  nowMs: number,
  { prefix, more, writeUsual, scale }: Counted,
): Limit {
  const { weeks, usual } = usualAt(history, nowMs, scale);
  const on = weeks === 1 ? "on 1 week" : `on ${weeks} weeks`;
  const comparison = isLower ? "less" : more;
  const level = usual === null ? "usual" : `the usual ${writeUsual(usual)} of this hour of the week, ${on}`;
  const name = `${times} times ${comparison} than ${level}`;
  return {
    key: `${comparison}_than_usual`,
    name: `${prefix}${name}`,
    within: `${prefix}not ${name}`,
    slowPercent: 50,
    runsMin: RUNS_MIN,
    // Several times as much as what is below zero is less.
    limit: usual === null || usual < 0 ? null : isLower ? usual / times : usual * times,
    isLower,
    lack: usual === null ? `${on}, ${WEEKS_MIN} required` : "the usual is below zero",
  };
}

/** Returns a check for results of the journal, which are as they counted: it has no durations and values. */
export function withoutLimits(check: Check): Check {
  const { duration: _, metrics: __, ...others } = check;
  return others;
}

/** Adds an `ok` run. A history that was counted by other limits begins again, except for the usual durations. */
export function addDuration(
  limits: DurationLimits,
  before: DurationHistory | null,
  { durationMs, nowMs }: Readonly<Record<"durationMs" | "nowMs", number>>,
  counted: Counted = OF_DURATIONS,
): DurationHistory {
  const { overMs, slowerThanUsual, lessThanUsual } = limits;
  const rule = ruleOf(limits);
  const part = Math.floor(nowMs * PARTS / overMs);
  const old = before?.rule === rule ? before.parts : [];
  const present = old.find(([index]) => index === part) ?? [part];
  const usual = slowerThanUsual === undefined && lessThanUsual === undefined
    ? NO_USUAL
    : addToUsual(before ?? NO_USUAL, { durationMs, nowMs }, counted.scale);
  const known = { rule, parts: old, ...usual };
  const added = limitsAt(limits, known, nowMs, counted).flatMap(({ limit, isLower }, index) => [
    (present[2 * index + 1] ?? 0) + Number(limit !== null),
    (present[2 * index + 2] ?? 0) +
    Number(limit !== null && (isLower ? durationMs < limit : durationMs > limit)),
  ]);
  return {
    rule,
    parts: [...old.filter((one) => one !== present), [part, ...added]].slice(-PARTS_STORED),
    ...usual,
  };
}

function ruleOf(limits: DurationLimits): string {
  return Object.entries(limits).map(([key, value]) => `${key} ${value}`).sort().join();
}

/** What a limit leads to now. */
interface DurationVerdict {
  readonly isExceeded: boolean;
  /** Such as `p95 above 1 s: 7 of 60 runs in 1 h took longer`. */
  readonly text: string;
}

export function judgeDurations(
  limits: DurationLimits,
  history: DurationHistory | null,
  nowMs: number,
  counted: Counted = OF_DURATIONS,
): readonly DurationVerdict[] {
  const part = Math.floor(nowMs * PARTS / limits.overMs);
  // Until the next run, what is counted is that of the limits before an edit.
  const known = history?.rule === ruleOf(limits) ? history.parts : [];
  // Of a clock that was set back, later parts do not count.
  const parts = known.filter(([index = 0]) => index > part - PARTS && index <= part);
  const over = exactDuration(limits.overMs);
  const { one, several, beyond } = counted;
  return limitsAt(limits, history, nowMs, counted).map(
    ({ name, within, slowPercent, runsMin, limit, isLower, lack }, index) => {
      const sum = (column: number): number => parts.reduce((total, one) => total + (one[column] ?? 0), 0);
      const [runs, slow] = [sum(2 * index + 1), sum(2 * index + 2)];
      if (limit === null) return { isExceeded: false, text: `${name}: not known, ${lack}` };
      if (runs < runsMin) {
        const count = `${runs} ${runs === 1 ? one : several} in ${over}`;
        return { isExceeded: false, text: `${name}: not known, ${count}, ${runsMin} required` };
      }
      const isExceeded = 100 * slow > slowPercent * runs;
      const were = isLower ? "were lower" : beyond;
      const text = `${isExceeded ? name : within}: ${slow} of ${runs} ${several} in ${over} ${were}`;
      return { isExceeded, text };
    },
  );
}

/** Returns lines about the durations of a check, for people; none without `duration`. */
export function describeDurationRule(
  { duration }: Pick<Check, "duration">,
  record: Pick<CheckRecord, "durationHistory"> | null,
  nowMs: number,
): readonly string[] {
  if (duration === undefined) return [];
  return judgeDurations(duration, record?.durationHistory ?? null, nowMs).map(({ text }) => text);
}

// Measured values.

export function countedOf(metric: string): Counted {
  return {
    prefix: `${metric}: `,
    one: "value",
    several: "values",
    beyond: "were higher",
    more: "more",
    write: String,
    writeUsual: (usual) => String(Number(usual.toPrecision(DIGITS))),
    scale: VALUE_SCALE,
  };
}

/** Returns the limits of a value as those of durations. */
export function asDurationLimits(
  { p50Above, p95Above, p99Above, moreThanUsual, lessThanUsual, overMs }: MetricLimits[string],
): DurationLimits {
  const limits = { p50AboveMs: p50Above, p95AboveMs: p95Above, p99AboveMs: p99Above };
  return { overMs, ...defined({ ...limits, slowerThanUsual: moreThanUsual, lessThanUsual }) };
}

/** Adds the values of an `ok` run to those with limits. */
export function addMetricValues(
  limits: MetricLimits,
  before: MetricHistory | null,
  { values, nowMs }: { readonly values: ReadonlyMap<string, number>; readonly nowMs: number },
): MetricHistory {
  const known = new Map(Object.entries(before ?? {}));
  return Object.fromEntries(
    Object.entries(limits).flatMap(([name, one]) => {
      const history = known.get(name) ?? null;
      const value = values.get(name);
      if (value === undefined) return history === null ? [] : [[name, history] as const];
      const added = addDuration(
        asDurationLimits(one),
        history,
        { durationMs: value, nowMs },
        countedOf(name),
      );
      return [[name, added] as const];
    }),
  );
}

/** Returns what each limit of each value leads to. */
export function judgeMetrics(
  limits: MetricLimits,
  history: MetricHistory | null,
  nowMs: number,
): readonly DurationVerdict[] {
  const known = new Map(Object.entries(history ?? {}));
  return Object.entries(limits).flatMap(([name, one]) =>
    judgeDurations(asDurationLimits(one), known.get(name) ?? null, nowMs, countedOf(name))
  );
}

/** Returns lines about the measured values of a check, for people; none without `metrics`. */
export function describeMetricRules(
  { metrics }: Pick<Check, "metrics">,
  record: Pick<CheckRecord, "metricHistory"> | null,
  nowMs: number,
): readonly string[] {
  if (metrics === undefined) return [];
  return judgeMetrics(metrics, record?.metricHistory ?? null, nowMs).map(({ text }) => text);
}

// What is usual at each hour of the week.

const WEEK_HOURS = 7 * 24;
const WEEKS_MAX = 4;
const WEEKS_MIN = 2;
const SLOTS = WEEKS_MAX * WEEK_HOURS;

/** A level is 17 % more than the one below it, so a duration is off by 8 % at most, up to two minutes. */
const LEVEL_0_MS = 0.1;
const LEVEL_FACTOR = 1.17;
const LEVEL_MAX = 90;
/** More runs than an hour has. */
const RUNS_MAX = 100_000;

type Usual = Pick<DurationHistory, keyof UsualDurations | "otherUsual">;

const NO_USUAL: Usual = { hour: 0, levels: [], medians: "" };

function levelOf(ms: number): number {
  const level = Math.round(Math.log(Math.max(ms, LEVEL_0_MS) / LEVEL_0_MS) / Math.log(LEVEL_FACTOR));
  return Math.min(level, LEVEL_MAX);
}

/** A character for each level, none of which JSON escapes. */
const CHARACTERS = Array.from(
  { length: LEVEL_MAX + 1 },
  (_, level) => String.fromCharCode(level + (level < 92 - 35 ? 35 : 36)),
).join("");

const DURATION_SCALE: Scale = {
  width: 1,
  add(levels, ms) {
    const level = levelOf(ms);
    const runs = levels.find(([one]) => one === level)?.[1] ?? 0;
    return [...levels.filter(([one]) => one !== level), [level, runs + 1]];
  },
  pack(levels) {
    const all = levels.flatMap(([level = 0, runs = 0]) =>
      // A damaged number is no reason to stop.
      Array.from({ length: Math.min(runs, RUNS_MAX) }, () => level)
    );
    const [lower, upper] = middleOf(all);
    return CHARACTERS[Math.round((lower + upper) / 2)] ?? " ";
  },
  unpack(text) {
    const level = CHARACTERS.indexOf(text);
    return level < 0 ? null : LEVEL_0_MS * LEVEL_FACTOR ** level;
  },
};

/** A value is stored as three digits, with an exponent of `EXPONENT_MAX` at most. */
const EXPONENT_MAX = 150;
const EXPONENT_STEPS = 1000;
const DIGITS = 3;
const ZERO_STEP = Math.floor(CHARACTERS.length ** DIGITS / 2);

/** An hour has one level, the histogram of its values. */
const VALUE_SCALE: Scale = {
  width: DIGITS,
  add: ([histogram = []], value) => [addValue(histogram, value)],
  pack([histogram = []]) {
    const runs = histogram.slice(2).reduce((sum, count) => sum + Math.max(0, count), 0);
    const median = valuePercentiles(histogram, { runs, min: -Infinity, max: Infinity })?.p50 ?? NaN;
    const [digits = NaN, exponent = NaN] = median.toExponential(DIGITS - 1).split("e").map(Number);
    const steps = (exponent + EXPONENT_MAX) * EXPONENT_STEPS + Math.round(Math.abs(digits) * 100);
    const step = ZERO_STEP + Math.sign(median) * steps;
    return Array.from(
      { length: DIGITS },
      (_, place) =>
        Math.abs(exponent) <= EXPONENT_MAX
          ? CHARACTERS[Math.floor(step / CHARACTERS.length ** place) % CHARACTERS.length]
          : " ",
    ).join("");
  },
  unpack(text) {
    const places = [...text].map((character) => CHARACTERS.indexOf(character));
    if (places.includes(-1)) return null;
    const step = places.reduceRight((sum, place) => sum * CHARACTERS.length + place, 0) - ZERO_STEP;
    const steps = Math.abs(step);
    const exponent = Math.floor(steps / EXPONENT_STEPS) - EXPONENT_MAX - (DIGITS - 1);
    return Math.sign(step) * Number(`${steps % EXPONENT_STEPS}e${exponent}`);
  },
};

export const OF_DURATIONS: Counted = {
  prefix: "",
  one: "run",
  several: "runs",
  beyond: "took longer",
  more: "slower",
  write: exactDuration,
  writeUsual: durationText,
  scale: DURATION_SCALE,
};

/** After a step of the clock, or a time without runs, what was usual before is kept: the clock may return. */
function addToUsual(
  before: Usual,
  { durationMs, nowMs }: Readonly<Record<"durationMs" | "nowMs", number>>,
  scale: Scale,
): Usual {
  const hour = Math.floor(nowMs / HOUR_MS);
  const { otherUsual = NO_USUAL } = before;
  const present = { hour: before.hour, levels: before.levels, medians: before.medians };
  const known = [present, otherUsual].find((one) => Math.abs(hour - one.hour) <= 1);
  const other = known === present ? otherUsual : present;
  const { hour: last, levels, medians } = known ?? present;
  const kept = other.hour > 0 && { otherUsual: other };
  // The clock was set back into an hour that has its median.
  if (hour === last - 1) return { hour: last, levels, medians, ...kept };
  return {
    ...kept,
    hour,
    // Of a clock that was set back, the hour begins again.
    levels: scale.add(hour === last ? levels : [], durationMs),
    medians: hour > last ? endHour(medians, { last, levels, hour }, scale) : medians,
  };
}

/** Keeps the median of the last hour with a run, and none of the hours between that and the present one. */
function endHour(
  medians: string,
  { last, levels, hour }: Pick<UsualDurations, "levels" | "hour"> & { readonly last: number },
  { width, pack }: Scale,
): string {
  const slots = Array.from({ length: SLOTS }, (_, slot) => medianAt(medians, slot, width));
  for (let skipped = Math.max(last, hour - SLOTS); skipped < hour; skipped++) {
    slots[skipped % SLOTS] = " ".repeat(width);
  }
  if (levels.length > 0 && last >= hour - SLOTS) slots[last % SLOTS] = pack(levels);
  return slots.join("");
}

function medianAt(medians: string, slot: number, width: number): string {
  return medians.slice(slot * width, (slot + 1) * width).padEnd(width);
}

/** Returns the middle two of an even number; of an odd one, the middle one twice. */
function middleOf(values: readonly number[]): readonly [lower: number, upper: number] {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = (sorted.length - 1) / 2;
  return [sorted[Math.floor(middle)] ?? NaN, sorted[Math.ceil(middle)] ?? NaN];
}

/** Returns what is usual at this hour of the week, `null` if it is not known, and on how many weeks that rests. */
function usualAt(history: DurationHistory | null, nowMs: number, { width, unpack }: Scale) {
  const hour = Math.floor(nowMs / HOUR_MS);
  const known = Array.from({ length: WEEKS_MAX }, (_, week) => {
    const before = hour - (week + 1) * WEEK_HOURS;
    // The median of the last hour with a run is not kept yet.
    if (history === null || before >= history.hour || before <= history.hour - SLOTS - 1) return null;
    return unpack(medianAt(history.medians, before % SLOTS, width));
  }).filter((median) => median !== null);
  const [lower, upper] = middleOf(known);
  const usual = lower > 0 ? Math.sqrt(lower * upper) : (lower + upper) / 2;
  return { usual: known.length < WEEKS_MIN ? null : usual, weeks: known.length };
}
