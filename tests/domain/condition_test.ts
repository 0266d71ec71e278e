import assert, { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { type Condition, CONDITIONS, highestSeverity, severity } from "../../src/domain/condition.ts";
import { testRows } from "../support/rows.ts";
import { checkResult, invertResult } from "../../src/domain/check.ts";
import fc from "../support/property.ts";
import {
  DURATION_MS_MAX,
  INTERVAL_MS_MAX,
  parseDuration,
  parseInterval,
} from "../../src/config/quantities.ts";
import { describeDuration, exactDuration } from "../../src/domain/duration.ts";

Deno.test("severity() orders ok, unknown, warning, critical", () => {
  const shuffled: readonly Condition[] = ["critical", "ok", "warning", "unknown"];
  deepStrictEqual(shuffled.toSorted((a, b) => severity(a) - severity(b)), [
    "ok",
    "unknown",
    "warning",
    "critical",
  ]);
  deepStrictEqual(CONDITIONS.map(severity), [0, 1, 2, 3]);
});

Deno.test("highestSeverity() returns the condition with the highest severity", async (t) => {
  const rows: Readonly<Record<string, readonly [conditions: Iterable<Condition>, expected: Condition]>> = {
    "none": [[], "ok"],
    "one ok": [["ok"], "ok"],
    "one unknown": [["unknown"], "unknown"],
    "unknown among ok": [["ok", "unknown", "ok"], "unknown"],
    "warning before unknown": [["warning", "unknown"], "warning"],
    "unknown before warning": [["unknown", "warning"], "warning"],
    "critical first": [["critical", "warning", "unknown", "ok"], "critical"],
    "critical last": [["ok", "unknown", "warning", "critical"], "critical"],
    "the same twice": [["warning", "warning"], "warning"],
    "a set": [new Set<Condition>(["ok", "warning"]), "warning"],
  };
  await testRows(t, rows, ([conditions, expected]) => strictEqual(highestSeverity(conditions), expected));
});

Deno.test("highestSeverity() agrees with severity() for every pair", () => {
  for (const a of CONDITIONS) {
    for (const b of CONDITIONS) {
      strictEqual(severity(highestSeverity([a, b])), Math.max(severity(a), severity(b)), `${a} and ${b}`);
    }
  }
});

Deno.test("invertResult() expects a failure of the target, and nothing from a name that does not resolve", async (t) => {
  const rows = {
    "ok": ["ok", "connected", "critical: connected, expected a failure"],
    "ok without an output": ["ok", "", "critical: expected a failure"],
    "a failure": ["critical", "connection refused", "ok: failed as expected: connection refused"],
    "a warning": ["warning", "status is 500", "ok: failed as expected: status is 500"],
    "unknown": ["unknown", "no permission", "unknown: no permission"],
    "a mistyped host": [
      "critical",
      "resolving nosuch.invalid failed: name does not resolve",
      "unknown: resolving nosuch.invalid failed: name does not resolve",
    ],
    "a mistyped host of ping": [
      "critical",
      "/usr/bin/ping: nosuch.invalid: Name or service not known",
      "unknown: /usr/bin/ping: nosuch.invalid: Name or service not known",
    ],
    "a mistyped host of BusyBox": [
      "critical",
      "ping: bad address 'nosuch.invalid'",
      "unknown: ping: bad address 'nosuch.invalid'",
    ],
  } as const;
  await testRows(t, rows, ([condition, output, expected]) => {
    const inverted = invertResult(checkResult(condition, output));
    assert.equal(`${inverted.condition}: ${inverted.output}`, expected);
  });
});

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
