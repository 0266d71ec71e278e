/** Values that are text with units; intervals have interval_test.ts. */
import assert from "node:assert/strict";
import fc from "../support/property.ts";
import {
  DURATION_FORMS,
  LIMIT_FORMS,
  type LimitFormat,
  parseDuration,
  parseLimit,
  parseMessageLimit,
  parseObjective,
  parseRetention,
  parseSize,
} from "../../src/config/quantities.ts";
import { describeSize, exactSize, roundedSize } from "../../src/domain/describe_size.ts";
import { DAY_MS, HOUR_MS } from "../../src/shared/time_units.ts";

type Rows<T> = readonly (readonly [value: number | string, result: T])[];

Deno.test("parseDuration() parses seconds, and sums of terms", () => {
  const rows: Rows<number | string> = [
    [0.5, 500],
    [3600, HOUR_MS],
    [" 250 milliseconds ", 250],
    ["1 min 2.5 Seconds", 62_500],
    ["ms", 1],
    ["1.005 s", 1005],
    [0, "is not above 0"],
    ["0 ms", "has a count of zero"],
    [3601, "is longer than an hour"],
    ["", "is empty"],
    ["500", "has a count without a unit"],
    ["-1 s", "has a sign"],
    ["1,5 s", "has a malformed fraction"],
    ["1 sec", 'has the unknown unit "sec" (did you mean "seconds"?)'],
  ];
  for (const [value, result] of rows) {
    const problem = `${result}, expected ${DURATION_FORMS}`;
    assert.deepEqual(parseDuration(value), typeof result === "number" ? { ms: result } : { problem });
  }
});

Deno.test("parseSize() parses bytes and units of thousands and of 1024", () => {
  const rows: Rows<number> = [[0, 0], [4096, 4096], ["10 MB", 1e7], ["1.5GiB", 1_610_612_736], ["7 b", 7]];
  for (const [value, bytes] of rows) assert.deepEqual(parseSize(value), { bytes }, `${value}`);
  const expected = 'expected whole bytes, or text such as "10 MB" or "1.5 GiB"';
  for (const value of ["", "10", "MB", "10 megabytes", "-1 MB", "1 ib", "1e3 B", "10 MB 5 kB"]) {
    assert.deepEqual(parseSize(value), { problem: `is not a size, ${expected}` }, value);
  }
  assert.deepEqual(parseSize("999999 PB"), { problem: `is too large, ${expected}` });
  assert.deepEqual(parseSize(1.5), { problem: `is not a whole number, ${expected}` });
});

Deno.test("describeSize() rounds down, roundedSize() to the digits", () => {
  const texts = [0, 999, 1000, 1999, 123_999, 3.4e18].map(describeSize);
  assert.deepEqual(texts, ["0 B", "999 B", "1 kB", "1.9 kB", "123 kB", "3400 PB"]);
  assert.deepEqual([123.4e9, 999, 0].map((bytes) => roundedSize(bytes, 3)), ["123 GB", "999 B", "0 B"]);
  assert.equal(roundedSize(9.9999e9, 5), "9.9999 GB");
  assert.deepEqual([3, 4].map((digits) => roundedSize(470.329, digits)), ["470 B", "470.3 B"], "of a rate");
});

Deno.test("exactSize() prints sizes that parseSize() parses", () => {
  assert.deepEqual([10e9, 10 * 2 ** 30, 1_234_567].map(exactSize), ["10 GB", "10 GiB", "1234.567 kB"]);
  fc.assert(fc.property(fc.nat({ max: 1e14 }), (bytes) => {
    assert.deepEqual(parseSize(exactSize(bytes)), { bytes });
  }));
});

Deno.test("parseObjective() parses a percentage and its time, a month by default", () => {
  const rows: Rows<readonly [percent: number, days: number] | RegExp> = [
    ["99.9%", [99.9, 30]],
    ["100 % a day", [100, 1]],
    ["99.95 % per 7 days", [99.95, 7]],
    ["99 % in 12 weeks", [99, 84]],
    [" 95 %  Over Month ", [95, 30]],
    ["99.9", /^is not an objective, expected a percentage such as "99.9 %"/],
    ["0 %", /^is not above 0 % and at most 100 %, /],
    ["100.1 %", /^is not above 0 % and at most 100 %, /],
    ["99 % a year", /^has no time such as a month/],
    ["99 % an hour", /^has a time outside of 1 to 90 days/],
    ["99 % in 91 days", /^has a time outside of 1 to 90 days/],
  ];
  for (const [text, result] of rows) {
    const parsed = parseObjective(`${text}`);
    if (result instanceof RegExp) assert.match("problem" in parsed ? parsed.problem : "", result);
    else assert.deepEqual(parsed, { percent: result[0], windowMs: result[1] * DAY_MS });
  }
});

Deno.test("parseRetention() parses an interval of 1 to 400 days", () => {
  const rows: Rows<number | RegExp> = [
    ["90 days", 90],
    ["day", 1],
    [86_400, 1],
    ["400 days", 400],
    ["23 hours 59 min", /^is shorter than a day, expected 1 to 400 days, such as "90 days"$/],
    [86_399, /^is shorter than a day/],
    ["400 days 1 s", /^is longer than 400 days, expected/],
    ["ever", /^is not an interval, expected 1 to 400 days/],
  ];
  for (const [value, result] of rows) {
    const parsed = parseRetention(value);
    if (result instanceof RegExp) assert.match("problem" in parsed ? parsed.problem : "", result);
    else assert.deepEqual(parsed, { ms: result * DAY_MS });
  }
});

Deno.test("parseLimit() parses numbers, sizes and percentages", () => {
  const rows: readonly (readonly [LimitFormat, number | string, unknown])[] = [
    ["size_or_percentage", " 1.5 gib ", 1.5 * 2 ** 30],
    ["size_or_percentage", "0.5 %", { percent: 0.5 }],
    ["size_or_percentage", "100%", { percent: 100 }],
    ["count_or_percentage", 10_000, 10_000],
    ["size_or_percentage", "101%", "is more than 100%"],
    ["size_or_percentage", "10G", "is not a limit"],
    ["size_or_percentage", `${"9".repeat(100_000)}%`, "is not a limit"],
    ["count_or_percentage", "10 GB", "is not a limit"],
  ];
  for (const [format, value, limit] of rows) {
    const problem = `${limit}, expected ${LIMIT_FORMS[format]}`;
    assert.deepEqual(parseLimit(value, format), typeof limit === "string" ? { problem } : { limit });
  }
});

Deno.test("parseMessageLimit() accepts 1 to 1000 per minute, hour or day", () => {
  assert.deepEqual(parseMessageLimit("1 per minute"), { count: 1, windowMs: 60_000 });
  assert.deepEqual(parseMessageLimit(" 20  Per  Hour "), { count: 20, windowMs: HOUR_MS });
  assert.deepEqual(parseMessageLimit("1000 a day"), { count: 1000, windowMs: DAY_MS });
  for (const text of ["20", "0 per hour", "1001 per hour", "20 per fortnight", "-1 per day", "1.5 per day"]) {
    assert.ok("problem" in parseMessageLimit(text), text);
  }
});
