import { unknownResult } from "../domain/check.ts";
import type { CheckKindEntry } from "../domain/check_kind.ts";
import { withoutTarget } from "./targets.ts";

/**
 * The `reported` kind: another monitor (an agent) runs the check and reports its results, which the service records as
 * they come. A run here only finds out whether one is missing.
 */
export const reportedKind: CheckKindEntry<"reported"> = {
  observe: (check, { reports }) =>
    Promise.resolve(
      reports?.look(check) ??
        { ...unknownResult("its agent reports to the service, which does not run here"), awaits: "report" },
    ),
  withoutLocations: "an agent reports it",
  target: withoutTarget("reported"),
  requiredPermissions: () => ({}),
};
