import { addUpTerms } from "./time_terms.ts";

/** The longest duration, in milliseconds: an hour. */
export const DURATION_MS_MAX = 3_600_000;

/** The accepted form, for messages. */
export const DURATION_FORMS: string =
  'seconds above 0 up to an hour, or text such as "500 ms" or "1.5 seconds"';

/** Smaller fractions are lost in floating-point arithmetic. */
const NANOSECONDS_PER_MS = 1e6;

/**
 * Parses a duration of the config: seconds, or a sum of terms with an optional count and a unit. Counts may have
 * fractions. Returns milliseconds, or the error with the accepted form.
 */
export function parseDuration(
  value: number | string,
): { readonly ms: number } | { readonly problem: string } {
  const parsed = typeof value === "number" ? { ms: value * 1000 } : addUpTerms(value, { isShort: true });
  if ("problem" in parsed) return refuse(parsed.problem);
  const ms = Math.round(parsed.ms * NANOSECONDS_PER_MS) / NANOSECONDS_PER_MS;
  if (!(ms > 0)) return refuse("is not above 0");
  return ms > DURATION_MS_MAX ? refuse("is longer than an hour") : { ms };
}

function refuse(problem: string): { readonly problem: string } {
  return { problem: `${problem}, expected ${DURATION_FORMS}` };
}
