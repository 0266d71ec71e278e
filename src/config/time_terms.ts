import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../shared/time_units.ts";
import { quoteValue } from "./problem.ts";

interface TermOptions {
  /** Whether counts may have fractions and the unit may be milliseconds. */
  readonly isShort: boolean;
}

/** Each unit by its abbreviations and by its word, whose plural is accepted as well. */
const UNITS: readonly { readonly names: readonly string[]; readonly word: string; readonly ms: number }[] = [
  { names: ["ms"], word: "millisecond", ms: 1 },
  { names: ["s"], word: "second", ms: SECOND_MS },
  { names: ["m", "min"], word: "minute", ms: MINUTE_MS },
  { names: ["h"], word: "hour", ms: HOUR_MS },
  { names: ["d"], word: "day", ms: DAY_MS },
  { names: ["w"], word: "week", ms: 7 * DAY_MS },
];

const UNITS_MS: ReadonlyMap<string, number> = new Map(
  UNITS.flatMap(({ names, word, ms }) => [...names, word, `${word}s`].map((name) => [name, ms] as const)),
);

const TERM = /(\d+(?:\.\d+)?)?\s*([a-z]+)\s*/giy;

/**
 * Adds up terms such as `1 hour 30 min`: each has a unit and a positive count, which may be missing. Returns
 * milliseconds, or the error.
 */
export function addUpTerms(
  text: string,
  { isShort }: TermOptions,
): { readonly ms: number } | { readonly problem: string } {
  const terms = text.trim();
  if (terms === "") return { problem: "is empty" };
  let ms = 0;
  TERM.lastIndex = 0;
  while (TERM.lastIndex < terms.length) {
    const rest = terms.slice(TERM.lastIndex);
    const [, count = "1", unit = ""] = TERM.exec(terms) ?? [];
    const unitMs = UNITS_MS.get(unit.toLowerCase());
    if (unitMs === undefined) return { problem: explainTerm(rest, { unit, isShort }) };
    if (!isShort && count.includes(".")) return { problem: "has a fraction" };
    if (!isShort && unitMs < SECOND_MS) {
      return { problem: `has the unit ${quoteValue(unit)}, expected seconds or longer units` };
    }
    if (Number(count) === 0) return { problem: "has a count of zero" };
    ms += Number(count) * unitMs;
  }
  return { ms };
}

/** Other common forms; they are rejected, so that an interval is written the same way everywhere. */
const ABBREVIATIONS: Readonly<Record<string, string>> = {
  sec: "seconds",
  secs: "seconds",
  mins: "minutes",
  hr: "hours",
  hrs: "hours",
  month: "30 days",
  months: "days",
};

function explainTerm(rest: string, { unit, isShort }: TermOptions & { readonly unit: string }): string {
  if (/^[+-]/.test(rest)) return "has a sign";
  if (/^\d*[.,]\d/.test(rest)) return isShort ? "has a malformed fraction" : "has a fraction";
  if (/^\d+\s*$/.test(rest)) return "has a count without a unit";
  if (unit === "") return "is not a length of time";
  const meant = ABBREVIATIONS[unit.toLowerCase()];
  return `has the unknown unit ${quoteValue(unit)}${
    meant === undefined ? "" : ` (did you mean "${meant}"?)`
  }`;
}
