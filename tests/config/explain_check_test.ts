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
