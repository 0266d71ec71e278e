/** Values that are text with units. */
import assert from "node:assert/strict";
import fc from "../support/property.ts";
import {
  DURATION_FORMS,
  INTERVAL_FORMS,
  INTERVAL_MS_MAX,
  LIMIT_FORMS,
  type LimitFormat,
  parseDuration,
  parseInterval,
  parseLimit,
  parseMessageLimit,
  parseObjective,
  parseRetention,
  parseSize,
} from "../../src/config/quantities.ts";
import { describeSize, exactSize, roundedSize } from "../../src/domain/describe_size.ts";
import { DAY_MS, HOUR_MS } from "../../src/shared/time_units.ts";
import { isInWindow, openWindow } from "../../src/engine/maintenance_windows.ts";
import { load, loadError } from "../../testing/config_system.ts";

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

const CHECK = { kind: "test", parameters: {} };

Deno.test("loadConfig() resolves windows of every form in their time zone", async () => {
  const zone = { time_zone: "America/New_York" };
  const { checks: [check] } = await load(JSON.stringify({
    defaults: {},
    maintenance_windows: [
      { from: "2026-12-24T18:00", until: "2026-12-25", ...zone, reason: "holidays" },
      { from: "2026-12-24T18:00Z", until: "2026-12-25T00:00+01:00", ...zone },
      { days: ["sun"], days_of_month: ["1:7", -1], months: ["jan"], from: "22:00", to: "06:00", ...zone },
      { cron: "0 3 * * *", duration: "90 minutes", ...zone },
    ],
    checks: { web: CHECK },
  }));
  const [once, absolute, monthly, cron] = check?.maintenanceWindows ?? [];
  assert.deepEqual(once, {
    fromMs: Date.UTC(2026, 11, 24, 23),
    untilMs: Date.UTC(2026, 11, 25, 5),
    reason: "holidays",
  });
  assert.deepEqual(absolute, { fromMs: Date.UTC(2026, 11, 24, 18), untilMs: Date.UTC(2026, 11, 24, 23) });
  assert.deepEqual(monthly, {
    days: ["sun"],
    daysOfMonth: [{ from: 1, to: 7 }, { from: -1, to: -1 }],
    months: ["jan"],
    fromMinute: 1320,
    toMinute: 360,
    timeZone: "America/New_York",
  });
  assert.ok(cron !== undefined && "times" in cron);
  assert.equal(cron.durationMs, 5_400_000);
  assert.equal(cron.times.after(Date.UTC(2026, 0, 10)), Date.UTC(2026, 0, 10, 8));
});

Deno.test("loadConfig() keeps a window with an unresolved placeholder closed", async () => {
  const windows = [
    { from: "${env:FROM}", until: "2999-01-01" },
    { from: "${env:FROM}", to: "06:00" },
    { from: "00:00", to: "${env:FROM}" },
    { from: "00:00", to: "24:00", time_zone: "${env:FROM}" },
    { from: "00:00", to: "24:00", days_of_month: ["${env:FROM}"] },
    { cron: "${env:FROM}", duration: "24h" },
    { cron: "* * * * *", duration: "${env:FROM}" },
    { cron: "* * * * *", duration: "24h", time_zone: "${env:FROM}" },
  ];
  const { checks: [check] } = await load(
    JSON.stringify({ defaults: {}, maintenance_windows: windows, checks: { web: CHECK } }),
    { withoutSecrets: true },
  );
  assert.equal(check?.maintenanceWindows.length, windows.length);
  assert.ok(!isInWindow(check.maintenanceWindows, Date.UTC(2026, 0, 10, 12)));
  assert.equal(openWindow(check.maintenanceWindows, Date.UTC(2026, 0, 10, 12)), null);
});

Deno.test("loadConfig() locates a window whose begin is not a text", async () => {
  const config = { defaults: {}, maintenance_windows: [{ from: {} }], checks: { web: CHECK } };
  const { problems } = await loadError(JSON.stringify(config));
  assert.equal(problems[0]?.path, "maintenance_windows[0]");
});
