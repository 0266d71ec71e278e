import { type ConditionState, eachCondition, severity } from "../domain/condition.ts";
import { COUNT_MAX } from "./confirm.ts";
import { FLAPPING_RESULTS } from "./flapping.ts";
import type { ConditionPolicy } from "./transition.ts";

/**
 * Returns whether more results that are the last one again would only be counted: so many were the same that nothing is
 * left to confirm, and the check does not flap.
 */
export function isSteady({ within = 0 }: Pick<ConditionPolicy, "within">, state: ConditionState): boolean {
  const { confirmed, observed, recent, flappingSinceMs } = state;
  const results = Math.max(within, FLAPPING_RESULTS);
  return observed !== null && confirmed === observed && flappingSinceMs === null &&
    recent.length >= results && recent === recent.charAt(0).repeat(recent.length);
}

/** Returns the state after so many more results that are the last one again, the last of them at a time. */
export function afterRepeated(state: ConditionState, results: number, observedAtMs: number): ConditionState {
  const { atLeast, atMost, observed, sinceLowered } = state;
  if (observed === null) throw new Error("Only a result can come again");
  const level = severity(observed);
  const add = (count: number): number => Math.min(count + results, COUNT_MAX);
  return {
    ...state,
    atLeast: eachCondition((one) => severity(one) <= level ? add(atLeast[one]) : 0),
    atMost: eachCondition((one) => severity(one) >= level ? add(atMost[one]) : 0),
    sinceLowered: add(sinceLowered),
    observedAtMs,
  };
}
