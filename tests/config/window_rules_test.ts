import assert from "node:assert/strict";
import { isInWindow, openWindow } from "../../src/engine/maintenance_windows.ts";
import { load, loadError } from "../../testing/config_system.ts";

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
