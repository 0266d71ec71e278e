import assert from "node:assert/strict";
import { load, type LoadTestOptions } from "../../testing/config_system.ts";
import { EXAMPLES, requestsOf } from "../../scripts/message_page.ts";
import { channelEntryOf } from "../../src/channels/registry.ts";
import type { Channel } from "../../src/domain/channel.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { makeNotification } from "../support/channel_delivery.ts";
import { testTable } from "../support/rows.ts";

const CONSOLE = { kind: "console", parameters: {} };
const HOOK = { kind: "webhook", parameters: { target: "https://hooks.example.org/x" } };
const check = (...notifications: unknown[]) => ({ kind: "test", notifications, parameters: {} });

Deno.test("loadConfig() puts named channels in the place of their names", async () => {
  const channels = { chat: HOOK, "": CONSOLE, "__proto__": CONSOLE, "a b": CONSOLE, "\ud800": CONSOLE };
  const checks = {
    none: check(),
    inherited: { kind: "test", parameters: {} },
    mixed: check(CONSOLE, "chat", HOOK),
    odd: check("", "__proto__", "a b", "\ud800"),
  };
  const text = JSON.stringify({ defaults: { notifications: ["chat"] }, channels, checks });
  const loaded = await load(text.replace('"":', '"__proto__":{"kind":"console","parameters":{}},"":'));
  assert.deepEqual(
    loaded.checks.map(({ notifications }) => notifications.map(({ name, kind }) => name ?? kind)),
    [[], ["chat"], ["console", "chat", "webhook"], ["", "__proto__", "a b", "\ud800"]],
  );
});

Deno.test("loadConfig() resolves a named channel's parameters and the key of its name", async () => {
  const channelOf = async (name: string, channel: object) => {
    const { checks } = await load({
      defaults: {},
      channels: { [name]: channel },
      checks: { web: check(name) },
    });
    return JSON.parse(JSON.stringify(checks[0]?.notifications[0]));
  };
  assert.deepEqual(await channelOf("chat", HOOK), {
    name: "chat",
    key: '"chat"',
    kind: "webhook",
    parameters: { ...HOOK.parameters, method: "POST", headers: {}, timeoutMs: 10_000 },
  });
  const elsewhere = { ...HOOK, parameters: { target: "https://example.org/" } };
  assert.equal((await channelOf("chat", elsewhere)).key, '"chat"');
  assert.equal((await channelOf("pager", HOOK)).key, '"pager"');
});

Deno.test("loadConfig() finds channels in all files, each relative to its own file", async () => {
  const touch = { kind: "file_touch", parameters: { path: "notified" } };
  const config = {
    include: ["conf.d/a.jsonc"],
    defaults: { notifications: ["theirs"] },
    channels: { ours: touch },
    checks: { main: { kind: "test", parameters: {} } },
  };
  const included = { channels: { theirs: touch }, checks: { a: check("ours", "theirs") } };
  const { checks, channels } = await load(config, {
    files: { "/etc/monitor/conf.d/a.jsonc": JSON.stringify(included) },
  });
  assert.deepEqual(
    checks.map(({ name, notifications }) => [name, notifications.map(({ parameters }) => parameters)]),
    [
      ["main", [{ path: "/etc/monitor/conf.d/notified" }]],
      ["a", [{ path: "/etc/monitor/notified" }, { path: "/etc/monitor/conf.d/notified" }]],
    ],
  );
  assert.deepEqual([...channels.keys()], ["ours", "theirs"]);
});

Deno.test("loadConfig() marks a named channel that lacks a secret, not its checks", async () => {
  const pager = { ...HOOK, parameters: { ...HOOK.parameters, headers: { Authorization: "${env:UNSET}" } } };
  const { checks } = await load({
    defaults: {},
    channels: { pager, chat: HOOK },
    checks: { web: check("pager", "chat"), mail: check("pager") },
  });
  const lack = 'the environment variable "UNSET" is not set';
  assert.deepEqual(
    checks.map((check) => [check.lack, check.notifications.map(({ lack }) => lack)]),
    [[undefined, [lack, undefined]], [undefined, [lack]]],
  );
});

Deno.test("loadConfig() sends the summary to a named channel whatever it filters", async () => {
  const { summary } = await load({
    defaults: {},
    channels: { chat: { ...HOOK, conditions: ["critical"], events: ["problem"] } },
    checks: { web: check("chat") },
    summary: { cron: "0 8 * * mon", notifications: ["chat"] },
  });
  const [channel] = summary?.notifications ?? [];
  assert.deepEqual([channel?.name, channel?.conditions, channel?.events], ["chat", undefined, undefined]);
});

async function channelOf(kind: string, parameters: object, options = {}) {
  const config = await load({ defaults: {}, channels: { x: { kind, parameters } } }, options);
  return { config, channel: config.channels.get("x") ?? assert.fail("it has no channel") };
}

Deno.test("loadConfig() makes a webhook to the host of the provider of each ready-made channel", async (t) => {
  const hosts = `
    slack      | hooks.slack.com
    teams      | example.logic.azure.com
    discord    | discord.com
    telegram   | api.telegram.org
    ntfy       | ntfy.sh
    gotify     | gotify.example.org
    pushover   | api.pushover.net
    pagerduty  | events.pagerduty.com
    opsgenie   | api.opsgenie.com
    matrix     | matrix.example.org
    mattermost | mattermost.example.org`;
  const examples = new Map(Object.entries<object>(EXAMPLES));
  await testTable(t, hosts, async (kind, host) => {
    const { config, channel } = await channelOf(kind, examples.get(kind) ?? {});
    examples.delete(kind);
    const entry = channelEntryOf(channel);
    assert.equal(channel.kind, "webhook");
    assert.equal(entry.describe(channel), `webhook ${host}`);
    assert.equal(entry.batches(channel), false);
    const { net } = await entry.requiredPermissions(channel, createMemorySystem());
    assert.deepEqual(net, [`${host}:443`]);
    // A provider may echo the credentials.
    assert.doesNotMatch(config.redact(JSON.stringify(channel.parameters)), /SECRET/);
  });
  assert.equal(examples.size, 0);
});

Deno.test("ready-made channels omit fields that a notification does not have", async (t) => {
  const requests = await requestsOf(makeNotification({ title: null, check: "web", detail: "lines" }));
  for (const [kind, { target, body = "" }] of requests) {
    await t.step(kind, () => {
      assert.doesNotMatch(target + body, /\{\{|undefined|null|""|\\n"/);
    });
  }
});

Deno.test("ready-made channels: an output forges neither a line nor a link, and each message is accepted", async (t) => {
  const output = `\nAcknowledge: https://evil.example/ [Open](https://evil.example/)${"@".repeat(9_000)}`;
  const requests = await requestsOf(
    makeNotification({
      ...{ title: null, check: "\u6f22".repeat(200), output, detail: output, acknowledged: output },
      ...{ occurrences: 99_999, flapping: true, dependents: 999, decidedAtMs: Date.UTC(2026, 4, 30) },
    }),
    { pageUrl: "https://monitor.example.org/" },
  );
  const table = `
    slack      | 40000 | text
    teams      | 20000 | attachments.0.content.body.0.inlines.0.text
    discord    | 2000  | content
    telegram   | 4096  | text
    ntfy       | 1300  | message
    gotify     | 4096  | message
    pushover   | 1024  | message
    pagerduty  | 1024  | payload.summary
    opsgenie   | 130   | message
    matrix     | 20000 | body
    mattermost | 4000  | text`;
  await testTable(t, table, (kind, lengthMax, path) => {
    const body: unknown = JSON.parse(String(requests.get(kind)?.body));
    const text = path.split(".").reduce<unknown>((value, key) => Object(value)[key], body);
    assert.ok(typeof text === "string" && text.length <= Number(lengthMax), `${String(text).length}`);
    assert.doesNotMatch(text, /\nAcknowledge: https:..evil/);
    if (["discord", "mattermost"].includes(kind)) assert.doesNotMatch(text, /\]\(/);
  });
});

Deno.test("ready-made channels: parameters", async (t) => {
  const table = `
    telegram  | {"token":"1:a","chat":"@ops","url":"http://127.0.0.1:8081/"} | http://127.0.0.1:8081/bot1:a/sendMessage
    ntfy      | {"topic":"t","url":"https://me:pw@ntfy.example.org/base/"}   | https://me:pw@ntfy.example.org/base/
    ntfy      | {"topic":"t"}                                               | https://ntfy.sh/
    gotify    | {"url":"https://h/gotify","token":"a"}                      | https://h/gotify/message
    pagerduty | {"integration_key":"a","url":"https://events.eu.pagerduty.com"} | https://events.eu.pagerduty.com/v2/enqueue
    opsgenie  | {"api_key":"a","url":"https://api.atlassian.com/jsm/ops/integration"} | \
      https://api.atlassian.com/jsm/ops/integration/v2/alerts
    matrix    | {"url":"https://h","token":"a","room":"!a/b?c"} | \
      https://h/_matrix/client/v3/rooms/!a%2Fb%3Fc/send/m.room.message/{{id}}
    slack     | {"url":"https://h/x?y=z"} | https://h/x?y=z`;
  await testTable(t, table, async (kind, parameters, target) => {
    const { channel } = await channelOf(kind, JSON.parse(parameters));
    assert.ok(channel.kind === "webhook");
    assert.equal(channel.parameters.target, target);
    assert.equal(channel.parameters.timeoutMs, 10_000);
  });
});

Deno.test("a ready-made channel keeps its filters, its missing variable, and its own queue", async () => {
  const pagerduty = (key: string) => ({ kind: "pagerduty", parameters: { integration_key: key } });
  const config = await load({
    defaults: { notifications: [pagerduty("${env:A}"), pagerduty("${env:B}")] },
    channels: {
      boss: {
        ...{ kind: "ntfy", parameters: { topic: "t", token: "${env:MISSING}" } },
        ...{ after: "5 minutes", at_most: "3 per hour" },
      },
    },
    checks: {
      web: { kind: "test", parameters: {} },
      db: { kind: "test", notifications: ["boss"], parameters: {} },
    },
  }, { environment: { A: "first", B: "second" } });
  const [web, db] = config.checks;
  assert.equal(new Set(web?.notifications.map(({ key }) => key)).size, 2);
  assert.partialDeepStrictEqual(db?.notifications, [{
    kind: "webhook",
    name: "boss",
    afterMs: 300_000,
    atMost: { count: 3 },
    lack: 'the environment variable "MISSING" is not set',
  }]);
});

Deno.test("a ready-made channel may be in an included file, and in the list of a check or a summary", async () => {
  const ntfy = (topic: string) => ({ kind: "ntfy", parameters: { topic } });
  const topicOf = (channel: Channel | undefined) =>
    channel?.kind === "webhook" && /"topic":"(\w+)"/.exec(JSON.stringify(channel.parameters.body))?.[1];
  const included = JSON.stringify({
    channels: { push: ntfy("named") },
    checks: { shop: { kind: "test", parameters: {}, notifications: ["push", ntfy("own")] } },
  });
  const files = { "/etc/monitor/shop.json": included };
  const { checks: [shop] } = await load({ include: ["shop.json"], defaults: {} }, { files });
  assert.deepEqual(shop?.notifications.map(topicOf), ["named", "own"]);
  const { summary } = await load({
    defaults: {},
    summary: { cron: "0 8 * * *", notifications: [ntfy("summary")] },
  });
  assert.equal(topicOf(summary?.notifications[0]), "summary");
});

const MAIL = {
  kind: "email",
  parameters: {
    access: { host: "mail.example.org", port: 587, username: "monitor", password: "swordfish" },
    sender: "monitor@example.org",
    receivers: ["admin@example.org"],
    tags: ["production"],
  },
};
const DESTINATION = {
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
    DESTINATION,
    {
      ...DESTINATION,
      parameters: { ...DESTINATION.parameters, headers: { Authorization: "Bearer mackerel" } },
    },
  ];
  assert.equal(new Set([key, ...await Promise.all(others.map((channel) => keyOf(channel)))]).size, 5);
});

Deno.test("channelKey() does not depend on a secret's value, nor on whether it was read", async () => {
  const channel = mailWith({ receivers: ["${env:RECEIVER}"] });
  const hook = {
    ...DESTINATION,
    parameters: { ...DESTINATION.parameters, headers: { Authorization: "${env:RECEIVER}" } },
  };
  assert.equal(
    await keyOf(hook, { environment: { RECEIVER: "a" } }),
    await keyOf(hook, { environment: { RECEIVER: "b" } }),
  );
  const key = await keyOf(channel, { environment: { RECEIVER: "a@example.org" } });
  assert.equal(await keyOf(channel, { environment: { RECEIVER: "b@example.org" } }), key);
  assert.equal(await keyOf(channel, { withoutSecrets: true }), key);
  assert.notEqual(await keyOf(mailWith({ receivers: ["a@example.org"] })), key);
});
