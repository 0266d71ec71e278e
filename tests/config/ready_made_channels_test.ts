import assert from "node:assert/strict";
import { EXAMPLES, requestsOf } from "../../scripts/message_page.ts";
import { channelEntryOf } from "../../src/channels/registry.ts";
import type { Channel } from "../../src/domain/channel.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { load } from "../../testing/config_system.ts";
import { makeNotification } from "../support/channel_delivery.ts";
import { testTable } from "../support/rows.ts";

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
