import { quote } from "./problem.ts";

/** The shortest and the longest interval, in milliseconds: one second and a hundred years. */
export const INTERVAL_MS_MIN = 1000;
/** See {@linkcode INTERVAL_MS_MIN}. */
export const INTERVAL_MS_MAX = 100 * 365 * 24 * 60 * 60 * 1000;

/** What is accepted, in words for messages. */
export const INTERVAL_FORMS: string =
  'whole seconds from 1 on, or a string such as "5 minutes" or "1 hour 30 minutes" ' +
  "(units: second, minute, hour, day, week, or their first letters)";

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };
const TERM = /(\d*)\s*(seconds?|minutes?|hours?|days?|weeks?|[smhdw])(?![a-z])\s*/giy;

/**
 * Reads an interval of the document: whole seconds, or terms of an optional count and a unit, which add up.
 * The answer is in milliseconds, or says what is wrong and what is accepted.
 */
export function parseInterval(
  value: number | string,
): { readonly ms: number } | { readonly problem: string } {
  if (typeof value === "number") {
    return Number.isInteger(value) ? bounded(value) : refuse("is not a whole number");
  }
  const text = value.trim();
  if (text === "") return refuse("is empty");
  let seconds = 0;
  TERM.lastIndex = 0;
  while (TERM.lastIndex < text.length) {
    const start = TERM.lastIndex;
    const term = TERM.exec(text);
    if (term === null) return refuse(explainTerm(text.slice(start)));
    const [, count = "", unit = ""] = term;
    if (count !== "" && Number(count) === 0) return refuse("has a count of zero");
    seconds += (count === "" ? 1 : Number(count)) * (SECONDS[unit.charAt(0).toLowerCase()] ?? 0);
  }
  return bounded(seconds);
}

function refuse(what: string): { readonly problem: string } {
  return { problem: `${what}, expected ${INTERVAL_FORMS}` };
}

function bounded(seconds: number): { readonly ms: number } | { readonly problem: string } {
  const ms = seconds * 1000;
  if (ms < INTERVAL_MS_MIN) return refuse("is shorter than one second");
  if (ms > INTERVAL_MS_MAX) return { problem: "is longer than a hundred years, expected at most that" };
  return { ms };
}

/** What people write besides; it is not taken, so that a document reads the same everywhere. */
const ABBREVIATIONS: Readonly<Record<string, string>> = {
  sec: "seconds",
  secs: "seconds",
  min: "minutes",
  mins: "minutes",
  hr: "hours",
  hrs: "hours",
  month: "30 days",
  months: "days",
};

function explainTerm(rest: string): string {
  if (/^[+-]/.test(rest)) return "has a sign";
  if (/^\d*[.,]\d/.test(rest)) return "has a fraction";
  if (/^\d+\s*$/.test(rest)) return "has a count without a unit";
  const unit = /^\d*\s*([a-z]+)/i.exec(rest)?.[1];
  if (unit === undefined) return "is not an interval";
  const meant = ABBREVIATIONS[unit.toLowerCase()];
  return `has the unknown unit ${quote(unit)}${meant === undefined ? "" : ` (did you mean "${meant}"?)`}`;
}
