import assert from "node:assert/strict";
import { parseObjective } from "../../src/config/parse_objective.ts";
import { DAY_MS } from "../../src/shared/time_units.ts";

Deno.test("parseObjective() parses a percentage and its time, a month by default", () => {
  const rows: readonly (readonly [string, number, number])[] = [
    ["99.9 % a month", 99.9, 30],
    ["99.9%", 99.9, 30],
    ["100 % a day", 100, 1],
    ["99.95 % per 7 days", 99.95, 7],
    ["99 % in 12 weeks", 99, 84],
    [" 95 %  Over Month ", 95, 30],
  ];
  for (const [text, percent, days] of rows) {
    assert.deepEqual(parseObjective(text), { percent, windowMs: days * DAY_MS }, text);
  }
});

Deno.test("parseObjective() rejects anything else with the accepted forms", () => {
  const rows: readonly (readonly [string, RegExp])[] = [
    ["99.9", /^is not an objective, expected a percentage such as "99.9 %"/],
    ["0 %", /^is not above 0 % and at most 100 %, /],
    ["100.1 %", /^is not above 0 % and at most 100 %, /],
    ["99 % a fortnight", /^has no time such as a month/],
    ["99 % a year", /^has no time such as a month/],
    ["99 % an hour", /^has a time outside of 1 to 90 days/],
    ["99 % in 91 days", /^has a time outside of 1 to 90 days/],
  ];
  for (const [text, problem] of rows) {
    const parsed = parseObjective(text);
    assert.match("problem" in parsed ? parsed.problem : "", problem, text);
  }
});
