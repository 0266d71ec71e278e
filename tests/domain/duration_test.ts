import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import fc from "../support/property.ts";
import {
  DURATION_MS_MAX,
  INTERVAL_MS_MAX,
  parseDuration,
  parseInterval,
} from "../../src/config/quantities.ts";
import { describeDuration, exactDuration } from "../../src/domain/duration.ts";
import { testRows } from "../support/rows.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

Deno.test("describeDuration() names the two most significant units", async (t) => {
  const rows: Readonly<Record<string, readonly [durationMs: number, words: string]>> = {
    "nothing": [0, "0 s"],
    "nothing, from below": [-0, "0 s"],
    "less than a second": [999, "0 s"],
    "less than a second ago": [-999, "0 s"],
    "a second": [SECOND, "1 s"],
    "seconds with a fraction": [45 * SECOND + 900, "45 s"],
    "the last second of a minute": [MINUTE - 1, "59 s"],
    "a minute": [MINUTE, "1 min"],
    "minutes and seconds": [3 * MINUTE + 20 * SECOND, "3 min 20 s"],
    "an hour": [HOUR, "1 h"],
    "hours and minutes": [2 * HOUR + 5 * MINUTE, "2 h 5 min"],
    "hours, minutes and seconds": [2 * HOUR + 5 * MINUTE + 59 * SECOND, "2 h 5 min"],
    "hours and seconds": [HOUR + 30 * SECOND, "1 h 30 s"],
    "the last millisecond of a day": [DAY - 1, "23 h 59 min"],
    "a day": [DAY, "1 d"],
    "days": [3 * DAY, "3 d"],
    "days and hours": [DAY + HOUR + MINUTE, "1 d 1 h"],
    "days and minutes": [DAY + 7 * MINUTE + SECOND, "1 d 7 min"],
    "weeks": [14 * DAY, "14 d"],
    "years": [3650 * DAY + 12 * HOUR, "3650 d 12 h"],
    "a time before": [-(2 * HOUR + 5 * MINUTE), "-2 h 5 min"],
  };
  await testRows(t, rows, ([durationMs, words]) => strictEqual(describeDuration(durationMs), words));
});

Deno.test("exactDuration() names the whole length", async (t) => {
  const rows: Readonly<Record<string, readonly [durationMs: number, text: string]>> = {
    "a tenth of a millisecond": [0.1, "0.1 ms"],
    "milliseconds": [500, "500 ms"],
    "a second": [SECOND, "1 s"],
    "a fraction of a second": [1250, "1.25 s"],
    "a minute and a fraction": [MINUTE + 2500, "1 min 2.5 s"],
    "all units": [DAY + 2 * HOUR + 3 * MINUTE + 4 * SECOND, "1 d 2 h 3 min 4 s"],
    "weeks": [14 * DAY, "14 d"],
  };
  await testRows(t, rows, ([durationMs, text]) => strictEqual(exactDuration(durationMs), text));
});

Deno.test("exactDuration() and describeDuration() print durations that the config accepts", () => {
  fc.assert(fc.property(fc.integer({ min: 1, max: INTERVAL_MS_MAX / SECOND }), (seconds) => {
    const ms = seconds * SECOND;
    deepStrictEqual(parseInterval(exactDuration(ms)), { ms });
    ok("ms" in parseInterval(describeDuration(ms)));
  }));
  fc.assert(fc.property(fc.integer({ min: 1, max: DURATION_MS_MAX * 1000 }), (microseconds) => {
    const ms = microseconds / 1000;
    deepStrictEqual(parseDuration(exactDuration(ms)), { ms });
  }));
});
