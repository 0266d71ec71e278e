import assert from "node:assert/strict";
import { emailKind } from "../../src/channels/email.ts";
import type { ChannelOf } from "../../src/domain/channel.ts";
import type { Condition } from "../../src/domain/condition.ts";
import type { Delivery, MessageItem } from "../../src/domain/delivery.ts";
import type { Notification } from "../../src/domain/outbox.ts";
import type { MailEnd, OutgoingMail } from "../../src/domain/system.ts";
import {
  deliverOver,
  type DeliveryFindings,
  failure,
  makeItem,
  makeNotification,
} from "../support/channel_delivery.ts";
import { fieldsOf, testRows, testTable } from "../support/rows.ts";

const BEGAN_MS = Date.UTC(2026, 0, 31, 12, 3, 0);
const DECIDED_MS = Date.UTC(2026, 0, 31, 12, 9, 30);
const NEXT_MS = DECIDED_MS + 60_000;

const PLACE = { detail: "first line\nsecond line\n", hostName: "server1" };
const TIMES = { problemBeganAtMs: BEGAN_MS, decidedAtMs: DECIDED_MS, nextRunAtMs: NEXT_MS };
const REPORT = makeNotification({ ...PLACE, ...TIMES });

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
  return { ...makeItem({ ...REPORT, ...notification }), ...rest };
}

interface Sending {
  readonly isTest?: boolean;
  readonly parameters?: Partial<typeof CHANNEL.parameters>;
}

/** Sends a message by an SMTP client that returns a given outcome. */
function deliver(
  items: readonly MessageItem[],
  send: (mail: OutgoingMail) => MailEnd | Promise<MailEnd>,
  { isTest = false, parameters }: Sending = {},
): Promise<DeliveryFindings> {
  const channel = { ...CHANNEL, parameters: { ...CHANNEL.parameters, ...parameters } };
  const mail = { send: (mail: OutgoingMail) => Promise.resolve(send(mail)) };
  const message = { id: "message-1", items, isTest, decidedAtMs: DECIDED_MS };
  return deliverOver(emailKind, channel, { message, system: { mail } });
}

async function mailOf(items: readonly MessageItem[], sending?: Sending): Promise<OutgoingMail> {
  const sent: OutgoingMail[] = [];
  const { delivery } = await deliver(items, (mail) => {
    sent.push(mail);
    return { sent: true, refused: [] };
  }, sending);
  assert.deepEqual(delivery, { delivered: true, note: null });
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
  const others = [
    item({ id: "2", check: "b", title: null }),
    item({ id: "3", check: "c", title: null }),
    item({ id: "4", check: "d", title: null, condition: "warning" }),
  ];
  const table = `
    problem         | | Website is critical: status is 500, expected 200
    without a title | title=null | web is critical: status is 500, expected 200
    reminder        | event=reminder | Website is still critical after 6 min 30 s: status is 500, expected 200
    recovery        | RECOVERY | Website is ok again after 6 min 30 s
    recovery of a problem that was not sent | RECOVERY | \
      Website was critical for 6 min 30 s and is ok again: status is 500, expected 200
    recovery on another day | RECOVERY decidedAtMs=${
    DECIDED_MS + 86_400_000
  } | Website is ok again after 1 d 6 min
    several         | | 4 checks have a problem (3 CRITICAL, 1 WARNING): Website, b, c, d
    hostile title   | title="a\\r\\nBcc: x@example.org\\u0000\\u001b[31m\\u202eb" | \
      a Bcc: x@example.org b is critical: status is 500, expected 200`;
  await testTable(t, table, async (name, fields, subject) => {
    const recovery = fields.includes("RECOVERY") ? RECOVERY : {};
    const missed = subject.includes("was critical") ? { missedProblem: REPORT } : {};
    const items = [item({ ...recovery, ...fieldsOf<object>(fields) }, missed)];
    const all = name === "several" ? [...items, ...others] : items;
    assert.equal((await mailOf(all)).subject, `[home] [night] ${subject}`);
  });
  await t.step("hostile tags", async () => {
    const { subject } = await mailOf([item()], {
      parameters: { tags: ["a\nb", "", "\r\n", "x".repeat(100)] },
    });
    assert.equal(subject, `[a b] [${"x".repeat(39)}…] Website is critical: status is 500, expected 200`);
  });
});

Deno.test("deliver() includes everything about a problem that is needed to act", async () => {
  const { text } = await mailOf([item()]);
  assert.equal(
    text,
    `Website is critical: status is 500, expected 200

CRITICAL for 6 min 30 s: status is 500, expected 200

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
  const { text } = await mailOf([item({ ...RECOVERY, detail: "" }, { missedProblem: REPORT })]);
  assert.deepEqual(text.split("\n").slice(0, 7), [
    "Website was critical for 6 min 30 s and is ok again: status is 500, expected 200",
    "",
    "OK after 6 min 30 s: status is 200",
    "",
    "Was CRITICAL: from 2026-01-31 12:03:00 UTC to 2026-01-31 12:09:30 UTC (6 min 30 s)",
    "The problem recovered before it was sent.",
    "Output: status is 500, expected 200",
  ]);
});

Deno.test("deliver() calls no recovery ok that ended in another problem", async () => {
  const ended = { ...RECOVERY, condition: "warning", previous: "critical" } as const;
  const { text } = await mailOf([item(ended, { missedProblem: REPORT })]);
  assert.match(
    text,
    /^Website was critical for 6 min 30 s and now has a warning: status is 500, expected 200$/m,
  );
  assert.match(text, /^It was no longer CRITICAL before that was sent\.$/m);
  const many = await mailOf(Array.from({ length: 20 }, () => item(ended)));
  assert.match(many.text, /^ {2}WARNING, no longer CRITICAL after 6 min 30 s, at 2026-01-31 12:09:30 UTC$/m);
});

Deno.test("deliver() counts older problems that recovered before they could be sent", async () => {
  const counting = item({ ...RECOVERY, detail: "" }, { missedProblem: REPORT, summarized: 1 });
  const { text } = await mailOf([counting]);
  assert.match(text, /^Host: server1\nAlso: 1 older problem recovered before they could be sent\n$/m);
  const many = await mailOf(Array.from({ length: 20 }, () => ({ ...counting, summarized: 12 })));
  assert.match(many.text, /^ {2}Also: 12 older problems recovered before they could be sent$/m);
});

Deno.test("deliver() marks a test in its subject and its text", async () => {
  const { subject, text } = await mailOf([item()], { isTest: true });
  assert.equal(subject, "[home] [night] TEST: Website is critical: status is 500, expected 200");
  assert.match(text, /^This is a test /);
});

Deno.test("deliver() sets ids of the message, its threads and the sender's domain", async (t) => {
  await t.step("a recovery is threaded under its problem", async () => {
    const mail = await mailOf([item(RECOVERY, { threadId: "message-0" })]);
    assert.equal(mail.messageId, "<message-1@example.org>");
    assert.deepEqual(mail.references, ["<message-0@example.org>"]);
    assert.deepEqual(mail.headers, { "Auto-Submitted": "auto-generated" });
    assert.equal(mail.dateMs, DECIDED_MS);
  });
  await t.step("each thread once, never its own, and a limited number", async () => {
    const ids = ["message-1", "a", "a", ...Array.from({ length: 100 }, (_, number) => `t${number}`)];
    const mail = await mailOf(ids.map((threadId) => item({}, { threadId })));
    assert.equal(mail.references.length, 20);
    assert.deepEqual(mail.references.slice(0, 2), ["<a@example.org>", "<t0@example.org>"]);
  });
  const domains = {
    "monitor@EXAMPLE.org": "example.org",
    "monitor@exämple.org": "xn--exmple-cua.org",
    "monitor@[192.0.2.1]": "localhost",
    "monitor": "monitor",
  };
  await testRows(t, domains, async (domain, sender) => {
    assert.equal((await mailOf([item()], { parameters: { sender } })).messageId, `<message-1@${domain}>`);
  });
});

Deno.test("deliver() keeps hostile and huge texts harmless", async () => {
  const huge = "x".repeat(1_000_000);
  const { subject, text } = await mailOf([
    item({
      title: `${huge}\u{1f525}`,
      output: `a\r\nHost: forged\0\x1b[2J${huge}`,
      detail: `${"line\x07\n".repeat(500_000)}`,
      hostName: "server1\nCheck: forged",
    }),
  ]);
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
  const { subject, text } = await mailOf(items);
  assert.match(
    subject,
    /^\[home\] \[night\] 500 checks have a problem \(125 CRITICAL, 125 WARNING, .*\): critical-0, .*, and 49\d more$/,
  );
  assert(text.length < 200_000, `${text.length}`);
  const notice = text.split("\n").flatMap((line) => /^(\S+) (?:is|has) .*: y/.exec(line)?.[1] ?? []);
  assert.deepEqual(notice, items.map(({ notification }) => notification.check));
});

Deno.test("deliver() returns the outcome of the server, or throws the error of the SMTP client", async () => {
  const failed = { sent: false, code: 535, mayHaveArrived: false, retryable: false } as const;
  const broken = { ...failed, retryable: true, mayHaveArrived: true };
  const rows: readonly (readonly [end: MailEnd, delivery: Delivery])[] = [
    [
      { sent: true, refused: [{ receiver: "b@example.org", reason: "550 gone" }] },
      { delivered: true, note: "rejected for b@example.org (550 gone)" },
    ],
    [{ ...failed, phase: "login", reason: "server replied 535 no" }, failure("login: server replied 535 no")],
    [
      { ...broken, phase: "data", reason: "connection closed" },
      failure("data: connection closed", { retryable: true, mayHaveArrived: true }),
    ],
  ];
  for (const [end, delivery] of rows) {
    assert.deepEqual((await deliver([item()], () => end)).delivery, delivery);
  }
  const reason = new Error("Time is up");
  await assert.rejects(deliver([item()], () => Promise.reject(reason)), (error) => error === reason);
});

Deno.test("describe() names the first receiver and counts the others", () => {
  const parameters = {
    ...CHANNEL.parameters,
    receivers: ["a@example.org", "b@example.org", "c@example.org"],
  };
  assert.equal(emailKind.describe({ ...CHANNEL, parameters }), "email to a@example.org and 2 more");
});
