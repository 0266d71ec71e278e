import type { Check } from "../../domain/check.ts";
import type { CheckRecord } from "../../domain/store.ts";

/** Returns whether the next result may confirm a problem, or a more severe one, so that its run is worth a trace. */
export function mayConfirmProblem(
  { threshold }: Check,
  { condition }: Pick<CheckRecord, "condition">,
): boolean {
  return threshold === 1 || condition.observed !== null && condition.observed !== "ok";
}
