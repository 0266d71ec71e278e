import assert from "node:assert/strict";
import { explainChannels, explainCheck } from "../../src/config/explain_check.ts";
import { load } from "../../testing/config_system.ts";

/** The explained settings of the check `web`, one line each. */
async function explain(check: object, defaults: object = {}): Promise<readonly string[]> {
  const { written, reader } = await load({ defaults, checks: { web: check } }, { withoutSecrets: true });
  return explainCheck(written, "web", reader).map(({ path, value, origin }) =>
    `${path} = ${value} (${origin})`
  );
}

Deno.test("explainCheck() shows that a group with at_least does not use require", async () => {
  const checks = {
    web: { kind: "group", parameters: { checks: ["other"], at_least: 1 } },
    other: { kind: "test", parameters: {} },
  };
  const { written, reader } = await load({ defaults: {}, checks });
  const required = explainCheck(written, "web", reader).find(({ path }) => path === "parameters.require");
  assert.equal(required?.value, "not used, at_least counts");
});

Deno.test("explainCheck() distinguishes values of the check from values of the defaults", async () => {
  const defaults = {
    active: false,
    threshold: 5,
    recovery_threshold: 1,
    reminders: "6 hours",
    schedule: { regular_interval: 90, attentive_interval: "30s" },
    notifications: [{ kind: "file_touch", parameters: { path: "/run/x" } }],
  };
  const check = {
    title: "Web",
    threshold: 2,
    schedule: { regular_interval: 120 },
    timeout: 5,
    kind: "script",
    parameters: { path: "/x", environment: { A: "b" }, arguments: ["-v", "1"] },
  };
  assert.deepEqual(await explain(check, defaults), [
    'title = "Web" (check)',
    "tags = [] (built-in)",
    "active = false (defaults)",
    "threshold = 2 (check)",
    "recovery_threshold = 1 (defaults)",
    'reminders = "6 hours" (6 h) (defaults)',
    "schedule.regular_interval = 120 (2 min) (check)",
    "schedule.attentive_interval = as regular_interval (built-in)",
    "maintenance_windows = [] (built-in)",
    'notifications[0].kind = "file_touch" (defaults)',
    'notifications[0].parameters.path = "/run/x" (defaults)',
    "depends_on = [] (built-in)",
    "timeout = 5 (5 s) (check)",
    'kind = "script" (check)',
    'parameters.path = "/x" (check)',
    'parameters.arguments = ["-v","1"] (check)',
    'parameters.environment = {"A":"b"} (check)',
    'parameters.condition_on_timeout = "unknown" (built-in)',
  ]);
  const { schedule: _schedule, ...rest } = check;
  const lines = await explain(rest, defaults);
  assert.ok(lines.includes("schedule.regular_interval = 90 (1 min 30 s) (defaults)"));
  assert.ok(lines.includes('schedule.attentive_interval = "30s" (30 s) (defaults)'));
});

Deno.test("explainCheck() shows annoy by the name of its setting", async () => {
  const lines = await explain({ kind: "test", parameters: {}, annoy: true }, { reminders: "1 hour" });
  assert.deepEqual(lines.filter((line) => /annoy|reminders/.test(line)), ["reminders = true (check)"]);
});

Deno.test("explainCheck() hides passwords and shows placeholders, unresolved", async (t) => {
  const mail = (password: string) => ({
    kind: "email",
    parameters: {
      access: { host: "${env:HOST}", port: 25, username: "me", password },
      sender: "a@b",
      receivers: ["${file:/receiver}"],
    },
  });
  const rows: Readonly<Record<string, string>> = {
    "swordfish": "(hidden)",
    "${env:PASSWORD}": '"${env:PASSWORD}"',
    "sword${env:FISH}": "(hidden)",
    "$${env:PASSWORD}": "(hidden)",
  };
  for (const [password, shown] of Object.entries(rows)) {
    await t.step(JSON.stringify(password), async () => {
      const lines = await explain({ kind: "test", notifications: [mail(password)], parameters: {} });
      const place = "notifications[0].parameters";
      assert.ok(lines.includes(`${place}.access.password = ${shown} (check)`));
      assert.ok(lines.includes(`${place}.access.host = "\${env:HOST}" (check)`));
      assert.ok(lines.includes(`${place}.receivers = ["\${file:/receiver}"] (check)`));
    });
  }
  const targets: Readonly<Record<string, string>> = {
    "https://me:swordfish@h/?a=b&token=swordfish&c=d": "https://(hidden)@h/?a=b&token=(hidden)&c=d",
    "https://me:${env:PASSWORD}@h/?key=${env:KEY}": "https://me:${env:PASSWORD}@h/?key=${env:KEY}",
    "https://h/token?author=me": "https://h/token?author=me",
  };
  for (const [target, shown] of Object.entries(targets)) {
    await t.step(`and credentials in ${target}`, async () => {
      const lines = await explain({
        kind: "http_request",
        parameters: { request: { target }, response: {} },
      });
      assert.ok(lines.includes(`parameters.request.target = "${shown}" (check)`), lines.join("\n"));
    });
  }
  await t.step("and a webhook's headers as far as they are credentials", async () => {
    const headers = { Priority: "high", Authorization: "Bearer x", "X-Token": "${env:TOKEN}" };
    const hook = { kind: "webhook", parameters: { target: "http://h/", headers } };
    const lines = await explain({ kind: "test", notifications: [hook], parameters: {} });
    assert.ok(
      lines.includes(
        'notifications[0].parameters.headers = {"Priority":"high","Authorization":(hidden),' +
          '"X-Token":"${env:TOKEN}"} (check)',
      ),
      lines.join("\n"),
    );
  });
});

Deno.test("explainChannels() shows each setting of named channels, and hides passwords", async () => {
  const access = { host: "h", port: 25, username: "me", password: "swordfish" };
  const { written, reader } = await load({
    defaults: {},
    channels: {
      admins: { kind: "email", parameters: { access, sender: "a@b.c", receivers: ["a@b.c"] } },
      "a b": { kind: "console", parameters: {} },
    },
  }, { withoutSecrets: true });
  assert.deepEqual(explainChannels(written, reader).map(({ path, value }) => `${path} = ${value}`), [
    'channels.admins.kind = "email"',
    'channels.admins.parameters.access.host = "h"',
    "channels.admins.parameters.access.port = 25",
    'channels.admins.parameters.access.username = "me"',
    "channels.admins.parameters.access.password = (hidden)",
    'channels.admins.parameters.sender = "a@b.c"',
    'channels.admins.parameters.receivers = ["a@b.c"]',
    "channels.admins.parameters.tags = []",
    'channels["a b"].kind = "console"',
    'channels["a b"].parameters = {}',
  ]);
});

Deno.test("explainCheck() shows cron schedules, and the config's windows alongside those of the check", async () => {
  const config = {
    defaults: { schedule: { cron: "@daily" } },
    maintenance_windows: [{ from: "01:00", to: "02:00", time_zone: "UTC" }],
    checks: {
      web: {
        kind: "test",
        maintenance_windows: [{ days: ["sun"], from: "22:00", to: "06:00" }],
        parameters: {},
      },
    },
  };
  const { written, reader } = await load(JSON.stringify(config));
  const lines = explainCheck(written, "web", reader).map(({ path, value, origin }) =>
    `${path} = ${value} (${origin})`
  );
  assert.deepEqual(lines.filter((line) => /^(schedule|maintenance_windows)/.test(line)), [
    "schedule.attentive_interval = none, cron alone (built-in)",
    'schedule.cron = "@daily" (defaults)',
    "schedule.time_zone = that of the machine (built-in)",
    'maintenance_windows[0].from = "01:00" (config)',
    'maintenance_windows[0].to = "02:00" (config)',
    'maintenance_windows[0].time_zone = "UTC" (config)',
    'maintenance_windows[0].days = ["sun"] (check)',
    'maintenance_windows[0].from = "22:00" (check)',
    'maintenance_windows[0].to = "06:00" (check)',
    "maintenance_windows[0].time_zone = that of the machine (built-in)",
  ]);
});
