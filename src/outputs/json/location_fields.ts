import type { LocationVote } from "../../domain/check.ts";
import { roundedMs } from "../../shared/json_values.ts";

/** The contribution of a location to a result, in JSON; fields are only ever added. */
export interface LocationFields {
  readonly location: string;
  /** `null`: it did not count. */
  readonly condition: LocationVote["condition"];
  /** Its output, or why it did not count. */
  readonly output: string;
  readonly duration_ms: number | null;
}

/** The field `locations` of a result; without any if the check did not run at locations. */
export function locationFields(
  votes: readonly LocationVote[] | undefined,
): { readonly locations?: readonly LocationFields[] } {
  if (votes === undefined) return {};
  return {
    locations: votes.map(({ location, condition, output, durationMs }) => ({
      location,
      condition,
      output,
      duration_ms: durationMs === null ? null : roundedMs(durationMs),
    })),
  };
}
