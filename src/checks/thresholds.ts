import { highestSeverity } from "../domain/condition.ts";
import { exactSize, roundedSize } from "../domain/describe_size.ts";
import { describeDuration, exactDuration } from "../domain/duration.ts";
import type { ParameterProblem } from "../domain/check_kind.ts";
import { type CheckResult, checkResult } from "../domain/check.ts";
import type { Limit, Thresholds } from "../domain/limits.ts";

export interface Measure {
  /** As its key in the config, such as `swap_used`; its metrics begin with it. */
  readonly name: string;
  readonly value: number;
  readonly unit: "bytes" | "seconds" | "milliseconds" | "number";
  /** The value of 100%; absent if its limits are no percentages. */
  readonly total?: number;
  readonly thresholds: Thresholds;
}

/** Returns thresholds whose keys may have a unit, such as `warningAboveMs`, without it, and numbers divided. */
export function thresholdsOf(limits: object, divisor = 1): Thresholds {
  const plain = Object.entries(limits).map(([key, limit]) => [
    key.replace(/(?:Ms|Bytes)$/, ""),
    typeof limit === "number" ? limit / divisor : limit,
  ]);
  return Object.fromEntries(plain) as Thresholds;
}

const SIDES = [
  { key: "criticalBelow", condition: "critical", words: "below" },
  { key: "criticalAbove", condition: "critical", words: "above" },
  { key: "warningBelow", condition: "warning", words: "below" },
  { key: "warningAbove", condition: "warning", words: "above" },
] as const;

type Side = typeof SIDES[number];

/** Compares measured values with their thresholds. The output has all of them, with the threshold that is crossed. */
export function evaluateMeasures(measures: readonly Measure[]): CheckResult {
  const evaluated = measures.map((measure) => ({ measure, crossed: crossedSide(measure) }));
  return checkResult(
    highestSeverity(evaluated.map(({ crossed }) => crossed?.condition ?? "ok")),
    evaluated.map(({ measure, crossed }) => describe(measure, crossed)).join("; "),
    Object.fromEntries(measures.flatMap(metricsOf)),
  );
}

/** Warns of a warning that is never reached; the keys are those of the thresholds in the config. */
export function* thresholdWarnings(limits: Readonly<Record<string, object>>): Generator<ParameterProblem> {
  for (const [name, some] of Object.entries(limits)) {
    for (const words of ["below", "above"] as const) {
      const [critical, warning] = SIDES.filter((side) => side.words === words)
        .map(({ key }) => amountOf(thresholdsOf(some)[key]));
      if (critical === undefined || critical.isPercent !== warning?.isPercent) continue;
      const difference = critical.amount - warning.amount;
      const isHidden = words === "below" ? difference >= 0 : difference <= 0;
      const message = `critical_${words} makes the condition critical before warning_${words} is reached`;
      if (isHidden) yield { path: [name, `critical_${words}`], message };
    }
  }
}

function amountOf(limit: Limit | undefined) {
  if (limit === undefined) return undefined;
  return typeof limit === "number"
    ? { amount: limit, isPercent: false }
    : { amount: limit.percent, isPercent: true };
}

function percentOf({ value, total = 0 }: Measure): number {
  return total === 0 ? 0 : value / total * 100;
}

function crossedSide(measure: Measure): Side | null {
  return SIDES.find(({ key, words }) => {
    const limit = amountOf(measure.thresholds[key]);
    if (limit === undefined) return false;
    const value = limit.isPercent ? percentOf(measure) : measure.value;
    return words === "below" ? value < limit.amount : value > limit.amount;
  }) ?? null;
}

function describe(measure: Measure, crossed: Side | null): string {
  const limit = crossed === null ? undefined : measure.thresholds[crossed.key];
  const label = measure.name.replaceAll("_", " ");
  const text = `${label} ${describeValue(measure, limit)}`;
  if (crossed === null || limit === undefined) return text;
  return `${text}, ${crossed.condition} ${crossed.words} ${describeLimit(limit, measure)}`;
}

const DIGITS_MAX = 9;

/** A value is given more digits until it differs from the limit that it crosses. */
function describeValue(measure: Measure, limit: Limit | undefined): string {
  const { total } = measure;
  const write = (digits: number): string => {
    const amount = writeAmount(measure.value, { measure, digits });
    if (total === undefined) return amount;
    const whole = writeAmount(total, { measure, digits: 3 });
    return `${Number(percentOf(measure).toFixed(digits - 2))}% (${amount} of ${whole})`;
  };
  if (limit === undefined) return write(3);
  const limitText = describeLimit(limit, measure);
  for (let digits = 3; digits < DIGITS_MAX; digits++) {
    const text = write(digits);
    if (!text.split(/ \(| of /).includes(limitText)) return text;
  }
  return write(DIGITS_MAX);
}

function describeLimit(limit: Limit, measure: Measure): string {
  return typeof limit === "number" ? EXACT[measure.unit](limit) : `${limit.percent}%`;
}

const EXACT: Readonly<Record<Measure["unit"], (value: number) => string>> = {
  bytes: exactSize,
  seconds: (value) => exactDuration(value * 1000),
  milliseconds: exactDuration,
  number: String,
};

function writeAmount(
  value: number,
  { measure, digits }: { readonly measure: Measure; readonly digits: number },
): string {
  if (measure.unit === "bytes") return roundedSize(value, digits);
  if (measure.unit === "seconds") return describeDuration(value * 1000);
  return `${Number(value.toFixed(digits - 1))}${measure.unit === "milliseconds" ? " ms" : ""}`;
}

const SUFFIXES: Readonly<Record<Measure["unit"], string>> = {
  bytes: "_bytes",
  seconds: "_seconds",
  milliseconds: "_ms",
  number: "",
};

/** The value, its share of the whole, and each threshold. */
function metricsOf(measure: Measure): readonly (readonly [name: string, value: number])[] {
  const plain = measure.name + SUFFIXES[measure.unit];
  const share = `${measure.name}_percent`;
  const limits = SIDES.flatMap(({ key, condition, words }) => {
    const limit = amountOf(measure.thresholds[key]);
    return limit === undefined
      ? []
      : [[`${limit.isPercent ? share : plain}_${condition}_${words}`, limit.amount] as const];
  });
  return [
    [plain, measure.value],
    ...measure.total === undefined ? [] : [[share, percentOf(measure)] as const],
    ...limits,
  ];
}
