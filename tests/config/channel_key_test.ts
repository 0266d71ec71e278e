import assert from "node:assert/strict";
import { load, type LoadTestOptions } from "../../testing/config_system.ts";

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

const mailWith = (parameters: object) => ({ ...MAIL, parameters: { ...MAIL.parameters, ...parameters } });
const passwordOf = (password: string) => mailWith({ access: { ...MAIL.parameters.access, password } });
const reversed = (object: object) => Object.fromEntries(Object.entries(object).toReversed());

Deno.test("channelKey() is that of the destination, however a channel is written", async () => {
  const key = await keyOf(MAIL);
  assert.equal(await keyOf(passwordOf("mackerel")), key, "another password");
  assert.equal(await keyOf(passwordOf("${env:WORD}"), { environment: { WORD: "cod" } }), key);
  const ordered = { ...MAIL.parameters, access: reversed(MAIL.parameters.access) };
  assert.equal(await keyOf(reversed({ ...MAIL, parameters: reversed(ordered) })), key, "another order");
  const others = [
    mailWith({ sender: "other@example.org" }),
    { kind: "console", parameters: {} },
    HOOK,
    { ...HOOK, parameters: { ...HOOK.parameters, headers: { Authorization: "Bearer mackerel" } } },
  ];
  assert.equal(new Set([key, ...await Promise.all(others.map((channel) => keyOf(channel)))]).size, 5);
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
