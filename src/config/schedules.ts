import type { CronTimes } from "../domain/schedule.ts";
import { channelEntries, ownersOf } from "./channel_uses.ts";
import { isPlaceholder } from "./placeholders.ts";
import { type ConfigPath, type Problem, PROBLEMS_MAX, quoteValue } from "./problem.ts";
import { type FormattedValue, isObject, type SchemaReader, valueAt } from "./schema_view.ts";
import type { JsonObject, JsonValue } from "./syntax.ts";

/** Parses a cron expression; `null`: it never matches a time. Throws if it is none. */
export type CreateCronTimes = (expression: string, timeZone: string) => CronTimes | null;

/** @throws {Error} If the expression was not validated. */
export function timesOf(expression: string, timeZone: string, createCronTimes: CreateCronTimes): CronTimes {
  const times = createCronTimes(expression, timeZone);
  if (times !== null) return times;
  throw new Error(`Cannot resolve the expression ${quoteValue(expression)}: it was not validated`);
}

/** Returns errors about schedules that are neither an interval nor a cron expression, or both. */
export function findScheduleProblems(written: JsonObject): readonly Problem[] {
  return ownersOf(written).flatMap((owner) => {
    const path = [...owner, "schedule"];
    const schedule = valueAt(written, path);
    return isObject(schedule) ? problemsOf(schedule, path) : [];
  });
}

/** Returns errors about settings that have both of their names in one place. */
export function findDoubleNames(written: JsonObject, reader: SchemaReader): readonly Problem[] {
  const names = [...reader.at(written, ["defaults"])?.otherNames ?? []];
  return ownersOf(written).flatMap((owner) => {
    const settings = valueAt(written, owner);
    return names.filter((both) => both.every((name) => isObject(settings) && name in settings))
      .map(([plain, other]) => ({
        path: [...owner, other],
        at: "name" as const,
        message: `"${other}" and "${plain}" are the same setting`,
        hint: `keep "${plain}"`,
      }));
  });
}

/** Returns whether a file has maintenance windows, or channels with `hours`. */
export function hasWindows(written: JsonObject): boolean {
  const has = (owner: JsonValue | undefined, key: string): boolean => isObject(owner) && key in owner;
  return [[], ...ownersOf(written)].some((owner) => has(valueAt(written, owner), "maintenance_windows")) ||
    channelEntries(written).some(({ path, entry }) => path[0] !== "summary" && has(entry, "hours"));
}

function problemsOf(schedule: JsonObject, path: ConfigPath): readonly Problem[] {
  const hasInterval = "regular_interval" in schedule;
  if (!("cron" in schedule)) {
    if (!hasInterval) return [{ path, message: 'missing key "regular_interval" or "cron"' }];
    const message = 'has no effect with "regular_interval", expected it with "cron" only';
    return "time_zone" in schedule ? [{ path: [...path, "time_zone"], at: "name", message }] : [];
  }
  if (!hasInterval) return [];
  return [{
    path: [...path, "cron"],
    at: "name",
    message: 'cannot be used with "regular_interval"',
    hint: 'add "attentive_interval" to "cron" for more runs while a check fails',
  }];
}

/** Expressions that are none, and those that name no time that ever comes. */
export function findCronProblems(
  expressions: readonly FormattedValue[],
  createCronTimes: CreateCronTimes,
): readonly Problem[] {
  const problems: Problem[] = [];
  for (const { path, value, written } of expressions) {
    // Values of the machine are never skipped: they would be used.
    if (problems.length >= PROBLEMS_MAX && !isPlaceholder(written)) continue;
    const problem = cronProblem(String(value), createCronTimes, value === written);
    if (problem !== null) {
      const message = `${quoteValue(written)} ${problem.message}`;
      problems.push({ path, ...problem, message, isLack: isPlaceholder(written) });
    }
  }
  return problems;
}

const FORMS = "expected minute, hour, day of the month, month and day of the week, " +
  'such as "*/5 8-18 * * mon-fri", or a name such as @daily';

function cronProblem(
  text: string,
  createCronTimes: CreateCronTimes,
  mayQuote: boolean,
): Pick<Problem, "message" | "hint"> | null {
  if (text.trim().split(/\s+/).length === 6) {
    return { message: `has 6 fields, ${FORMS}`, hint: "remove the first field: there are no seconds" };
  }
  try {
    return createCronTimes(text, "UTC") === null ? { message: "never matches a time" } : null;
  } catch {
    // The exact error would quote a secret.
    const fault = mayQuote ? findNumberOutOfRange(text) : null;
    return { message: `is not a cron expression${fault === null ? "" : ` (${fault})`}, ${FORMS}` };
  }
}

/** The fields of an expression, with the accepted numbers (crontab(5)). */
const FIELDS: readonly (readonly [name: string, from: number, to: number])[] = [
  ["minute", 0, 59],
  ["hour", 0, 23],
  ["day of the month", 1, 31],
  ["month", 1, 12],
  ["day of the week", 0, 7],
];

/** The library's own words count from 0 where people count from 1. */
function findNumberOutOfRange(text: string): string | null {
  const words = text.trim().split(/\s+/);
  if (words.length !== FIELDS.length) return null;
  for (const [index, [name, from, to]] of FIELDS.entries()) {
    // A slash precedes a step, and # a week.
    for (const [, digits = ""] of (words[index] ?? "").matchAll(/(?<![\d/#])(\d+)/g)) {
      if (Number(digits) < from || Number(digits) > to) {
        return `its ${name} is ${digits}, expected ${from} to ${to}`;
      }
    }
  }
  return null;
}
