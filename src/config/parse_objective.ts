import type { Objective } from "../domain/objective.ts";
import { DAY_MS } from "../shared/time_units.ts";
import { parseInterval } from "./interval.ts";

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
