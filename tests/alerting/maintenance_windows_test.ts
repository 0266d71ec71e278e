import assert from "node:assert/strict";
import { createCronReader } from "../../src/config/cron_times.ts";
import type { CalendarWindow, MaintenanceWindow } from "../../src/domain/maintenance_window.ts";
import { isInWindow, openWindow } from "../../src/alerting/maintenance_windows.ts";

const MINUTE = 60_000;

function window(
  from: string,
  to: string,
  options: Partial<Pick<CalendarWindow, "days" | "timeZone">> = {},
): CalendarWindow {
  const minuteOf = (text: string): number => Number(text.slice(0, 2)) * 60 + Number(text.slice(3));
  return { fromMinute: minuteOf(from), toMinute: minuteOf(to), timeZone: "Europe/Zurich", ...options };
}

/**
 * In Zurich the clock goes from 02:00 to 03:00 on 29 March 2026, and from 03:00 to 02:00 on 25 October; both are Sundays. The
 * times of the last element are all stretches of a period in which a window is open, by the universal clock.
 */
const WEEKEND = ["2026-01-09T00:00Z", "2026-01-13T00:00Z"] as const;
const SPRING = ["2026-03-28T12:00Z", "2026-03-29T12:00Z"] as const;
const AUTUMN = ["2026-10-24T12:00Z", "2026-10-25T12:00Z"] as const;
const LORD_HOWE = { timeZone: "Australia/Lord_Howe" };
const SATURDAYS = createCronReader()("0 3 * * sat", "Europe/Zurich") ?? assert.fail();

const ROWS: Readonly<
  Record<string, readonly [readonly MaintenanceWindow[], period: readonly [string, string], open: string]>
> = {
  "the weekday of its begin": [[window("22:00", "06:00", { days: ["sat"] })], WEEKEND, "10T21:00 11T05:00"],
  "equal times are a day": [[window("12:00", "12:00", { days: ["sun"] })], WEEKEND, "11T11:00 12T11:00"],
  "a cron schedule": [[{ times: SATURDAYS, durationMs: 90 * MINUTE }], WEEKEND, "10T02:00 10T03:30"],
  "the skipped hour is in no window": [[window("02:00", "03:00")], SPRING, ""],
  "a window that begins in the skipped hour begins after it, one that ends in it ends before": [
    [window("02:30", "04:00"), window("01:00", "02:30")],
    SPRING,
    "29T00:00 29T02:00",
  ],
  "the repeated hour is in its window twice": [[window("02:00", "03:00")], AUTUMN, "25T00:00 25T02:00"],
  "part of the repeated hour": [[window("02:15", "02:45")], AUTUMN, "25T00:15 25T00:45, 25T01:15 25T01:45"],
  "a window that ends with the repeated hour is split by the DST change": [
    [window("02:30", "03:00")],
    AUTUMN,
    "25T00:30 25T01:00, 25T01:30 25T02:00",
  ],
  "a night is an hour shorter in spring": [[window("22:00", "06:00")], SPRING, "28T21:00 29T04:00"],
  "a night is an hour longer in autumn": [[window("22:00", "06:00")], AUTUMN, "24T20:00 25T05:00"],
  "a skipped half hour": [
    [window("02:10", "02:40", LORD_HOWE)],
    ["2026-10-03T12:00Z", "2026-10-04T06:00Z"],
    "03T15:30 03T15:40",
  ],
};

for (const [name, [windows, [from, to], open]] of Object.entries(ROWS)) {
  Deno.test(`isInWindow() and openWindow(): ${name}`, () => {
    const found: string[] = [];
    let beganMs: number | null = null;
    const show = (ms: number): string => new Date(ms).toISOString().slice(8, 16);
    for (let ms = Date.parse(from); ms <= Date.parse(to); ms += MINUTE) {
      const isOpen = isInWindow(windows, ms);
      assert.strictEqual(openWindow(windows, ms) !== null, isOpen);
      if (isOpen) beganMs ??= ms;
      else if (beganMs !== null) {
        found.push(`${show(beganMs)} ${show(ms)}`);
        for (let insideMs = beganMs; insideMs < ms; insideMs += MINUTE) {
          assert.strictEqual(openWindow(windows, insideMs)?.untilMs, ms, new Date(insideMs).toISOString());
        }
        beganMs = null;
      }
    }
    assert.strictEqual(found.join(", "), open);
  });
}

Deno.test("openWindow() continues from one window to the next, and returns no end of endless ones", () => {
  const night = [window("22:00", "24:00"), { ...window("00:00", "06:00"), reason: "restart" }];
  const atMs = Date.parse("2026-01-10T22:00Z");
  assert.deepStrictEqual(openWindow(night, atMs), {
    reason: "restart",
    untilMs: Date.parse("2026-01-11T05:00Z"),
  });
  const always = [window("00:00", "24:00")];
  assert.deepStrictEqual(openWindow(always, atMs), { reason: "", untilMs: null });
  assert.strictEqual(openWindow([], atMs), null);
});
