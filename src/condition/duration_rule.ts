/**
 * The rule of `duration`: while the runs of a check that are `ok` take too long, an `ok` counts as a `warning`. That of each
 * of its `metrics` is the same, of a measured value instead of the duration. Pure.
 *
 * A percentile is above a limit if more runs than its share took longer, by nearest rank. These are counted, so the rule is
 * exact. The time of the rule has twelve parts, and the runs of the last twelve count, the present one included. The usual
 * duration of an hour of the week, in UTC, is the median of the medians of its last four weeks.
 */
import type { Check } from "../domain/check.ts";
import { exactDuration } from "../domain/duration.ts";
import type { CheckRecord, DurationHistory, MetricHistory, UsualDurations } from "../domain/store.ts";
import { durationText, HOUR_MS } from "../shared/time_units.ts";

export type DurationLimits = NonNullable<Check["duration"]>;

/** By the name of the value. */
export type MetricLimits = NonNullable<Check["metrics"]>;

const PARTS = 12;
/** Those with the last runs are stored, so that a clock that is wrong for a moment drops none that count. */
const PARTS_STORED = PARTS + 2;

interface Limit {
  /** What it is if more runs than that take longer, such as `p95 above 1 s`. */
  readonly name: string;
  /** What it is else, such as `p95 not above 1 s`. */
  readonly within: string;
  /** So many of 100 runs may take longer. */
  readonly slowPercent: number;
  /** With fewer runs it decides nothing: one slow run is never enough. */
  readonly runsMin: number;
  /** `null`: it is not known, so that no run counts. */
  readonly ms: number | null;
  /** Why it is not known; else empty. */
  readonly lack: string;
}

/** The words for what a rule counts. */
interface Words {
  /** In front of each text. */
  readonly prefix: string;
  readonly one: string;
  readonly several: string;
  /** What those are that count against a limit. */
  readonly beyond: string;
  write(limit: number): string;
}

const OF_DURATIONS: Words = {
  prefix: "",
  one: "run",
  several: "runs",
  beyond: "took longer",
  write: exactDuration,
};

function wordsOf(metric: string): Words {
  return { prefix: `${metric}: `, one: "value", several: "values", beyond: "were higher", write: String };
}

/** Always the same ones of a rule, in one order. */
function limitsAt(
  limits: DurationLimits,
  history: DurationHistory | null,
  nowMs: number,
  { prefix, write }: Words = OF_DURATIONS,
): readonly Limit[] {
  const { p50AboveMs, p95AboveMs, p99AboveMs, slowerThanUsual } = limits;
  const above = (name: string, slowPercent: number, ms: number | undefined): readonly Limit[] =>
    ms === undefined ? [] : [{
      name: `${prefix}${name} above ${write(ms)}`,
      within: `${prefix}${name} not above ${write(ms)}`,
      slowPercent,
      runsMin: Math.max(RUNS_MIN, 100 / slowPercent),
      ms,
      lack: "",
    }];
  return [
    ...above("p50", 50, p50AboveMs),
    ...above("p95", 5, p95AboveMs),
    ...above("p99", 1, p99AboveMs),
    ...slowerThanUsual === undefined ? [] : [usualLimit(slowerThanUsual, history, nowMs)],
  ];
}

const RUNS_MIN = 10;

/** Returns how many runs each limit requires, by key; the parts of the rule have eleven twelfths of its time at least. */
export function runsRequired(limits: DurationLimits): readonly (readonly [key: string, runs: number])[] {
  const keys = [
    ["p50_above", limits.p50AboveMs],
    ["p95_above", limits.p95AboveMs],
    ["p99_above", limits.p99AboveMs],
    ["slower_than_usual", limits.slowerThanUsual],
  ] as const;
  const all = limitsAt(limits, null, 0);
  return keys.filter(([, value]) => value !== undefined)
    .map(([key], index) => [key, Math.ceil((all[index]?.runsMin ?? 0) * PARTS / (PARTS - 1))]);
}

function usualLimit(times: number, history: DurationHistory | null, nowMs: number): Limit {
  const { weeks, ms } = usualDuration(history, nowMs);
  const on = weeks === 1 ? "on 1 week" : `on ${weeks} weeks`;
  const name = ms === null
    ? `${times} times slower than usual`
    : `${times} times slower than the usual ${durationText(ms)} of this hour of the week, ${on}`;
  return {
    name,
    within: `not ${name}`,
    slowPercent: 50,
    runsMin: RUNS_MIN,
    ms: ms === null ? null : times * ms,
    lack: `${on}, ${WEEKS_MIN} required`,
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
): DurationHistory {
  const { overMs, slowerThanUsual } = limits;
  const rule = ruleOf(limits);
  const part = Math.floor(nowMs * PARTS / overMs);
  const old = before?.rule === rule ? before.parts : [];
  const present = old.find(([index]) => index === part) ?? [part];
  const usual = slowerThanUsual === undefined
    ? NO_USUAL
    : addToUsual(before ?? NO_USUAL, { durationMs, nowMs });
  const added = limitsAt(limits, { rule, parts: old, ...usual }, nowMs).flatMap(({ ms }, index) => [
    (present[2 * index + 1] ?? 0) + Number(ms !== null),
    (present[2 * index + 2] ?? 0) + Number(ms !== null && durationMs > ms),
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

/** Of a clock that was set back, later parts do not count. */
function isIn([index = 0]: readonly number[], part: number): boolean {
  return index > part - PARTS && index <= part;
}

/** What a limit leads to now. */
export interface DurationVerdict {
  readonly isExceeded: boolean;
  /** Such as `p95 above 1 s: 7 of 60 runs in 1 h took longer`. */
  readonly text: string;
}

export function judgeDurations(
  limits: DurationLimits,
  history: DurationHistory | null,
  nowMs: number,
  words: Words = OF_DURATIONS,
): readonly DurationVerdict[] {
  const part = Math.floor(nowMs * PARTS / limits.overMs);
  // Until the next run, what is counted is that of the limits before an edit.
  const counted = history?.rule === ruleOf(limits) ? history.parts : [];
  const parts = counted.filter((one) => isIn(one, part));
  const over = exactDuration(limits.overMs);
  return limitsAt(limits, history, nowMs, words).map(
    ({ name, within, slowPercent, runsMin, ms, lack }, index) => {
      const sum = (column: number): number => parts.reduce((total, one) => total + (one[column] ?? 0), 0);
      const [runs, slow] = [sum(2 * index + 1), sum(2 * index + 2)];
      if (ms === null) return { isExceeded: false, text: `${name}: not known, ${lack}` };
      if (runs < runsMin) {
        const count = `${runs} ${runs === 1 ? words.one : words.several} in ${over}`;
        return { isExceeded: false, text: `${name}: not known, ${count}, ${runsMin} required` };
      }
      const isExceeded = 100 * slow > slowPercent * runs;
      return {
        isExceeded,
        text: `${isExceeded ? name : within}: ${slow} of ${runs} ${words.several} in ${over} ${words.beyond}`,
      };
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

/** Returns the limits of a value as those of durations. */
export function asDurationLimits(
  { p50Above, p95Above, p99Above, overMs }: MetricLimits[string],
): DurationLimits {
  return {
    overMs,
    ...p50Above !== undefined && { p50AboveMs: p50Above },
    ...p95Above !== undefined && { p95AboveMs: p95Above },
    ...p99Above !== undefined && { p99AboveMs: p99Above },
  };
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
      return [[name, addDuration(asDurationLimits(one), history, { durationMs: value, nowMs })] as const];
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
    judgeDurations(asDurationLimits(one), known.get(name) ?? null, nowMs, wordsOf(name))
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

// The usual duration of each hour of the week.

const WEEK_HOURS = 7 * 24;
const WEEKS_MAX = 4;
const WEEKS_MIN = 2;
const SLOTS = WEEKS_MAX * WEEK_HOURS;

/** A level is 17 % more than the one below it, so a duration is off by 8 % at most, up to two minutes. */
const LEVEL_0_MS = 0.1;
const LEVEL_FACTOR = 1.17;
const LEVEL_MAX = 90;

type Usual = Pick<DurationHistory, keyof UsualDurations | "otherUsual">;

const NO_USUAL: Usual = { hour: 0, levels: [], medians: "" };

function levelOf(ms: number): number {
  const level = Math.round(Math.log(Math.max(ms, LEVEL_0_MS) / LEVEL_0_MS) / Math.log(LEVEL_FACTOR));
  return Math.min(level, LEVEL_MAX);
}

function levelMs(level: number): number {
  return LEVEL_0_MS * LEVEL_FACTOR ** level;
}

const NO_LEVEL = " ";
/** A character for each level, none of which JSON escapes. */
const CHARACTERS = Array.from(
  { length: LEVEL_MAX + 1 },
  (_, level) => String.fromCharCode(level + (level < 92 - 35 ? 35 : 36)),
).join("");

/** After a step of the clock, or a time without runs, what was usual before is kept: the clock may return. */
function addToUsual(
  before: Usual,
  { durationMs, nowMs }: Readonly<Record<"durationMs" | "nowMs", number>>,
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
  const level = levelOf(durationMs);
  // Of a clock that was set back, the hour begins again.
  const old = hour === last ? levels : [];
  const runs = old.find(([one]) => one === level)?.[1] ?? 0;
  return {
    ...kept,
    hour,
    levels: [...old.filter(([one]) => one !== level), [level, runs + 1]],
    medians: hour > last ? endHour(medians, { last, levels, hour }) : medians,
  };
}

/** Keeps the median of the last hour with a run, and none of the hours between that and the present one. */
function endHour(
  medians: string,
  { last, levels, hour }: Pick<UsualDurations, "levels" | "hour"> & { readonly last: number },
): string {
  const slots = [...medians.padEnd(SLOTS, NO_LEVEL)];
  for (let skipped = Math.max(last, hour - SLOTS); skipped < hour; skipped++) {
    slots[skipped % SLOTS] = NO_LEVEL;
  }
  const all = levels.flatMap(([level = 0, runs = 0]) => Array.from({ length: runs }, () => level));
  if (all.length > 0 && last >= hour - SLOTS) {
    slots[last % SLOTS] = CHARACTERS[Math.round(medianOf(all))] ?? NO_LEVEL;
  }
  return slots.join("");
}

/** Of an even number, the mean of the middle two. */
function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.slice(Math.ceil(sorted.length / 2) - 1, Math.floor(sorted.length / 2) + 1);
  return middle.reduce((sum, value) => sum + value, 0) / middle.length;
}

/** Returns the usual duration at this hour of the week, `null` if it is not known, and on how many weeks that rests. */
function usualDuration(
  history: DurationHistory | null,
  nowMs: number,
): { readonly ms: number | null; readonly weeks: number } {
  const hour = Math.floor(nowMs / HOUR_MS);
  const levels = Array.from({ length: WEEKS_MAX }, (_, week) => {
    const before = hour - (week + 1) * WEEK_HOURS;
    // The median of the last hour with a run is not kept yet.
    if (history === null || before >= history.hour || before <= history.hour - SLOTS - 1) return -1;
    return CHARACTERS.indexOf(history.medians[before % SLOTS] ?? NO_LEVEL);
  }).filter((level) => level >= 0);
  return { ms: levels.length < WEEKS_MIN ? null : levelMs(medianOf(levels)), weeks: levels.length };
}
