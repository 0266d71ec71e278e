/** Summaries in each kind of channel. */
import assert from "node:assert/strict";
import PostalMime from "postal-mime";
import { commandKind } from "../../src/channels/command.ts";
import { consoleKind } from "../../src/channels/console.ts";
import { desktopNotificationKind } from "../../src/channels/desktop_notification.ts";
import { emailKind } from "../../src/channels/email.ts";
import { webhookKind } from "../../src/channels/webhook.ts";
import type { ChannelOf } from "../../src/domain/channel.ts";
import type { ProcessCommand } from "../../src/domain/processes.ts";
import type { OutgoingRequest } from "../../src/domain/requests.ts";
import { createMail } from "../../src/system/mail/mail.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import { deliverOver, makeItem, makeMessage } from "../support/channel_delivery.ts";
import { startMailServer } from "../support/mail_server.ts";

const SENTENCE = "1 of 2 checks was down, 5 min in all";
const FIELDS = { sentence: SENTENCE, checks: 2 };
const MESSAGE = makeMessage([makeItem({
  id: "summary-1",
  check: "summary",
  title: "Summary",
  event: "summary",
  condition: "ok",
  output: SENTENCE,
  detail: `${SENTENCE}.\n\nDown\n- Größe: 5 min\n`,
  summary: { html: "<!DOCTYPE html><p>Größe</p>", json: JSON.stringify(FIELDS) },
})]);

Deno.test("emailKind sends a summary as text and HTML, through a real server", async () => {
  await using server = await startMailServer();
  const access = { host: "localhost", port: server.port, username: "", password: "" };
  const parameters = {
    access,
    sender: "monitor@example.org",
    receivers: ["team@example.org"],
    tags: ["Büro"],
  };
  const system = { mail: createMail(createRealClock()) };
  const channel = { kind: "email", key: "k", parameters } as const;
  const { steps } = await deliverOver(emailKind, channel, { message: MESSAGE, system });
  assert.deepEqual(steps, ["resolved", "connected", "accepted"]);
  const raw = server.mails[0]?.raw ?? "";
  assert.match(raw, /^Content-Type: multipart\/alternative/m);
  const { subject, text, html } = await PostalMime.parse(raw);
  assert.equal(subject, `[Büro] Summary: ${SENTENCE}`);
  assert.equal(text?.trim(), `${SENTENCE}.\n\nDown\n- Größe: 5 min`);
  assert.equal(html?.trim(), "<!DOCTYPE html><p>Größe</p>");
});

Deno.test("webhookKind posts the fields of a summary, or fills a template with its sentence", async () => {
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
    }, { message: MESSAGE, system: { requests } });
    return JSON.parse(posted);
  };
  const { notifications: [{ event, check, output, summary }] } = await post();
  assert.deepEqual([event, check, output, summary], ["summary", "summary", SENTENCE, FIELDS]);
  const text = `Summary: ${SENTENCE}`;
  const body = { text: "{{summary}}", action: "{{action}}", event: { "{{event}}": { summary: 1 } } };
  assert.deepEqual(await post(body), { text, action: "resolve", event: 1 });
});

Deno.test("commandKind and desktopNotificationKind tell the sentence of a summary, consoleKind in a line", async () => {
  const commands: ProcessCommand[] = [];
  const none = { text: "", truncated: false };
  const system = {
    processes: {
      run: (command: ProcessCommand) => {
        commands.push(command);
        return Promise.resolve(
          { ended: "exited", code: 0, leftovers: false, stdout: none, stderr: none } as const,
        );
      },
    },
  };
  await deliverOver(commandKind, {
    kind: "command",
    key: "k",
    parameters: { path: "/bin/true", arguments: [], environment: {}, timeoutMs: 1000 },
  }, { message: MESSAGE, system });
  const desktop = { kind: "desktop_notification", key: "k", parameters: {} } as const;
  // Its notifier is found without a look-up, so this machine needs none.
  await deliverOver(desktopNotificationKind, desktop, {
    message: MESSAGE,
    system: { ...system, platform: "darwin" },
  });
  const [command, notifier] = commands;
  assert.equal(command?.environment["MONITOR_SUMMARY"], `Summary: ${SENTENCE}`);
  const input = typeof command?.input === "string" ? JSON.parse(command.input) : null;
  assert.deepEqual([input.event, input.summary], ["summary", FIELDS]);
  assert.deepEqual(notifier?.arguments.slice(-2), [`Summary: ${SENTENCE}`, SENTENCE]);
  const { lines } = await deliverOver(consoleKind, { kind: "console", key: "k", parameters: {} }, {
    message: MESSAGE,
  });
  assert.deepEqual(lines, [`2026-01-31 10:00:00 UTC Summary: ${SENTENCE}`]);
});
