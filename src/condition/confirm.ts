import {
  type Condition,
  type ConditionCounts,
  CONDITIONS,
  eachCondition,
  severity,
  type ShownCondition,
} from "../domain/condition.ts";

/**
 * The maximum of a count: far above any useful threshold (68 years at one check result a second), and safe in every
 * number type that a store may use. Counters never stop at a threshold, so a threshold that a reload changes, up or
 * down, applies to the previous check results.
 */
export const COUNT_MAX = 2 ** 31 - 1;

export interface Counters {
  /** Consecutive check results of at least that severity. */
  readonly atLeast: ConditionCounts;
  /** Consecutive check results of at most that severity. */
  readonly atMost: ConditionCounts;
}

interface ConfirmationThresholds {
  /** To raise it; 1 or more. */
  readonly threshold: number;
  /** To lower it; 1 or more. */
  readonly recoveryThreshold: number;
  /** Among how many results those that raise it are; absent: in a row. */
  readonly within?: number;
}

export interface ConfirmedChange {
  readonly from: ShownCondition;
  /** The confirmed condition from now on; never the same. */
  readonly to: Condition;
  readonly reason: string;
}

export const NO_RESULTS: Counters = {
  atLeast: { ok: 0, unknown: 0, warning: 0, critical: 0 },
  atMost: { ok: 0, unknown: 0, warning: 0, critical: 0 },
};

export function count(counters: Counters, observed: Condition): Counters {
  const level = severity(observed);
  const next = (seen: number): number => Math.min(seen + 1, COUNT_MAX);
  return {
    atLeast: eachCondition((one) => severity(one) <= level ? next(counters.atLeast[one]) : 0),
    atMost: eachCondition((one) => severity(one) >= level ? next(counters.atMost[one]) : 0),
  };
}

/**
 * Returns the number of consecutive check results, up to the last one, of at least that severity. Every condition is
 * at least `ok`, so for `ok` it counts results that were `ok`.
 */
export function occurrences(counters: Counters, condition: Condition): number {
  return condition === "ok" ? counters.atMost.ok : counters.atLeast[condition];
}

/**
 * Confirms the first `ok` of all at once. Otherwise moves the confirmed condition: up to the lowest severity of the
 * last `threshold` results if that is higher, down to the highest of the last `recoveryThreshold` if that is lower. The
 * last result is among both, so never both apply. `null` if it stays, as it does while there are fewer results than the
 * threshold. Without any, it moves up as from `ok`.
 *
 * If `within` is more than `threshold`, it moves up to the highest severity that `threshold` of so many results
 * reach, the last one included. `recent`: the results since it was last lowered, see {@linkcode addResult}.
 */
export function confirm(
  counters: Counters,
  confirmed: Condition | null,
  thresholds: ConfirmationThresholds,
  recent = "",
): ConfirmedChange | null {
  const { threshold, recoveryThreshold, within = threshold } = thresholds;
  if (confirmed === null && counters.atMost.ok > 0) {
    return { from: "pending", to: "ok", reason: "the first result that was ok" };
  }
  const from = severity(confirmed ?? "ok");
  const window = within > threshold ? recent.slice(-within) : null;
  const raised = CONDITIONS.findLast((to) =>
    severity(to) > from && counters.atLeast[to] > 0 &&
    (window === null ? counters.atLeast[to] : countAtLeast(window, to)) >= threshold
  );
  if (raised !== undefined) {
    const reason = window === null
      ? reasonFor(threshold, raised, " or worse")
      : `${threshold} of the last ${window.length} results were ${rangeOf(raised, " or worse")}`;
    return { from: confirmed ?? "pending", to: raised, reason };
  }
  if (confirmed === null) return null;
  const lowered = CONDITIONS.find((to) => severity(to) < from && counters.atMost[to] >= recoveryThreshold);
  if (lowered !== undefined) {
    return { from: confirmed, to: lowered, reason: reasonFor(recoveryThreshold, lowered, " or better") };
  }
  return null;
}

function reasonFor(results: number, condition: Condition, beyond: " or worse" | " or better"): string {
  const range = rangeOf(condition, beyond);
  return results === 1 ? `the last result was ${range}` : `the last ${results} results were ${range}`;
}

function rangeOf(condition: Condition, beyond: " or worse" | " or better"): string {
  return condition === "ok" || condition === "critical" ? condition : `${condition}${beyond}`;
}

// The newest results of a check as a text: one letter each, the oldest first.

const LETTERS: Readonly<Record<Condition, string>> = { ok: "o", unknown: "u", warning: "w", critical: "c" };

export function addResult(recent: string, condition: Condition, max: number): string {
  return (recent + LETTERS[condition]).slice(-max);
}

function countAtLeast(recent: string, condition: Condition): number {
  const letters = CONDITIONS.filter((one) => severity(one) >= severity(condition)).map((one) => LETTERS[one]);
  return [...recent].filter((letter) => letters.includes(letter)).length;
}
