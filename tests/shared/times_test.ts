import assert from "node:assert/strict";
import fc from "../support/property.ts";
import { createScheduleTime, parseMonth, parseTime, timeText } from "../../src/shared/local_time.ts";
import { type Rows, testRows } from "../support/rows.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { durationText } from "../../src/shared/time_units.ts";

const NOW = Date.parse("2026-10-24T15:10:20.500Z");
const ZURICH = "Europe/Zurich";

Deno.test("parseTime() parses times in the machine's zone", async (t) => {
  const rows: Rows<[text: string, timeZone: string, time: string]> = {
    "a time of day that is still to come": ["18:30", ZURICH, "2026-10-24T16:30Z"],
    "a time of day that is over today": ["7:05", ZURICH, "2026-10-25T06:05Z"],
    "a time of day in a repeated hour": ["02:30", ZURICH, "2026-10-25T00:30Z"],
    "a time of day with seconds": ["17:10:21", ZURICH, "2026-10-24T15:10:21Z"],
    "a time of day with seconds that is over today": ["7:05:01", ZURICH, "2026-10-25T06:05:01Z"],
    "a time as outputs print it": ["2026-11-26 16:47:44 UTC", ZURICH, "2026-11-26T16:47:44Z"],
    "a time as JSON has it": ["2026-11-26T16:47:44.250Z", ZURICH, "2026-11-26T16:47:44.250Z"],
    "a date, from its first moment": ["2026-12-01", ZURICH, "2026-11-30T23:00Z"],
    "a date whose midnight is skipped": ["2027-03-28", "Asia/Beirut", "2027-03-27T22:00Z"],
    "a date and time": ["2026-12-24T08:00", ZURICH, "2026-12-24T07:00Z"],
    "a skipped hour": ["2027-03-28T02:30", ZURICH, "2027-03-28T01:30Z"],
    "another distance from UTC": ["2026-12-24 08:00:00-05:30", ZURICH, "2026-12-24T13:30Z"],
  };
  await testRows(t, rows, ([text, timeZone, time]) => {
    const ms = parseTime(text, { timeZone, nowMs: NOW });
    assert.equal(typeof ms === "number" ? new Date(ms).toISOString() : ms, new Date(time).toISOString());
  });
});

Deno.test("parseTime() parses begins and ends of past spans, also on days of 23 and 25 hours", async (t) => {
  const rows: Rows<[now: string, text: string, options: Parameters<typeof parseTime>[2], time: string]> = {
    "a time of day, the last one": ["2026-10-24T15:10Z", "18:30", { isPast: true }, "2026-10-23T16:30Z"],
    "after a long day": ["2026-10-25T09:00Z", "10:30", { isPast: true }, "2026-10-24T08:30Z"],
    "after a short day": ["2026-03-29T08:00Z", "09:30", { isPast: true }, "2026-03-29T07:30Z"],
    "a date as an end": ["2026-10-25T09:00Z", "2026-10-25", { isEnd: true }, "2026-10-25T23:00Z"],
    "a time of day as an end": ["2026-10-24T20:00Z", "07:00", { isEnd: true }, "2026-10-25T06:00Z"],
  };
  await testRows(t, rows, ([now, text, options, time]) => {
    const ms = parseTime(text, { timeZone: ZURICH, nowMs: Date.parse(now) }, options);
    assert.equal(ms, Date.parse(time));
  });
});

Deno.test("parseMonth() returns both ends of a month in a zone", () => {
  const [sinceMs, untilMs] = ["2026-09-30T22:00Z", "2026-10-31T23:00Z"].map(Date.parse);
  assert.deepEqual(parseMonth("2026-10", ZURICH), { sinceMs, untilMs });
  for (const text of ["2026-13", "2026-1", "10-2026", "2026-10-01"]) {
    assert.equal(parseMonth(text, ZURICH), null);
  }
});

Deno.test("parseTime() distinguishes a time that does not exist from other text", () => {
  const context = { timeZone: ZURICH, nowMs: NOW };
  const missing = [
    "2027-02-30",
    "2027-02-29T08:00",
    "2027-13-01",
    "24:00",
    "12:60",
    "12:00:61",
    "2027-01-01T25:00Z",
  ];
  for (const text of missing) assert.equal(parseTime(text, context), "no such time", text);
  for (const text of ["later", "", "18", "2027", "1.12.2026", "2026-12-01T08", "2026-12-01T08:00 Z"]) {
    assert.equal(parseTime(text, context), null, text);
  }
});

Deno.test("timeText() prints times that parseTime() parses", () => {
  assert.equal(timeText(NOW, ZURICH), "2026-10-24 17:10:20 +02:00");
  assert.equal(timeText(NOW), "2026-10-24 15:10:20 UTC");
  const zones = fc.constantFrom(ZURICH, "UTC", "America/St_Johns", "Pacific/Apia");
  fc.assert(fc.property(fc.integer({ min: 0, max: 4e9 }), zones, (seconds, timeZone) => {
    const ms = seconds * 1000;
    assert.equal(parseTime(timeText(ms, timeZone), { timeZone, nowMs: 0 }), ms);
  }));
});

const STARTED = Date.UTC(2026, 0, 31, 10);

Deno.test("createScheduleTime() follows the monotonic clock, whatever the wall clock does", async () => {
  const clock = createFakeClock(STARTED);
  const time = createScheduleTime(clock);
  await clock.advance(1500);
  clock.stepWall(3_600_000);
  assert.strictEqual(time.nowMs(), STARTED + 1500);
});

Deno.test("catchUp() returns the step of the wall clock once", async (t) => {
  const rows = {
    "not at all": { stepMs: 0, expected: 0 },
    "a little ahead": { stepMs: 100, expected: 0 },
    "a little back": { stepMs: -100, expected: 0 },
    "ahead": { stepMs: 101, expected: 101 },
    "back": { stepMs: -7_200_000, expected: -7_200_000 },
  };
  await testRows(t, rows, ({ stepMs, expected }) => {
    const clock = createFakeClock(STARTED);
    const time = createScheduleTime(clock);
    clock.stepWall(stepMs);
    assert.strictEqual(time.catchUp(), expected);
    assert.strictEqual(time.nowMs(), STARTED + expected);
    assert.strictEqual(time.catchUp(), 0);
  });
});

Deno.test("catchUp() adds up steps that are too small by themselves", () => {
  const clock = createFakeClock(STARTED);
  const time = createScheduleTime(clock);
  clock.stepWall(60);
  assert.strictEqual(time.catchUp(), 0);
  clock.stepWall(60);
  assert.strictEqual(time.catchUp(), 120);
});

Deno.test("durationText() picks the unit that a reader would", async (t) => {
  const cases: readonly (readonly [durationMs: number, expected: string])[] = [
    [0, "0.0 ms"],
    [0.44, "0.4 ms"],
    [0.949, "0.9 ms"],
    [0.95, "1 ms"],
    [999.4, "999 ms"],
    [999.5, "1.0 s"],
    [59_949, "59.9 s"],
    [59_950, "1 min 0 s"],
    [119_600, "2 min 0 s"],
    [7_325_000, "122 min 5 s"],
  ];
  for (const [durationMs, expected] of cases) {
    await t.step(`${durationMs} ms`, () => assert.equal(durationText(durationMs), expected));
  }
});
