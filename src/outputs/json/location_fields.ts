import type { LocationVote } from "../../domain/check.ts";
import { roundedMs } from "../../shared/json_values.ts";

/** The field `locations` of a result; without any if the check did not run at locations. */
export function locationFields(
  votes: readonly LocationVote[] | undefined,
): { readonly locations?: readonly (Omit<LocationVote, "durationMs"> & { duration_ms: number | null })[] } {
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
