import assert from "node:assert/strict";
import { createCronReader } from "../../src/config/cron_times.ts";
import { type CalendarWindow, type MaintenanceWindow, WEEKDAYS } from "../../src/domain/schedule.ts";
import { nextWindow, openTimes, openWindow } from "../../src/engine/maintenance_windows.ts";
import { type Rows, testRows } from "../support/rows.ts";

const MINUTE = 60_000;
const SATURDAYS = createCronReader()("0 3 * * sat", "Europe/Zurich") ?? assert.fail();

/** Reads a window such as `22:00-06:00 sat 1..7 feb Europe/Zurich`, of which the times alone are required. */
function windowOf(text: string): CalendarWindow {
  const [times = "", ...words] = text.split(" ");
  const [fromMinute = NaN, toMinute = NaN] = times.split("-").map((time) =>
    Number(time.slice(0, 2)) * 60 + Number(time.slice(3))
  );
  const others: Record<string, unknown> = {};
  for (const word of words) {
    const [from = NaN, to = from] = word.split("..").map(Number);
    if (word.includes("/")) others["timeZone"] = word;
    else if (!Number.isNaN(from)) others["daysOfMonth"] = [{ from, to }];
    else others[(WEEKDAYS as readonly string[]).includes(word) ? "days" : "months"] = [word];
  }
  return { fromMinute, toMinute, timeZone: "UTC", ...others };
}

Deno.test("openWindow() continues from one window to the next, and returns no end of endless ones", () => {
  const night = [windowOf("22:00-24:00"), { ...windowOf("00:00-06:00"), reason: "restart" }];
  const atMs = Date.parse("2026-01-10T23:00Z");
  const untilMs = Date.parse("2026-01-11T06:00Z");
  assert.deepStrictEqual(openWindow(night, atMs), { reason: "restart", untilMs });
  assert.deepStrictEqual(openWindow([windowOf("00:00-24:00")], atMs), { reason: "", untilMs: null });
  assert.strictEqual(openWindow([], atMs), null);
  const cron = [{ times: SATURDAYS, durationMs: 90 * MINUTE }];
  const opensMs = Date.parse("2026-01-10T02:00Z");
  assert.deepEqual([openWindow(cron, opensMs - 1), openWindow(cron, opensMs)?.untilMs], [
    null,
    opensMs + 90 * MINUTE,
  ]);
  assert.equal(openWindow(cron, opensMs + 90 * MINUTE), null);
});

Deno.test("nextWindow() returns the present or next time of a window", async (t) => {
  const nowMs = Date.parse("2026-11-23T12:00Z");
  // Begin and end; `-`: open now, or without end.
  const rows: Rows<[string | MaintenanceWindow, expected: string]> = {
    "tomorrow": ["02:00-04:00", "2026-11-24T02:00 2026-11-24T04:00"],
    "open now": ["10:00-13:00", "- 2026-11-23T13:00"],
    "the first Sunday of a month": ["02:00-04:00 sun 1..7", "2026-12-06T02:00 2026-12-06T04:00"],
    "the last day of February": ["02:00-04:00 -1 feb", "2027-02-28T02:00 2027-02-28T04:00"],
    "February 29": ["02:00-04:00 29 feb", "2028-02-29T02:00 2028-02-29T04:00"],
    "a Saturday, February 29": ["02:00-04:00 29 feb sat", "2048-02-29T02:00 2048-02-29T04:00"],
    "a day that never comes": ["02:00-04:00 31 feb", ""],
    "all the time": ["00:00-24:00", "- -"],
    // On 2027-03-28, 02:00 to 03:00 is skipped.
    "a skipped hour once a year": ["02:00-03:00 28 mar Europe/Zurich", "2028-03-28T00:00 2028-03-28T01:00"],
    "a cron schedule": [{ times: SATURDAYS, durationMs: 120 * MINUTE }, "2026-11-28T02:00 2026-11-28T04:00"],
    "to come": [{ fromMs: nowMs + MINUTE, untilMs: nowMs + 2 * MINUTE }, "2026-11-23T12:01 2026-11-23T12:02"],
    "once, over": [{ fromMs: nowMs - MINUTE, untilMs: nowMs }, ""],
  };
  await testRows(t, rows, ([written, expected]) => {
    const next = nextWindow(typeof written === "string" ? windowOf(written) : written, nowMs);
    const times = next === null ? [] : [next.fromMs, next.untilMs];
    const shown = times.map((ms) => ms === null ? "-" : new Date(ms).toISOString().slice(0, 16));
    assert.equal(shown.join(" "), expected);
  });
});

Deno.test("openTimes() returns all times of a period in which a window is open", async (t) => {
  const [sinceMs, untilMs] = [Date.parse("2026-11-23T12:00Z"), Date.parse("2026-11-26T00:00Z")];
  const rows: Rows<[string | MaintenanceWindow, string]> = {
    "each night, the last one cut": [
      "22:00-06:00",
      "23T22:00 24T06:00, 24T22:00 25T06:00, 25T22:00 26T00:00",
    ],
    "open at the begin": ["11:00-13:00 mon", "23T12:00 23T13:00"],
    "none": ["22:00-06:00 sat", ""],
    "always": ["00:00-00:00", "23T12:00 26T00:00"],
    "once": [{ fromMs: sinceMs + MINUTE, untilMs: sinceMs + 2 * MINUTE }, "23T12:01 23T12:02"],
    "once, over": [{ fromMs: sinceMs - MINUTE, untilMs: sinceMs }, ""],
  };
  await testRows(t, rows, ([written, expected]) => {
    const window = typeof written === "string" ? windowOf(written) : written;
    const shown = openTimes(window, { sinceMs, untilMs }).map(({ fromMs, toMs }) =>
      [fromMs, toMs].map((ms) => new Date(ms).toISOString().slice(8, 16)).join(" ")
    );
    assert.equal(shown.join(", "), expected);
  });
});
