import { type Condition, CONDITIONS } from "../../domain/condition.ts";
import type { RunRecord } from "./format.ts";

/** The number of checks in each condition, in ascending order of severity. */
type ConditionCounts = Readonly<Record<Condition, number>>;

export function countConditions(records: readonly RunRecord[]): ConditionCounts {
  const count = (condition: Condition) =>
    records.filter((record) => record.result.condition === condition).length;
  return Object.fromEntries(CONDITIONS.map((condition) => [condition, count(condition)])) as Record<
    Condition,
    number
  >;
}
