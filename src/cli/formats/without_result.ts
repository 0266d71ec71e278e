import { mostUrgentFirst, type ShownCondition } from "../../domain/condition.ts";
import { printable } from "../../shared/printable.ts";
import { truncate } from "../../shared/truncate.ts";

/** The text for a check without a result, because the run was interrupted. */
export const NO_RESULT = "no result (interrupted)";

/** Why nothing ran. Without an active check nothing is known, otherwise the stored conditions are. */
export const NO_ACTIVE_CHECK = "no check is active";
export const NO_CHECK_DUE = "no check is due";

const NOT_OK_MAX = 5;
const NAME_LENGTH_MAX = 60;
const OUTPUT_LENGTH_MAX = 100;

/** Such as `no check is due; web is unknown: never ran; db is pending: critical, 1 of 3`. */
export function notDueReason(
  checks: readonly {
    readonly name: string;
    readonly condition: ShownCondition;
    readonly output: string;
  }[],
): string {
  const notOk = checks.filter(({ condition }) => condition !== "ok")
    .toSorted((one, other) => mostUrgentFirst(one.condition, other.condition));
  const more = notOk.length - NOT_OK_MAX;
  return [
    NO_CHECK_DUE,
    ...notOk.slice(0, NOT_OK_MAX).map(({ name, condition, output }) => {
      const described = output === "" ? "" : `: ${truncate(printable(output), OUTPUT_LENGTH_MAX)}`;
      return `${truncate(printable(name), NAME_LENGTH_MAX)} is ${condition}${described}`;
    }),
    ...more > 0 ? [`${more} more ${more === 1 ? "is" : "are"} not ok`] : [],
  ].join("; ");
}

/** The name of the test that fails if nothing ran and not everything is known to be ok. */
export const NO_CHECKS = "checks";
