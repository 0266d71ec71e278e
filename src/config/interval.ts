import { addUpTerms } from "./time_terms.ts";
import type { Objective } from "../domain/objective.ts";
import { DAY_MS } from "../shared/time_units.ts";

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

/** The accepted forms, for messages. */
export const OBJECTIVE_FORMS = 'a percentage such as "99.9 %", "99.9 % a month" or "99.5 % per 7 days"';

const FORM = /^(\d{1,3}(?:\.\d{1,6})?)\s*%(?:\s+(?:an?|per|in|over)\s+(.+))?$/i;

/** A month of every length has about the same error budget. */
const MONTH_MS = 30 * DAY_MS;
/** Daily sums are kept somewhat longer. */
const WINDOW_MS_MAX = 90 * DAY_MS;

/** Parses an objective; its time is a month of 30 days if the text has none. */
export function parseObjective(text: string): Objective | { readonly problem: string } {
  const [, digits, time = "month"] = FORM.exec(text.trim()) ?? [];
  if (digits === undefined) return refuse("is not an objective");
  const percent = Number(digits);
  if (percent <= 0 || percent > 100) return refuse("is not above 0 % and at most 100 %");
  const interval = /^month$/i.test(time.trim()) ? { ms: MONTH_MS } : parseInterval(time);
  if ("problem" in interval) return refuse("has no time such as a month, a week or 7 days");
  if (interval.ms < DAY_MS || interval.ms > WINDOW_MS_MAX) {
    return refuse("has a time outside of 1 to 90 days, for which history is kept");
  }
  return { percent, windowMs: interval.ms };
}

function refuse(problem: string): { readonly problem: string } {
  return { problem: `${problem}, expected ${OBJECTIVE_FORMS}` };
}
