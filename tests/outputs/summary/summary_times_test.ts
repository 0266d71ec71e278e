import assert from "node:assert/strict";
import fc from "../../support/property.ts";
import { createCronReader } from "../../../src/config/cron_times.ts";
import type { CronTimes } from "../../../src/domain/schedule.ts";
import type { SummarySettings } from "../../../src/domain/channel.ts";
import { lastTime, periodOf, periodUntil } from "../../../src/outputs/summary/gather_summary.ts";
import { DAY_MS, HOUR_MS } from "../../../src/shared/time_units.ts";

const createCronTimes = createCronReader();

function timesOf(expression: string, timeZone = "Europe/Zurich"): CronTimes {
  const times = createCronTimes(expression, timeZone);
  assert.ok(times !== null);
  return times;
}

function settingsOf(expression: string, fields: Partial<SummarySettings> = {}): SummarySettings {
  return { times: timesOf(expression), notifications: [], ...fields };
}

const iso = (ms: number | null): string => ms === null ? "none" : new Date(ms).toISOString();

Deno.test("lastTime() returns the time that the next times lead to, for any expression, zone and moment", () => {
  const expressions = fc.constantFrom(
    "0 8 * * 1",
    "*/7 * * * *",
    "30 2 * * *",
    "0 0 1 * *",
    "0 9 * * mon-fri",
  );
  const zones = fc.constantFrom("UTC", "Europe/Zurich", "America/New_York", "Australia/Lord_Howe");
  const moments = fc.integer({ min: Date.UTC(2024, 0), max: Date.UTC(2027, 0) });
  fc.assert(fc.property(expressions, zones, moments, (expression, zone, nowMs) => {
    const times = timesOf(expression, zone);
    const last = lastTime(times, nowMs);
    assert.ok(last !== null && last <= nowMs);
    assert.ok(times.after(last) > nowMs, "none is between");
    assert.equal(times.after(last - 1), last, "it is one of the times");
    assert.equal(lastTime(times, last), last, "the time itself counts");
  }));
  assert.equal(iso(lastTime(timesOf("0 0 29 2 *"), Date.UTC(2027, 5))), "2024-02-28T23:00:00.000Z");
});

Deno.test("periodOf() begins at the scheduled time before, so that none of a DST change is left out or counted twice", () => {
  for (const fields of [{}, { periodMs: 7 * DAY_MS }]) assertWholeWeeks(settingsOf("0 8 * * mon", fields));
});

function assertWholeWeeks(settings: SummarySettings): void {
  // Summer time began on 29 March 2026, and ended on 25 October.
  const spring = periodOf(settings, Date.UTC(2026, 2, 30, 6));
  assert.equal(iso(spring.sinceMs), "2026-03-23T07:00:00.000Z");
  assert.equal(spring.untilMs - spring.sinceMs, 7 * DAY_MS - 3_600_000);
  const autumn = periodOf(settings, Date.UTC(2026, 9, 26, 7));
  assert.equal(autumn.untilMs - autumn.sinceMs, 7 * DAY_MS + 3_600_000);
  let scheduledMs = Date.UTC(2026, 2, 2, 7);
  for (let week = 0; week < 60; week++) {
    const nextMs = settings.times.after(scheduledMs);
    assert.equal(periodOf(settings, nextMs).sinceMs, scheduledMs);
    scheduledMs = nextMs;
  }
}

Deno.test("periodOf() covers a calendar month, and a configured period", () => {
  const march = periodOf(settingsOf("0 0 1 * *"), Date.UTC(2026, 2, 31, 22));
  assert.deepEqual([iso(march.sinceMs), iso(march.untilMs)], [
    "2026-02-28T23:00:00.000Z",
    "2026-03-31T22:00:00.000Z",
  ]);
  const two = periodOf(settingsOf("0 8 * * mon", { periodMs: 2 * DAY_MS }), NOON_MS);
  assert.deepEqual(two, { sinceMs: NOON_MS - 2 * DAY_MS, untilMs: NOON_MS });
  const hours = periodOf(settingsOf("0 * * * *", { periodMs: 2 * HOUR_MS }), NOON_MS);
  assert.deepEqual(hours, { sinceMs: NOON_MS - 2 * HOUR_MS, untilMs: NOON_MS });
});

const NOON_MS = Date.UTC(2026, 0, 27, 12);

Deno.test("periodUntil() is as long as the last scheduled one", () => {
  assert.deepEqual(periodUntil(settingsOf("0 8 * * mon"), NOON_MS), {
    sinceMs: NOON_MS - 7 * DAY_MS,
    untilMs: NOON_MS,
  });
});
