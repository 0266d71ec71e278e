import assert from "node:assert/strict";
import { load, type LoadTestOptions } from "../../testing/config_system.ts";
import { testRows } from "../support/rows.ts";

const MAIL = {
  kind: "email",
  parameters: {
    access: { host: "mail.example.org", port: 587, username: "monitor", password: "swordfish" },
    sender: "monitor@example.org",
    receivers: ["admin@example.org"],
    tags: ["production"],
  },
};
const HOOK = {
  kind: "webhook",
  parameters: { target: "https://hooks.example.org/x", headers: { Authorization: "Bearer swordfish" } },
};

/** The key of a channel that a check names. */
async function keyOf(channel: unknown, options: LoadTestOptions = {}): Promise<string> {
  const [check] = (await load({
    defaults: {},
    checks: { web: { kind: "test", notifications: [channel], parameters: {} } },
  }, options)).checks;
  return check?.notifications[0]?.key ?? "none";
}

function mailWith(parameters: object): unknown {
  return { kind: "email", parameters: { ...MAIL.parameters, ...parameters } };
}

function accessWith(access: object): unknown {
  return mailWith({ access: { ...MAIL.parameters.access, ...access } });
}

Deno.test("channelKey() is the same for every check", async (t) => {
  const { access, ...rest } = MAIL.parameters;
  const rows: Readonly<Record<string, unknown>> = {
    "another password": accessWith({ password: "mackerel" }),
    "a password from the environment": accessWith({ password: "${env:WORD}" }),
    "members in another order": {
      parameters: {
        ...Object.fromEntries(Object.entries(rest).toReversed()),
        access: Object.fromEntries(Object.entries(access).toReversed()),
      },
      kind: "email",
    },
  };
  const key = await keyOf(MAIL);
  await testRows(
    t,
    rows,
    async (channel) => assert.equal(await keyOf(channel, { environment: { WORD: "cod" } }), key),
  );
});

Deno.test("channelKey() differs for channels with different destinations", async (t) => {
  const rows: Readonly<Record<string, unknown>> = {
    "another sender": mailWith({ sender: "other@example.org" }),
    "another kind": { kind: "console", parameters: {} },
    "a webhook for others behind the same address": {
      ...HOOK,
      parameters: { ...HOOK.parameters, headers: { Authorization: "Bearer mackerel" } },
    },
  };
  const keys = new Map([[await keyOf(MAIL), "the channel itself"]]);
  await testRows(t, rows, async (channel, name) => {
    const key = await keyOf(channel);
    assert.equal(keys.get(key), undefined);
    keys.set(key, name);
  });
});

Deno.test("channelKey() does not depend on a secret's value, nor on whether it was read", async () => {
  const channel = mailWith({ receivers: ["${env:RECEIVER}"] });
  const hook = { ...HOOK, parameters: { ...HOOK.parameters, headers: { Authorization: "${env:RECEIVER}" } } };
  assert.equal(
    await keyOf(hook, { environment: { RECEIVER: "a" } }),
    await keyOf(hook, { environment: { RECEIVER: "b" } }),
  );
  const key = await keyOf(channel, { environment: { RECEIVER: "a@example.org" } });
  assert.equal(await keyOf(channel, { environment: { RECEIVER: "b@example.org" } }), key);
  assert.equal(await keyOf(channel, { withoutSecrets: true }), key);
  assert.notEqual(await keyOf(mailWith({ receivers: ["a@example.org"] })), key);
});
