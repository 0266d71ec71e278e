import type { Check } from "../domain/check.ts";
import { type Problem, PROBLEMS_MAX } from "./problem.ts";

/** Finds checks whose `threshold` is never reached, since `within` is smaller. */
export function findThresholdProblems(checks: readonly Check[]): readonly Problem[] {
  return checks.filter(({ threshold, within }) => within !== undefined && within < threshold)
    .slice(0, PROBLEMS_MAX)
    .map(({ name, threshold, within }) => ({
      path: ["checks", name],
      at: "name",
      message: `"within" is ${within}, expected at least the "threshold" of ${threshold}`,
    }));
}
