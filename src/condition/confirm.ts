import { type Condition, CONDITIONS, severity } from "../domain/condition.ts";
import type { ConditionCounts } from "../domain/condition_state.ts";
import { countAtLeast } from "./recent_results.ts";

/**
 * Where counting stops: far above any threshold that could be waited for (68 years at one observation a second),
 * and safe in every number type that a store may use. Counters never stop at a threshold, so a threshold that a
 * reload changes, up or down, applies to the observations already made.
 */
export const COUNT_MAX = 2 ** 31 - 1;

/** The two counters of each level. */
export interface Counters {
  /** How many observations in a row were at least that bad. */
  readonly atLeast: ConditionCounts;
  /** How many observations in a row were at most that bad. */
  readonly atMost: ConditionCounts;
}

/** How many observations it takes to move the confirmed condition. */
export interface ConfirmationThresholds {
  /** To raise it; 1 or more. */
  readonly threshold: number;
  /** To lower it; 1 or more. */
  readonly recoveryThreshold: number;
  /** Among how many results those that raise it are; absent: in a row. */
  readonly within?: number;
}

/** A move of the confirmed condition. */
export interface ConfirmedChange {
  readonly from: Condition;
  /** The confirmed condition from now on; never the same. */
  readonly to: Condition;
  readonly reason: string;
}

/** The counters before the first observation. */
export const NO_RESULTS: Counters = {
  atLeast: { ok: 0, unknown: 0, warning: 0, critical: 0 },
  atMost: { ok: 0, unknown: 0, warning: 0, critical: 0 },
};

/** The counters after one more observation. */
export function count(counters: Counters, observed: Condition): Counters {
  const level = severity(observed);
  return {
    atLeast: mapCounts(counters.atLeast, (seen, condition) => severity(condition) <= level ? seen + 1 : 0),
    atMost: mapCounts(counters.atMost, (seen, condition) => severity(condition) >= level ? seen + 1 : 0),
  };
}

/**
 * How many observations in a row, up to the last one, were at least that bad. Everything is at least `ok`, so
 * for `ok` it is how many were `ok`.
 */
export function occurrences(counters: Counters, condition: Condition): number {
  return condition === "ok" ? counters.atMost.ok : counters.atLeast[condition];
}

/**
 * Moves the confirmed condition: up to the lowest severity of the last `threshold` results where that is worse, down
 * to the highest of the last `recoveryThreshold` where that is better. The last result is among both, so never both
 * apply. `null` when it stays, as it does while there are fewer results than the threshold.
 *
 * Where `within` is more than `threshold`, it goes up to the highest severity that `threshold` of so many results reach,
 * the last one included. `recent`: the results since it was last lowered, see `recent_results.ts`.
 */
export function confirm(
  counters: Counters,
  confirmed: Condition,
  thresholds: ConfirmationThresholds,
  recent = "",
): ConfirmedChange | null {
  const { threshold, recoveryThreshold, within = threshold } = thresholds;
  const from = severity(confirmed);
  const window = within > threshold ? recent.slice(-within) : null;
  const raised = CONDITIONS.findLast((to) =>
    severity(to) > from && counters.atLeast[to] > 0 &&
    (window === null ? counters.atLeast[to] : countAtLeast(window, to)) >= threshold
  );
  if (raised !== undefined) {
    const reason = window === null
      ? reasonFor(threshold, raised, " or worse")
      : `${threshold} of the last ${window.length} results were ${rangeOf(raised, " or worse")}`;
    return { from: confirmed, to: raised, reason };
  }
  const lowered = CONDITIONS.find((to) => severity(to) < from && counters.atMost[to] >= recoveryThreshold);
  if (lowered !== undefined) {
    return { from: confirmed, to: lowered, reason: reasonFor(recoveryThreshold, lowered, " or better") };
  }
  return null;
}

function mapCounts(
  counts: ConditionCounts,
  next: (seen: number, condition: Condition) => number,
): ConditionCounts {
  return {
    ok: Math.min(next(counts.ok, "ok"), COUNT_MAX),
    unknown: Math.min(next(counts.unknown, "unknown"), COUNT_MAX),
    warning: Math.min(next(counts.warning, "warning"), COUNT_MAX),
    critical: Math.min(next(counts.critical, "critical"), COUNT_MAX),
  };
}

function reasonFor(results: number, condition: Condition, beyond: " or worse" | " or better"): string {
  const range = rangeOf(condition, beyond);
  return results === 1 ? `the last result was ${range}` : `the last ${results} results were ${range}`;
}

function rangeOf(condition: Condition, beyond: " or worse" | " or better"): string {
  return condition === "ok" || condition === "critical" ? condition : `${condition}${beyond}`;
}
