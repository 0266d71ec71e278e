import { addUpTerms } from "./time_terms.ts";

/** The shortest and the longest interval, in milliseconds: one second and a hundred years. */
const INTERVAL_MS_MIN = 1000;
export const INTERVAL_MS_MAX = 100 * 365 * 24 * 60 * 60 * 1000;

/** The accepted texts, for messages. */
const INTERVAL_TEXTS = 'text such as "5 minutes" or "1 h 30 min"';
/** The accepted form, for messages. */
export const INTERVAL_FORMS: string = `whole seconds from 1 on, or ${INTERVAL_TEXTS}`;

/**
 * Parses an interval of the config: whole seconds, or a sum of terms with an optional count and a unit. Returns
 * milliseconds, or the error with the accepted form.
 */
export function parseInterval(
  value: number | string,
): { readonly ms: number } | { readonly problem: string } {
  if (typeof value === "string") return bounded(addUpTerms(value, { isShort: false }), INTERVAL_FORMS);
  const parsed = Number.isInteger(value) ? { ms: value * 1000 } : { problem: "is not a whole number" };
  return bounded(parsed, INTERVAL_FORMS);
}

/** Reads an interval of the command line: the same texts, and no bare number. */
export function parseIntervalText(text: string): { readonly ms: number } | { readonly problem: string } {
  return bounded(addUpTerms(text, { isShort: false }), INTERVAL_TEXTS);
}

function bounded(
  parsed: { readonly ms: number } | { readonly problem: string },
  forms: string,
): { readonly ms: number } | { readonly problem: string } {
  if ("problem" in parsed) return { problem: `${parsed.problem}, expected ${forms}` };
  if (parsed.ms < INTERVAL_MS_MIN) return { problem: `is shorter than one second, expected ${forms}` };
  if (parsed.ms <= INTERVAL_MS_MAX) return parsed;
  return { problem: "is longer than a hundred years, expected at most that" };
}
