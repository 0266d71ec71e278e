import assert from "node:assert/strict";
import { isInWindow, openWindow } from "../../src/alerting/maintenance_windows.ts";
import { load, problemsOf, warningsOf } from "../../testing/config_system.ts";
import { testRows } from "../support/rows.ts";

const CHECK = { kind: "test", parameters: {} };

function withWindow(window: unknown): unknown {
  return { defaults: {}, maintenance_windows: [window], checks: { web: CHECK } };
}

const FORMS = 'a window has "from" and "to", "from" and "until", or "cron" and "duration"';
const DAY = "is not a day of the month, expected 1 to 31, from the end -1 to -31, " +
  'or a range such as "1:7" or "-7:-1"';
const TIME =
  'is not a time, expected one such as "2026-12-24T18:00", "2026-12-24" or "2026-12-24T18:00+01:00"';
const TIMES = { from: "22:00", to: "23:00" };

Deno.test("loadConfig() rejects windows that have no form or wrong values", async (t) => {
  const rows: Readonly<Record<string, readonly [window: unknown, problems: readonly string[]]>> = {
    "nothing": [{}, [`: missing keys "from" and "to" (${FORMS})`]],
    "a cron schedule alone": [{ cron: "0 3 * * *" }, [': missing key "duration"']],
    "a date with the time of an end": [
      { from: "2026-12-24", to: "22:00" },
      [
        '.from: "2026-12-24" is not a time of day, expected one from "00:00" to "23:59" ' +
        '(end a window that comes once with "until")',
      ],
    ],
    "a day that does not exist": [
      { from: "2026-02-30", until: "2026-03-01" },
      [`.from: "2026-02-30" ${TIME}`],
    ],
    "an end before the begin": [
      { from: "2026-12-24T18:00", until: "2026-12-24T17:00Z", time_zone: "UTC" },
      ['.until: is "2026-12-24T17:00Z", expected a time after "from"'],
    ],
    "two forms": [{ ...TIMES, until: "2026-12-24" }, [`.to: cannot be used with "until" (${FORMS})`]],
    "days that no month has": [
      { ...TIMES, days_of_month: [0, 32, -32, "a", "1:", "1:7"] },
      [
        `.days_of_month[0]: 0 ${DAY}`,
        `.days_of_month[1]: 32 ${DAY}`,
        `.days_of_month[2]: -32 ${DAY}`,
        `.days_of_month[3]: "a" ${DAY}`,
        `.days_of_month[4]: "1:" ${DAY}`,
      ],
    ],
    "days that are objects, of a window that lasts all day": [
      { from: "00:00", to: "24:00", days_of_month: [{}] },
      [".days_of_month[0]: is an object, expected a whole number or a string"],
    ],
    "ranges in the wrong order": [
      { ...TIMES, days_of_month: ["7:1", "-1:-7", "20:-1", "-1:1"] },
      [
        '.days_of_month[0]: "7:1" ends before it begins (did you mean "1:7"?)',
        '.days_of_month[1]: "-1:-7" ends before it begins (did you mean "-7:-1"?)',
      ],
    ],
  };
  await testRows(t, rows, async ([window, expected]) => {
    const places = expected.map((problem) => `maintenance_windows[0]${problem}`);
    assert.deepEqual(await problemsOf(withWindow(window)), places);
  });
});

Deno.test("loadConfig() validates windows of checks, of defaults and in hours of channels", async () => {
  const windows = [{ from: "22:00" }];
  const console = { kind: "console", parameters: {}, hours: windows };
  assert.deepEqual(
    await problemsOf({
      defaults: { maintenance_windows: windows, notifications: [console] },
      channels: { pager: console },
      checks: {
        web: {
          ...CHECK,
          maintenance_windows: windows,
          notifications: [{ channel: "pager", hours: windows }],
        },
      },
    }),
    [
      "defaults.maintenance_windows[0]",
      "defaults.notifications[0].hours[0]",
      "channels.pager.hours[0]",
      "checks.web.maintenance_windows[0]",
      "checks.web.notifications[0].hours[0]",
    ].map((place) => `${place}: missing key "to"`),
  );
});

Deno.test("loadConfig() warns of windows that never open or always are", async (t) => {
  const rows: Readonly<Record<string, readonly [window: unknown, warning: string | null]>> = {
    "one to come": [{ from: "2999-12-24", until: "2999-12-27T08:00+01:00" }, null],
    "February 31": [{ ...TIMES, days_of_month: [31], months: ["feb"] }, ": never opens: no such day comes"],
    "February 29": [{ ...TIMES, days_of_month: [29], months: ["feb"] }, null],
    "the 8th to the end of the month before": [
      { ...TIMES, days_of_month: ["-1:8"] },
      ": never opens: no such day comes",
    ],
    "each day, listed": [
      { from: "00:00", to: "24:00", days_of_month: ["1:15", "16:-1"] },
      ": covers all the time",
    ],
    "each day but the last": [{ from: "00:00", to: "24:00", days_of_month: ["1:-2"] }, null],
    "cron schedules without a gap": [{ cron: "*/5 * * * *", duration: "5 minutes" }, ": covers all the time"],
    "cron schedules with a gap at the weekend": [{ cron: "* * * * mon-fri", duration: "1 minute" }, null],
  };
  await testRows(t, rows, async ([window, warning]) => {
    const expected = warning === null ? [] : [`maintenance_windows[0]${warning}`];
    assert.deepEqual(await warningsOf(withWindow(window)), expected);
  });
});

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
