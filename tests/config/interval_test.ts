import assert from "node:assert/strict";
import fc from "../support/property.ts";
import { INTERVAL_FORMS, INTERVAL_MS_MAX, parseInterval } from "../../src/config/quantities.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;

Deno.test("parseInterval() parses whole seconds and texts", () => {
  const rows: readonly (readonly [value: number | string, ms: number])[] = [
    [90, 90 * SECOND],
    [INTERVAL_MS_MAX / SECOND, INTERVAL_MS_MAX],
    ["min", MINUTE],
    ["2 h 5 min", 125 * MINUTE],
    ["1MIN", MINUTE],
    ["90s", 90 * SECOND],
    ["1 hour 30 minutes", 90 * MINUTE],
    ["1 minute 1 minute", 2 * MINUTE],
    ["  5   minutes  ", 5 * MINUTE],
    ["36500 days", INTERVAL_MS_MAX],
  ];
  for (const [value, ms] of rows) assert.deepEqual(parseInterval(value), { ms }, String(value));
});

Deno.test("parseInterval() returns the error and the accepted forms", () => {
  const rows: readonly (readonly [value: number | string, problem: string])[] = [
    ["", "is empty"],
    ["0 minutes", "has a count of zero"],
    ["-5 minutes", "has a sign"],
    ["1.5 hours", "has a fraction"],
    ["90", "has a count without a unit"],
    ["5 sec", 'has the unknown unit "sec" (did you mean "seconds"?)'],
    ["2 fortnights", 'has the unknown unit "fortnights"'],
    ["5 ms", 'has the unit "ms", expected seconds or longer units'],
    ["1 hour and 30 minutes", 'has the unknown unit "and"'],
    ["٥ minutes", "is not a length of time"],
    [0.5, "is not a whole number"],
    [0, "is shorter than one second"],
  ];
  for (const [value, problem] of rows) {
    assert.deepEqual(
      parseInterval(value),
      { problem: `${problem}, expected ${INTERVAL_FORMS}` },
      String(value),
    );
  }
  const tooLong = { problem: "is longer than a hundred years, expected at most that" };
  for (const value of [INTERVAL_MS_MAX / SECOND + 1, "36501 days", `${"9".repeat(400)} s`, 1e300]) {
    assert.deepEqual(parseInterval(value), tooLong, String(value).slice(0, 20));
  }
});

Deno.test("parseInterval() adds up any terms in any order and spelling", () => {
  const units = [
    { name: "second", ms: SECOND },
    { name: "minute", ms: MINUTE },
    { name: "hour", ms: HOUR },
    { name: "day", ms: DAY },
    { name: "week", ms: WEEK },
  ];
  const term = fc.record({
    count: fc.option(fc.integer({ min: 1, max: 90 })),
    unit: fc.constantFrom(...units),
    spelling: fc.constantFrom("letter", "singular", "plural"),
    isUpper: fc.boolean(),
    space: fc.constantFrom("", " ", "  "),
  });
  fc.assert(fc.property(fc.array(term, { minLength: 1, maxLength: 6 }), (terms) => {
    const texts = terms.map(({ count, unit: { name }, spelling, isUpper, space }) => {
      const word = spelling === "letter" ? name.charAt(0) : `${name}${spelling === "plural" ? "s" : ""}`;
      return `${count ?? ""}${space}${isUpper ? word.toUpperCase() : word}`;
    });
    const ms = terms.reduce((sum, { count, unit }) => sum + (count ?? 1) * unit.ms, 0);
    assert.deepEqual(parseInterval(texts.join(" ")), { ms });
  }));
});
