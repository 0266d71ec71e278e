import assert from "node:assert/strict";
import { load, problemsOf } from "../../testing/config_system.ts";
import { testRows } from "../support/rows.ts";

const check = (settings: object): object => ({ kind: "test", parameters: {}, ...settings });

Deno.test("loadConfig() rejects a threshold that no window of results can reach", async () => {
  const config = {
    defaults: { threshold: 4, within: 3 },
    checks: { web: check({}), mail: check({ threshold: 3 }), ping: check({ within: 9 }) },
  };
  assert.deepEqual(await problemsOf(config), [
    'checks.web: "within" is 3, expected at least the "threshold" of 4',
  ]);
});

Deno.test("loadConfig() parses several intervals between reminders", async () => {
  const { checks } = await load({ defaults: { reminders: ["1 hour", 60] }, checks: { web: check({}) } });
  assert.deepEqual(checks[0]?.reminders, [3_600_000, 60_000]);
});

Deno.test("loadConfig() accepts annoy as the name of reminders in the specification", async (t) => {
  const rows: Readonly<Record<string, readonly [defaults: object, own: object, resolved: unknown]>> = {
    "in defaults": [{ annoy: "1 hour" }, {}, 3_600_000],
    "in a check": [{}, { annoy: true }, true],
    "in a check, over reminders of defaults": [{ reminders: "1 hour" }, { annoy: true }, true],
    "in defaults, under reminders of a check": [{ annoy: true }, { reminders: [60] }, [60_000]],
  };
  await testRows(t, rows, async ([defaults, own, resolved]) => {
    const { checks } = await load({ defaults, checks: { web: check(own) } });
    assert.deepEqual(checks[0]?.reminders, resolved);
    assert.ok(!("annoy" in (checks[0] ?? {})));
  });
});

Deno.test("loadConfig() rejects both names of reminders in one place", async () => {
  const both = { annoy: true, reminders: true };
  assert.deepEqual(await problemsOf({ defaults: both, checks: { web: check(both) } }), [
    'defaults.annoy: "annoy" and "reminders" are the same setting (keep "reminders")',
    'checks.web.annoy: "annoy" and "reminders" are the same setting (keep "reminders")',
  ]);
});

Deno.test("loadConfig() uses no reminders if this machine lacks the value of annoy", async () => {
  const { checks } = await load({
    defaults: { reminders: true },
    checks: { web: check({ annoy: "${env:MISSING}" }) },
  });
  assert.equal(checks[0]?.reminders, false);
  assert.match(checks[0].lack ?? "", /MISSING/);
});

Deno.test("loadConfig() locates an invalid interval between reminders", async () => {
  const [problem] = await problemsOf({ defaults: { reminders: ["1 hour", "soon"] }, checks: {} });
  assert.match(String(problem), /^defaults\.reminders\[1\]: /);
});

Deno.test("loadConfig() warns of checks whose problems are notified very late, and names an interval that fixes it", async (t) => {
  const channel = { notifications: [{ kind: "console", parameters: {} }] };
  const rows: Readonly<Record<string, readonly [settings: object, warning: string | null]>> = {
    "daily, with the default threshold": [
      { schedule: { cron: "@daily" } },
      '2 d after its first failure, since "threshold" is 3; add "attentive_interval": "1 h"',
    ],
    "on weekdays": [{ threshold: 2, schedule: { cron: "0 8 * * 1-5" } }, "1 d after its first failure"],
    "in the hours of work": [{ schedule: { cron: "*/5 8-18 * * mon-fri" } }, null],
    "many hours": [{ threshold: 9, schedule: { regular_interval: "1 hour" } }, "8 h after its first failure"],
    "daily, with an attentive interval": [
      { schedule: { cron: "@daily", attentive_interval: "10 minutes" } },
      null,
    ],
    "daily, with a threshold of 1": [{ threshold: 1, schedule: { cron: "@daily" } }, null],
    "each hour": [{ schedule: { regular_interval: "1 hour" } }, null],
  };
  await testRows(t, rows, async ([settings, expected]) => {
    const { warnings } = await load({ defaults: {}, checks: { web: check({ ...channel, ...settings }) } });
    const messages = warnings.map(({ message }) => message);
    assert.equal(messages.length, expected === null ? 0 : 1, messages.join());
    if (expected !== null) assert.ok(messages.join().includes(expected), messages.join());
  });
  await t.step("its proposal ends the warning", async () => {
    const schedule = { regular_interval: "7 days", attentive_interval: "1 hour" };
    const { warnings } = await load({ defaults: {}, checks: { web: check({ ...channel, schedule }) } });
    assert.deepEqual(warnings, []);
  });
});
