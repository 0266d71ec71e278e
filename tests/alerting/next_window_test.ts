import assert from "node:assert/strict";
import { nextWindow } from "../../src/alerting/maintenance_windows.ts";
import { createCronReader } from "../../src/config/cron_times.ts";
import type { CalendarWindow, MaintenanceWindow } from "../../src/domain/maintenance_window.ts";

const NOW = Date.parse("2026-11-23T12:00Z");

function calendar(fields: Partial<CalendarWindow>): CalendarWindow {
  return { fromMinute: 120, toMinute: 240, timeZone: "UTC", ...fields };
}

const february29 = { daysOfMonth: [{ from: 29, to: 29 }], months: ["feb"] } as const;
const times = createCronReader()("0 3 * * sat", "Europe/Zurich") ?? assert.fail();

/** The expected times: `null` at the beginning: open now; at the end: without end. */
const ROWS: Readonly<
  Record<
    string,
    readonly [window: MaintenanceWindow, expected: readonly [string | null, string | null] | null]
  >
> = {
  "tomorrow": [calendar({}), ["2026-11-24T02:00Z", "2026-11-24T04:00Z"]],
  "open now": [calendar({ fromMinute: 600, toMinute: 780 }), [null, "2026-11-23T13:00Z"]],
  "the first Sunday of the next month": [
    calendar({ days: ["sun"], daysOfMonth: [{ from: 1, to: 7 }] }),
    ["2026-12-06T02:00Z", "2026-12-06T04:00Z"],
  ],
  "the last day of February": [
    calendar({ daysOfMonth: [{ from: -1, to: -1 }], months: ["feb"] }),
    ["2027-02-28T02:00Z", "2027-02-28T04:00Z"],
  ],
  "the next February 29": [calendar(february29), ["2028-02-29T02:00Z", "2028-02-29T04:00Z"]],
  "the next February 29 that is a Saturday": [
    calendar({ ...february29, days: ["sat"] }),
    ["2048-02-29T02:00Z", "2048-02-29T04:00Z"],
  ],
  "a day that never comes": [calendar({ daysOfMonth: [{ from: 31, to: 31 }], months: ["feb"] }), null],
  "all the time": [calendar({ fromMinute: 0, toMinute: 1440 }), [null, null]],
  "a skipped hour on the only day of the year, and the next year": [
    calendar({
      daysOfMonth: [{ from: 28, to: 28 }],
      months: ["mar"],
      toMinute: 180,
      timeZone: "Europe/Zurich",
    }),
    // On 2027-03-28, 02:00 to 03:00 is skipped.
    ["2028-03-28T00:00Z", "2028-03-28T01:00Z"],
  ],
  "a cron schedule": [{ times, durationMs: 7_200_000 }, ["2026-11-28T02:00Z", "2026-11-28T04:00Z"]],
  "to come": [{ fromMs: NOW + 60_000, untilMs: NOW + 120_000 }, ["2026-11-23T12:01Z", "2026-11-23T12:02Z"]],
  "once, over": [{ fromMs: NOW - 60_000, untilMs: NOW }, null],
};

for (const [name, [window, expected]] of Object.entries(ROWS)) {
  Deno.test(`nextWindow() returns the present or next time of a window: ${name}`, () => {
    const msOf = (text: string | null): number | null => text === null ? null : Date.parse(text);
    const [from = null, until = null] = expected ?? [];
    assert.deepEqual(
      nextWindow(window, NOW),
      expected === null ? null : { fromMs: msOf(from), untilMs: msOf(until) },
    );
  });
}
