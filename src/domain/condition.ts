/**
 * The results of a check, lowest severity first. A detected problem (`warning`, `critical`) is more severe than
 * missing data (`unknown`).
 */
export const CONDITIONS = ["ok", "unknown", "warning", "critical"] as const;

export type Condition = typeof CONDITIONS[number];

/** A condition as it is shown. `pending`: none is confirmed, or a first cron time is to come. */
export type ShownCondition = Condition | "pending";

/** In the order in which they are shown, the most urgent last. */
export const SHOWN_CONDITIONS = [
  "ok",
  "pending",
  "unknown",
  "warning",
  "critical",
] as const satisfies readonly ShownCondition[];

/** Returns the condition that counts, for exit codes and the like: nothing is known about a pending check. */
export function countedAs(shown: ShownCondition): Condition {
  return shown === "pending" ? "unknown" : shown;
}

/** Compares by urgency, the most urgent first. */
export function mostUrgentFirst(one: ShownCondition, other: ShownCondition): number {
  return SHOWN_CONDITIONS.indexOf(other) - SHOWN_CONDITIONS.indexOf(one);
}

export function eachCondition<Value>(
  valueOf: (condition: Condition) => Value,
): Readonly<Record<Condition, Value>> {
  return {
    ok: valueOf("ok"),
    unknown: valueOf("unknown"),
    warning: valueOf("warning"),
    critical: valueOf("critical"),
  };
}

/** Returns the severity of a condition: 0 for `ok` to 3 for `critical`. */
export function severity(condition: Condition): number {
  return CONDITIONS.indexOf(condition);
}

/** The condition with the highest severity; `ok` when there are none. */
export function highestSeverity(conditions: Iterable<Condition>): Condition {
  let result: Condition = "ok";
  for (const condition of conditions) {
    if (severity(condition) > severity(result)) result = condition;
  }
  return result;
}

/** The exit code of each condition (plugin convention); metrics use the same numbers. */
export const CONDITION_CODES: Readonly<Record<Condition, number>> = {
  ok: 0,
  warning: 1,
  critical: 2,
  unknown: 3,
};
