/** The longest duration, in milliseconds: an hour. */
export const DURATION_MS_MAX = 3_600_000;

/** What is accepted, in words for messages. */
export const DURATION_FORMS: string =
  'seconds above 0 (fractions too), or a string such as "500 ms" or "1.5 seconds" (units: ms, second, minute)';

const UNITS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  millisecond: 1,
  s: 1000,
  second: 1000,
  minute: 60_000,
};

/**
 * Reads a short time of the document: seconds, or a count and a unit; both may have a fraction. The answer is in
 * milliseconds, or says what is wrong and what is accepted.
 */
export function parseDuration(
  value: number | string,
): { readonly ms: number } | { readonly problem: string } {
  if (typeof value === "number") return bounded(value * 1000);
  const found = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|milliseconds?|seconds?|minutes?)\s*$/i.exec(value);
  if (found === null) return { problem: `is not a duration, expected ${DURATION_FORMS}` };
  const [, count = "", unit = ""] = found;
  const name = unit.toLowerCase();
  return bounded(Number(count) * (UNITS_MS[name] ?? UNITS_MS[name.replace(/s$/, "")] ?? 0));
}

function bounded(ms: number): { readonly ms: number } | { readonly problem: string } {
  if (!(ms > 0)) return { problem: `is not above 0, expected ${DURATION_FORMS}` };
  if (ms > DURATION_MS_MAX) return { problem: "is longer than an hour, expected at most that" };
  return { ms };
}
