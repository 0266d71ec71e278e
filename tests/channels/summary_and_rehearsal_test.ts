/** Summaries, and rehearsals with their link, in each kind of channel. */
import assert from "node:assert/strict";
import PostalMime from "postal-mime";
import { commandKind } from "../../src/channels/command.ts";
import { consoleKind } from "../../src/channels/console.ts";
import { desktopNotificationKind } from "../../src/channels/desktop_notification.ts";
import { emailKind, notificationBody, notificationBrief } from "../../src/channels/email.ts";
import { webhookKind } from "../../src/channels/webhook.ts";
import type { Channel, ChannelOf } from "../../src/domain/channel.ts";
import type { Message, MessageItem, TextMax } from "../../src/domain/delivery.ts";
import type { ProcessCommand } from "../../src/domain/processes.ts";
import type { OutgoingRequest } from "../../src/domain/connections.ts";
import { withFacts } from "../../src/engine/configured_channels.ts";
import { queueRehearsal } from "../../src/engine/queued_notifications.ts";
import { createMail } from "../../src/system/mail/mail.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import { deliverOver, makeItem, makeMessage } from "../support/channel_delivery.ts";
import { startMailServer } from "../support/mail_server.ts";
import { describeItem } from "../../src/channels/describe_item.ts";
import { CHANNEL_KINDS } from "../../src/channels/registry.ts";
import { itemFields } from "../../src/channels/describe_item.ts";
import { truncate } from "../../src/shared/text.ts";

const TOKEN = "0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0";
const URL_TEXT = `https://status.example.org/confirm/${TOKEN}`;
const LINE = `Rehearsal, no problem: confirm that this arrived: ${URL_TEXT}`;

/** As the sender passes it to a channel. */
function rehearsalFor(textMax = { output: 500, detail: 1000 }): Message {
  const channel: Channel = { kind: "console", key: `"ops"`, name: "ops", parameters: {} };
  const { notification } = queueRehearsal({ channel, token: TOKEN }, {
    nameOf: () => "ops",
    textMaxOf: () => textMax,
    sequence: 1,
    hostName: "web1",
    nowMs: Date.UTC(2026, 2, 2, 10),
  });
  return withFacts(makeMessage([makeItem(notification)]), {
    pageUrl: "https://status.example.org",
    hasActions: true,
    users: [],
    timeZone: () => "UTC",
  });
}

const SENTENCE = "1 of 2 checks was down, 5 min in all";
const FIELDS = { sentence: SENTENCE, checks: 2 };
const SUMMARY = makeMessage([makeItem({
  id: "summary-1",
  check: "summary",
  title: "Summary",
  event: "summary",
  condition: "ok",
  output: SENTENCE,
  detail: `${SENTENCE}.\n\nDown\n- Größe: 5 min\n`,
  summary: { html: "<!DOCTYPE html><p>Größe</p>", json: JSON.stringify(FIELDS) },
})]);

/** Returns the email that arrives at a real server. */
async function mailed(message: Message, tags: readonly string[] = []) {
  await using server = await startMailServer();
  const access = { host: "localhost", port: server.port, username: "", password: "" };
  const parameters = { access, sender: "monitor@example.org", receivers: ["team@example.org"], tags };
  const system = { mail: createMail(createRealClock()) };
  const channel = { kind: "email", key: "k", parameters } as const;
  const { steps } = await deliverOver(emailKind, channel, { message, system });
  assert.deepEqual(steps, ["resolved", "connected", "accepted"]);
  const raw = server.mails[0]?.raw ?? "";
  return { raw, ...await PostalMime.parse(raw) };
}

Deno.test("emailKind sends a summary as text and HTML, and a rehearsal with its link", async () => {
  const { raw, subject, text, html } = await mailed(SUMMARY, ["Büro"]);
  assert.match(raw, /^Content-Type: multipart\/alternative/m);
  assert.equal(subject, `[Büro] Summary: ${SENTENCE}`);
  assert.equal(text?.trim(), `${SENTENCE}.\n\nDown\n- Größe: 5 min`);
  assert.equal(html?.trim(), "<!DOCTYPE html><p>Größe</p>");
  const rehearsal = await mailed(rehearsalFor(emailKind.textMax));
  assert.equal(rehearsal.subject, LINE);
  assert.equal(
    rehearsal.text?.trim(),
    `confirm that this arrived: ${URL_TEXT}\n\nThis message tests the channel "ops". Open the link and press the ` +
      "button. A program sends a POST request to the link.\n\nSent: 2026-03-02 10:00:00 UTC\nHost: web1",
  );
});

async function posted(message: Message, body?: ChannelOf<"webhook">["parameters"]["body"]) {
  let text = "";
  const send = ({ body = "" }: OutgoingRequest): Promise<never> => {
    text = body;
    return Promise.reject(new Error("it is not sent"));
  };
  const parameters = { target: "http://chat.example/", method: "POST", headers: {}, timeoutMs: 1 } as const;
  const requests = { send, explain: () => ({ phase: "connecting", reason: "" }) as const };
  await deliverOver(webhookKind, {
    kind: "webhook",
    key: "k",
    parameters: { ...parameters, ...body !== undefined && { body } },
  }, { message, system: { requests } });
  return JSON.parse(text);
}

Deno.test("webhookKind posts the fields of summaries and rehearsals, or fills a template with them", async () => {
  const { notifications: [{ event, check, output, summary }] } = await posted(SUMMARY);
  assert.deepEqual([event, check, output, summary], ["summary", "summary", SENTENCE, FIELDS]);
  const { notifications: [fields] } = await posted(rehearsalFor());
  assert.deepEqual([fields.event, fields.check, fields.condition], ["rehearsal", "channel ops", "ok"]);
  const { url, headline, token, acknowledge_url } = fields;
  assert.deepEqual([url, headline, token, acknowledge_url], [URL_TEXT, LINE, undefined, undefined]);
  assert.ok(!fields.id.includes(TOKEN), "ids are logged");
  const body = {
    text: "{{summary}}",
    action: "{{action}}",
    event: { "{{event}}": { summary: 1, rehearsal: 2 } },
  };
  assert.deepEqual(await posted(SUMMARY, body), {
    text: `Summary: ${SENTENCE}`,
    action: "resolve",
    event: 1,
  });
  assert.deepEqual(await posted(rehearsalFor(), body), { text: LINE, action: "trigger", event: 2 });
});

/** Returns what a command gets, the last arguments of a desktop's notifier, and the lines of a console. */
async function sent(message: Message) {
  const commands: ProcessCommand[] = [];
  const none = { text: "", truncated: false };
  const exited = { ended: "exited", code: 0, leftovers: false, stdout: none, stderr: none } as const;
  const processes = {
    run: (command: ProcessCommand) => {
      commands.push(command);
      return Promise.resolve(exited);
    },
  };
  const parameters = { path: "/bin/send", arguments: [], environment: {}, timeoutMs: 1 };
  const command = { kind: "command", key: "k", parameters } as const;
  await deliverOver(commandKind, command, { message, system: { processes } });
  const desktop = { kind: "desktop_notification", key: "k", parameters: {} } as const;
  // Its notifier is found without a look-up, so this machine needs none.
  await deliverOver(desktopNotificationKind, desktop, { message, system: { processes, platform: "darwin" } });
  const { lines } = await deliverOver(consoleKind, { kind: "console", key: "k", parameters: {} }, {
    message,
  });
  const [sent, notifier] = commands;
  const input = typeof sent?.input === "string" ? JSON.parse(sent.input) : null;
  return { environment: sent?.environment ?? {}, input, notified: notifier?.arguments.slice(-2), lines };
}

Deno.test("commandKind, desktopNotificationKind and consoleKind tell the sentence of a summary, the link of a rehearsal", async () => {
  const summary = await sent(SUMMARY);
  assert.equal(summary.environment["MONITOR_SUMMARY"], `Summary: ${SENTENCE}`);
  assert.deepEqual([summary.input.event, summary.input.summary], ["summary", FIELDS]);
  assert.deepEqual(summary.notified, [`Summary: ${SENTENCE}`, SENTENCE]);
  assert.deepEqual(summary.lines, [`2026-01-31 10:00:00 UTC Summary: ${SENTENCE}`]);
  const { environment, notified, lines } = await sent(rehearsalFor());
  const { MONITOR_EVENT, MONITOR_URL, MONITOR_HEADLINE } = environment;
  assert.deepEqual([MONITOR_EVENT, MONITOR_URL, MONITOR_HEADLINE], ["rehearsal", URL_TEXT, LINE]);
  assert.deepEqual(notified, [LINE, `confirm that this arrived: ${URL_TEXT}`]);
  assert.deepEqual(lines, [`2026-03-02 10:00:00 UTC ${LINE}`]);
});

/** The text of an item for each kind. */
const WRITERS: Readonly<Record<keyof typeof CHANNEL_KINDS, (item: MessageItem) => unknown>> = {
  console: describeItem,
  desktop_notification: describeItem,
  file_touch: () => "",
  email: (item) => [notificationBody(item), notificationBrief(item)],
  webhook: (item) => [itemFields(item, { isTest: false, itemCount: 1 }), describeItem(item)],
  command: (item) => [itemFields(item, { isTest: false, itemCount: 1 }), describeItem(item)],
};

const TEXTS: Readonly<Record<string, string>> = {
  "short": "short",
  "long lines": "x".repeat(200_000),
  "many lines": "line\n".repeat(50_000),
  "pairs": "😀".repeat(100_000),
  "mostly escape sequences": "\u001b[31mx".repeat(30_000),
};

Deno.test("textMax preserves the part of a text that each channel kind sends", async (t) => {
  for (const [kind, write] of Object.entries(WRITERS)) {
    const { output: outputMax, detail: detailMax }: TextMax =
      CHANNEL_KINDS[kind as keyof typeof WRITERS].textMax;
    for (const [name, text] of Object.entries(TEXTS)) {
      await t.step(`${kind}: ${name}`, () => {
        const output = truncate(text, outputMax);
        const detail = truncate(text, detailMax);
        assert.ok(output.length <= outputMax && detail.length <= detailMax);
        assert.deepEqual(
          write(makeItem({ output, detail })),
          write(makeItem({ output: text, detail: text })),
        );
      });
    }
  }
});
