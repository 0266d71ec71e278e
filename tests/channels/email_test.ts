import assert from "node:assert/strict";
import PostalMime from "postal-mime";
import { emailKind } from "../../src/channels/email.ts";
import { notificationTitle } from "../../src/channels/notification_text.ts";
import type { ChannelOf } from "../../src/domain/channel.ts";
import type { Condition } from "../../src/domain/condition.ts";
import type { DeliverContext } from "../../src/domain/channel_kind.ts";
import type { Message, MessageItem } from "../../src/domain/delivery.ts";
import type { Notification } from "../../src/domain/notification.ts";
import type { MailEnd, OutgoingMail } from "../../src/domain/mail.ts";
import { createStores } from "../../src/state/open_stores.ts";
import { createSystem } from "../../src/system/deno_system.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import { createMail } from "../../src/system/mail/mail.ts";
import { startMailServer } from "../support/mail_server.ts";

const BEGAN_MS = Date.UTC(2026, 0, 31, 12, 3, 0);
const DECIDED_MS = Date.UTC(2026, 0, 31, 12, 9, 30);

const REPORT: Notification = {
  id: "report-1",
  check: "web",
  title: "Website",
  event: "problem",
  condition: "critical",
  previous: "ok",
  output: "status is 500, expected 200",
  detail: "first line\nsecond line\n",
  problemBeganAtMs: BEGAN_MS,
  decidedAtMs: DECIDED_MS,
  occurrences: 3,
  nextRunAtMs: DECIDED_MS + 60_000,
  hostName: "server1",
  acknowledged: null,
  flapping: false,
  dependents: 0,
};

const CHANNEL: ChannelOf<"email"> = {
  kind: "email",
  key: "email-1",
  parameters: {
    access: { host: "localhost", port: 25, username: "", password: "" },
    sender: "monitor@example.org",
    receivers: ["admin@example.org"],
    tags: ["home", "night"],
  },
};

function item(notification: Partial<Notification> = {}, rest: Partial<MessageItem> = {}): MessageItem {
  return {
    notification: { ...REPORT, ...notification },
    missedProblem: null,
    summarized: 0,
    threadId: null,
    ...rest,
  };
}

function message(items: readonly MessageItem[], rest: Partial<Message> = {}): Message {
  return { id: "message-1", items, isTest: false, decidedAtMs: DECIDED_MS, ...rest };
}

/** The real machine, with an SMTP client that returns a given outcome. */
function contextWith(send: (mail: OutgoingMail) => MailEnd | Promise<MailEnd>): DeliverContext {
  return {
    system: {
      ...createSystem(createRealClock(), { createStores }),
      mail: { send: (mail) => Promise.resolve(send(mail)) },
    },
    directory: "/",
    writeLine: () => {},
    onStep: () => {},
    signal: new AbortController().signal,
  };
}

async function mailOf(
  notice: Message,
  parameters: Partial<typeof CHANNEL.parameters> = {},
): Promise<OutgoingMail> {
  const sent: OutgoingMail[] = [];
  const context = contextWith((mail) => {
    sent.push(mail);
    return { sent: true, refused: [] };
  });
  const channel = { ...CHANNEL, parameters: { ...CHANNEL.parameters, ...parameters } };
  assert.deepEqual(await emailKind.deliver(notice, channel, context), { delivered: true, note: null });
  assert(sent.length === 1 && sent[0] !== undefined);
  return sent[0];
}

const RECOVERY = {
  event: "recovery",
  condition: "ok",
  previous: "critical",
  output: "status is 200",
} as const;

Deno.test("deliver() puts the event into the subject", async (t) => {
  const others = [item({ id: "2" }), item({ id: "3" }), item({ id: "4", condition: "warning" })];
  const rows: readonly { readonly name: string; readonly message: Message; readonly subject: string }[] = [
    { name: "problem", message: message([item()]), subject: "[home] [night] CRITICAL: Website" },
    {
      name: "without a title",
      message: message([item({ title: null })]),
      subject: "[home] [night] CRITICAL: web",
    },
    {
      name: "reminder",
      message: message([item({ event: "reminder" })]),
      subject: "[home] [night] still CRITICAL: Website",
    },
    { name: "recovery", message: message([item(RECOVERY)]), subject: "[home] [night] OK: Website" },
    {
      name: "recovery of a problem that was not sent",
      message: message([item(RECOVERY, { missedProblem: REPORT })]),
      subject: "[home] [night] OK: Website (was CRITICAL from 12:03 to 12:09 UTC)",
    },
    {
      name: "recovery on another day",
      message: message([
        item({ ...RECOVERY, decidedAtMs: DECIDED_MS + 86_400_000 }, { missedProblem: REPORT }),
      ]),
      subject: "[home] [night] OK: Website (was CRITICAL from 2026-01-31 12:03 to 2026-02-01 12:09 UTC)",
    },
    {
      name: "several",
      message: message([item(), ...others]),
      subject: "[home] [night] 3 CRITICAL, 1 WARNING: Website and 3 more",
    },
    {
      name: "test",
      message: message([item()], { isTest: true }),
      subject: "[home] [night] TEST: CRITICAL: Website",
    },
    {
      name: "hostile title",
      message: message([item({ title: "a\r\nBcc: x@example.org\0\x1b[31m\u202eb" })]),
      subject: "[home] [night] CRITICAL: a Bcc: x@example.org b",
    },
  ];
  for (const { name, message: notice, subject } of rows) {
    await t.step(name, async () => assert.equal((await mailOf(notice)).subject, subject));
  }
  await t.step("hostile tags", async () => {
    const { subject } = await mailOf(message([item()]), { tags: ["a\nb", "", "\r\n", "x".repeat(100)] });
    assert.equal(subject, `[a b] [${"x".repeat(39)}…] CRITICAL: Website`);
  });
});

Deno.test("deliver() includes everything about a problem that is needed to act", async () => {
  const { text } = await mailOf(message([item()]));
  assert.equal(
    text,
    `CRITICAL: Website

status is 500, expected 200

Since: 2026-01-31 12:03:00 UTC (6 min 30 s)
Results: 3 in a row
Previous: OK
Decided: 2026-01-31 12:09:30 UTC
Next run: 2026-01-31 12:10:30 UTC
Check: web
Host: server1

Detail:
first line
second line
`,
  );
});

Deno.test("deliver() describes a problem that recovered before it could be sent", async () => {
  const { text } = await mailOf(message([item({ ...RECOVERY, detail: "" }, { missedProblem: REPORT })]));
  assert.equal(
    text,
    `OK: Website (was CRITICAL from 12:03 to 12:09 UTC)

status is 200

Was CRITICAL: from 2026-01-31 12:03:00 UTC to 2026-01-31 12:09:30 UTC (6 min 30 s)
The problem recovered before it was sent.
Output: status is 500, expected 200
Next run: 2026-01-31 12:10:30 UTC
Check: web
Host: server1
`,
  );
});

Deno.test("deliver() calls no recovery ok that ended in another problem", async () => {
  const ended = { ...RECOVERY, condition: "warning", previous: "critical" } as const;
  const { text } = await mailOf(message([item(ended, { missedProblem: REPORT })]));
  assert.match(text, /^WARNING: Website \(was CRITICAL from .*\)$/m);
  assert.match(text, /^It was no longer CRITICAL before that was sent\.$/m);
  const many = await mailOf(message(Array.from({ length: 20 }, () => item(ended))));
  assert.match(many.text, /^ {2}no longer CRITICAL at 2026-01-31 12:09:30 UTC$/m);
});

Deno.test("deliver() counts older problems that recovered before they could be sent", async () => {
  const counting = item({ ...RECOVERY, detail: "" }, { missedProblem: REPORT, summarized: 1 });
  const { text } = await mailOf(message([counting]));
  assert.match(text, /^Host: server1\nAlso: 1 older problem recovered before they could be sent\n$/m);
  const many = await mailOf(message(Array.from({ length: 20 }, () => ({ ...counting, summarized: 12 }))));
  assert.match(many.text, /^ {2}Also: 12 older problems recovered before they could be sent$/m);
});

Deno.test("deliver() marks a test in its text", async () => {
  const { text } = await mailOf(message([item()], { isTest: true }));
  assert.match(text, /^This is a test /);
});

Deno.test("deliver() sets ids of the message, its threads and the sender's domain", async (t) => {
  await t.step("a recovery is threaded under its problem", async () => {
    const mail = await mailOf(message([item(RECOVERY, { threadId: "message-0" })]));
    assert.equal(mail.messageId, "<message-1@example.org>");
    assert.deepEqual(mail.references, ["<message-0@example.org>"]);
    assert.deepEqual(mail.headers, { "Auto-Submitted": "auto-generated" });
    assert.equal(mail.dateMs, DECIDED_MS);
  });
  await t.step("each thread once, never its own, and a limited number", async () => {
    const ids = ["message-1", "a", "a", ...Array.from({ length: 100 }, (_, number) => `t${number}`)];
    const mail = await mailOf(message(ids.map((threadId) => item({}, { threadId }))));
    assert.equal(mail.references.length, 20);
    assert.deepEqual(mail.references.slice(0, 2), ["<a@example.org>", "<t0@example.org>"]);
  });
  const domains = [
    { sender: "monitor@EXAMPLE.org", domain: "example.org" },
    { sender: "monitor@exämple.org", domain: "xn--exmple-cua.org" },
    { sender: "monitor@[192.0.2.1]", domain: "localhost" },
    { sender: "monitor", domain: "monitor" },
  ];
  for (const { sender, domain } of domains) {
    await t.step(sender, async () => {
      assert.equal((await mailOf(message([item()]), { sender })).messageId, `<message-1@${domain}>`);
    });
  }
});

Deno.test("deliver() keeps hostile and huge texts harmless", async () => {
  const huge = "x".repeat(1_000_000);
  const { subject, text } = await mailOf(message([
    item({
      title: `${huge}\u{1f525}`,
      output: `a\r\nHost: forged\0\x1b[2J${huge}`,
      detail: `${"line\x07\n".repeat(500_000)}`,
      hostName: "server1\nCheck: forged",
      acknowledged: null,
      flapping: false,
      dependents: 0,
    }),
  ]));
  assert(subject.length <= 250);
  assert(text.length < 8000);
  assert.equal(/[^\n\x20-\x7e…]/.test(text), false);
  assert.deepEqual(text.split("\n").filter((line) => line.startsWith("Host:")), [
    "Host: server1 Check: forged",
  ]);
  assert.equal(text.split("\n").filter((line) => line === "line").length, 20);
  assert.match(text, /\(truncated\)\n$/);
});

Deno.test("deliver() sends 500 items in one readable email, in the order of the message", async () => {
  const conditions: readonly Condition[] = ["critical", "warning", "unknown", "ok"];
  const items = conditions.flatMap((condition) =>
    Array.from({ length: 125 }, (_, number) => {
      const check = `${condition}-${number}`;
      return item({ id: check, check, title: null, condition, output: "y".repeat(100_000) });
    })
  );
  const { subject, text } = await mailOf(message(items));
  assert.equal(
    subject,
    "[home] [night] 125 CRITICAL, 125 WARNING, 125 UNKNOWN, 125 OK: critical-0 and 499 more",
  );
  assert(text.length < 200_000, `${text.length}`);
  const notice = text.split("\n").flatMap((line) => /^[A-Z]+: (\S+)$/.exec(line)?.[1] ?? []);
  assert.deepEqual(notice, items.map(({ notification }) => notification.check));
});

Deno.test("deliver() returns the outcome of the server", async (t) => {
  const failure = {
    sent: false,
    phase: "login",
    code: 535,
    mayHaveArrived: false,
    reason: "server replied 535 no",
  } as const;
  const rows = [
    {
      name: "rejected receivers",
      end: { sent: true, refused: [{ receiver: "b@example.org", reason: "550 gone" }] },
      delivery: { delivered: true, note: "rejected for b@example.org (550 gone)" },
    },
    {
      name: "permanently",
      end: { ...failure, retryable: false },
      delivery: {
        delivered: false,
        retryable: false,
        mayHaveArrived: false,
        reason: "login: server replied 535 no",
        retryAfterMs: null,
      },
    },
    {
      name: "broken after the last byte",
      end: { ...failure, phase: "data", retryable: true, mayHaveArrived: true, reason: "connection closed" },
      delivery: {
        delivered: false,
        retryable: true,
        mayHaveArrived: true,
        reason: "data: connection closed",
        retryAfterMs: null,
      },
    },
  ] as const;
  for (const { name, end, delivery } of rows) {
    await t.step(name, async () => {
      const context = contextWith(() => end);
      assert.deepEqual(await emailKind.deliver(message([item()]), CHANNEL, context), delivery);
    });
  }
});

Deno.test("deliver() throws the error of the SMTP client", async () => {
  const reason = new Error("Time is up");
  const context = contextWith(() => Promise.reject(reason));
  await assert.rejects(emailKind.deliver(message([item()]), CHANNEL, context), (error) => error === reason);
});

Deno.test("deliver() sends an email to a real server, which decodes the original text", async () => {
  await using server = await startMailServer({ password: "correct horse" });
  const access = { host: "localhost", port: server.port, username: "monitor", password: "correct horse" };
  const channel = { ...CHANNEL, parameters: { ...CHANNEL.parameters, access, tags: ["Büro"] } };
  const steps: string[] = [];
  const context: DeliverContext = {
    ...contextWith(() => ({ sent: true, refused: [] })),
    system: { ...createSystem(createRealClock(), { createStores }), mail: createMail(createRealClock()) },
    onStep: (step) => steps.push(step),
  };
  const title = "Größe \u{1f525} der\r\nX-Evil: 1 日本語 ".repeat(10);
  const notice = message([item({ title, output: "Überlauf: .\n.\n" }, { threadId: "message-0" })]);
  assert.deepEqual(await emailKind.deliver(notice, channel, context), { delivered: true, note: null });
  const parsed = await PostalMime.parse(server.mails[0]?.raw ?? "");
  assert.equal(parsed.subject, `[Büro] CRITICAL: ${notificationTitle({ title, check: "web" })}`);
  assert.match(parsed.text ?? "", /^Überlauf: \. \.$/m);
  assert.equal(parsed.headers.some(({ key }) => key === "x-evil"), false);
  assert.equal(parsed.inReplyTo, "<message-0@example.org>");
  assert.deepEqual(steps, ["resolved", "connected", "login", "accepted"]);
});

Deno.test("describe() names the first receiver and counts the others", async (t) => {
  const rows = [
    { receivers: ["a@example.org"], name: "email to a@example.org" },
    {
      receivers: ["a@example.org", "b@example.org", "c@example.org"],
      name: "email to a@example.org and 2 more",
    },
    { receivers: [], name: "email without receivers" },
  ];
  for (const { receivers, name } of rows) {
    await t.step(name, () => {
      const channel = { ...CHANNEL, parameters: { ...CHANNEL.parameters, receivers } };
      assert.equal(emailKind.describe(channel), name);
    });
  }
});
