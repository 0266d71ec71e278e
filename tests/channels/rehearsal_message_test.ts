/** Rehearsals in each kind of channel: everybody gets the link. */
import assert from "node:assert/strict";
import PostalMime from "postal-mime";
import { commandKind } from "../../src/channels/command.ts";
import { consoleKind } from "../../src/channels/console.ts";
import { desktopNotificationKind } from "../../src/channels/desktop_notification.ts";
import { emailKind } from "../../src/channels/email.ts";
import { webhookKind } from "../../src/channels/webhook.ts";
import type { Channel, ChannelOf } from "../../src/domain/channel.ts";
import type { Message } from "../../src/domain/delivery.ts";
import type { ProcessCommand } from "../../src/domain/processes.ts";
import type { OutgoingRequest } from "../../src/domain/requests.ts";
import { withFacts } from "../../src/engine/configured_channels.ts";
import { queueRehearsal } from "../../src/engine/queued_notifications.ts";
import { createMail } from "../../src/system/mail/mail.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import { deliverOver, makeItem, makeMessage } from "../support/channel_delivery.ts";
import { startMailServer } from "../support/mail_server.ts";

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

Deno.test("emailKind sends a rehearsal with its link, through a real server", async () => {
  await using server = await startMailServer();
  const access = { host: "localhost", port: server.port, username: "", password: "" };
  const parameters = { access, sender: "monitor@example.org", receivers: ["team@example.org"], tags: [] };
  const system = { mail: createMail(createRealClock()) };
  const message = rehearsalFor(emailKind.textMax);
  await deliverOver(emailKind, { kind: "email", key: "k", parameters }, { message, system });
  const { subject, text } = await PostalMime.parse(server.mails[0]?.raw ?? "");
  assert.equal(subject, LINE);
  assert.equal(
    text?.trim(),
    `confirm that this arrived: ${URL_TEXT}\n\nThis message tests the channel "ops". Open the link and press the ` +
      "button. A program sends a POST request to the link.\n\nSent: 2026-03-02 10:00:00 UTC\nHost: web1",
  );
});

Deno.test("webhookKind posts the event and the link of a rehearsal, and opens an incident", async () => {
  const post = async (body?: ChannelOf<"webhook">["parameters"]["body"]) => {
    let posted = "";
    const send = ({ body = "" }: OutgoingRequest): Promise<never> => {
      posted = body;
      return Promise.reject(new Error("it is not sent"));
    };
    const parameters = { target: "http://chat.example/", method: "POST", headers: {}, timeoutMs: 1 } as const;
    const requests = { send, explain: () => ({ phase: "connecting", reason: "" }) as const };
    await deliverOver(webhookKind, {
      kind: "webhook",
      key: "k",
      parameters: { ...parameters, ...body !== undefined && { body } },
    }, { message: rehearsalFor(), system: { requests } });
    return JSON.parse(posted);
  };
  const { notifications: [fields] } = await post();
  const { event, check, condition, url, headline, token, acknowledge_url } = fields;
  assert.deepEqual([event, check, condition], ["rehearsal", "channel ops", "ok"]);
  assert.deepEqual([url, headline, token, acknowledge_url], [URL_TEXT, LINE, undefined, undefined]);
  assert.ok(!fields.id.includes(TOKEN), "ids are logged");
  const body = { text: "{{summary}}", action: "{{action}}", event: { "{{event}}": { rehearsal: 1 } } };
  assert.deepEqual(await post(body), { text: LINE, action: "trigger", event: 1 });
});

Deno.test("commandKind, desktopNotificationKind and consoleKind tell the link of a rehearsal", async () => {
  const commands: ProcessCommand[] = [];
  const none = { text: "", truncated: false };
  const processes = {
    run: (command: ProcessCommand) => {
      commands.push(command);
      return Promise.resolve(
        { ended: "exited", code: 0, leftovers: false, stdout: none, stderr: none } as const,
      );
    },
  };
  const message = rehearsalFor();
  const parameters = { path: "/bin/send", arguments: [], environment: {}, timeoutMs: 1 };
  await deliverOver(commandKind, { kind: "command", key: "k", parameters }, {
    message,
    system: { processes },
  });
  const desktop = { kind: "desktop_notification", key: "k", parameters: {} } as const;
  // Its notifier is found without a look-up, so this machine needs none.
  await deliverOver(desktopNotificationKind, desktop, { message, system: { processes, platform: "darwin" } });
  const [sent, notifier] = commands;
  const { MONITOR_EVENT, MONITOR_URL, MONITOR_HEADLINE } = sent?.environment ?? {};
  assert.deepEqual([MONITOR_EVENT, MONITOR_URL, MONITOR_HEADLINE], ["rehearsal", URL_TEXT, LINE]);
  assert.deepEqual(notifier?.arguments.slice(-2), [LINE, `confirm that this arrived: ${URL_TEXT}`]);
  const { lines } = await deliverOver(consoleKind, { kind: "console", key: "k", parameters: {} }, {
    message,
  });
  assert.deepEqual(lines, [`2026-03-02 10:00:00 UTC ${LINE}`]);
});
