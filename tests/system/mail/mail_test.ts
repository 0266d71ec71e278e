import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import PostalMime from "postal-mime";
import type { MailEnd, OutgoingMail } from "../../../src/domain/mail.ts";
import { createRealClock } from "../../../testing/real_clock.ts";
import { createMail, type Protection, protectionOf } from "../../../src/system/mail/mail.ts";
import { mailFailure } from "../../../src/system/mail/mail_failure.ts";
import { runArguments } from "../../../testing/source.ts";
import { inTime } from "../../life/in_time.ts";
import { concurrentSteps } from "../../support/concurrent_tests.ts";
import { createAuthority, createCertificate } from "../../support/certificates.ts";
import { collectPorts, startRefusing, untilLeft } from "../../support/http_servers.ts";
import {
  type MailVisitor,
  startMailServer,
  startScriptedServer,
  talkUpTo,
} from "../../support/mail_server.ts";
import { runChild } from "../../../testing/tools.ts";
import { testRows } from "../../support/rows.ts";

const MAIL: OutgoingMail = {
  host: "localhost",
  port: 25,
  username: "",
  password: "",
  sender: "monitor@example.org",
  receivers: ["admin@example.org"],
  subject: "CRITICAL: Website",
  text: "one\n.\n..two\nübung\n",
  messageId: "<2@example.org>",
  references: ["<0@example.org>", "<1@example.org>"],
  headers: { "Auto-Submitted": "auto-generated" },
  dateMs: Date.UTC(2026, 0, 31, 10, 0, 0),
};
const LOGIN = { username: "monitor", password: "correct horse" };

interface Sent {
  readonly end: MailEnd;
  readonly steps: readonly string[];
}

async function send(
  mail: Partial<OutgoingMail>,
  { protection, signal = new AbortController().signal }: {
    readonly protection?: Protection;
    readonly signal?: AbortSignal;
  } = {},
): Promise<Sent> {
  const steps: string[] = [];
  const protect = protection === undefined ? protectionOf : () => protection;
  const onStep = (step: string): void => {
    steps.push(step);
  };
  const end = await createMail(createRealClock(), protect).send({ ...MAIL, ...mail }, { onStep, signal });
  return { end, steps };
}

Deno.test("send() transmits an email with its headers, its text and its envelope", async () => {
  await using server = await startMailServer({ password: LOGIN.password });
  const receivers = ["admin@example.org", "night@example.org"];
  const { end, steps } = await send({ port: server.port, ...LOGIN, receivers });
  assert.deepEqual(end, { sent: true, refused: [] });
  assert.deepEqual(steps, ["resolved", "connected", "login", "accepted"]);
  assert.deepEqual(server.logins, ["monitor"]);
  assert.equal(server.mails.length, 1);
  const received = server.mails[0];
  assert(received !== undefined);
  assert.equal(received.sender, "monitor@example.org");
  assert.deepEqual(received.receivers, receivers);
  const parsed = await PostalMime.parse(received.raw);
  assert.equal(parsed.subject, "CRITICAL: Website");
  assert.equal(parsed.text, "one\n.\n..two\nübung\n");
  assert.equal(parsed.messageId, "<2@example.org>");
  assert.equal(parsed.references, "<0@example.org> <1@example.org>");
  assert.equal(parsed.inReplyTo, "<1@example.org>");
  assert.equal(parsed.date, "2026-01-31T10:00:00.000Z");
  assert.deepEqual(parsed.to?.map(({ address }) => address), receivers);
  assert.equal(parsed.headers.find(({ key }) => key === "auto-submitted")?.value, "auto-generated");
  await untilLeft(server.port);
});

Deno.test("send() keeps texts out of the headers, and accepts any text", async (t) => {
  await using steps = concurrentSteps(t);
  const rows: readonly { readonly name: string; readonly mail: Partial<OutgoingMail> }[] = [
    {
      name: "line breaks in the subject",
      mail: { subject: "a\r\nBcc: evil@example.org\n\nbody\rBcc: e@x.org" },
    },
    { name: "a lone surrogate", mail: { subject: "a\ud800b", text: "c\udc00d" } },
    { name: "a long subject without spaces", mail: { subject: "ü".repeat(5000) } },
    { name: "carriage returns and NUL in the text", mail: { text: "a\r.\r\nb\0c\r\n.\r\nQUIT\r\n" } },
    { name: "an empty text", mail: { text: "" } },
  ];
  for (const { name, mail } of rows) {
    steps.add(name, async () => {
      await using server = await startMailServer();
      const { end } = await send({ port: server.port, ...mail });
      assert.deepEqual(end, { sent: true, refused: [] });
      const received = server.mails[0];
      assert(received !== undefined);
      assert.equal(server.mails.length, 1);
      assert.deepEqual(received.receivers, MAIL.receivers);
      const parsed = await PostalMime.parse(received.raw);
      assert.equal(parsed.bcc, undefined);
      assert.deepEqual(
        parsed.headers.map(({ key }) => key).toSorted(),
        [
          "auto-submitted",
          "content-transfer-encoding",
          "content-type",
          "date",
          "from",
          "in-reply-to",
          "message-id",
          "mime-version",
          "references",
          "subject",
          "to",
        ],
      );
      for (const line of received.raw.split("\r\n")) assert(line.length <= 998);
    });
  }
});

Deno.test("send() keeps every character of a text of a megabyte", async () => {
  await using server = await startMailServer();
  const text = `${"Zeile mit Ümlauten 日本語 \u{1f525} = . end\n".repeat(25_000)}`;
  const { end } = await send({ port: server.port, text });
  assert.deepEqual(end, { sent: true, refused: [] });
  assert.equal((await PostalMime.parse(server.mails[0]?.raw ?? "")).text, text);
});

Deno.test("send() names rejected receivers, and that the others were accepted", async () => {
  await using server = await startMailServer({ refusals: { "gone@example.org": "550 5.1.1 no such user" } });
  const { end } = await send({ port: server.port, receivers: ["gone@example.org", "admin@example.org"] });
  assert.deepEqual(end, {
    sent: true,
    refused: [{ receiver: "gone@example.org", reason: "550 5.1.1 no such user" }],
  });
  assert.deepEqual(server.mails.map(({ receivers }) => receivers), [["admin@example.org"]]);
});

type Failure = Extract<MailEnd, { sent: false }>;

const REPLY = { mayHaveArrived: false } as const;
const PASSES = { ...REPLY, retryable: true } as const;
const UNSURE = { retryable: true, mayHaveArrived: true } as const;
const STAYS = { ...REPLY, retryable: false } as const;
/** An email that the system's buffers of a connection do not hold, so the server ends it before it was sent. */
const MORE_THAN_BUFFERS = `${"x".repeat(70)}\n`.repeat(120_000);

Deno.test("send() derives the phase and the outcome from a server's behavior", async (t) => {
  await using ports = collectPorts();
  await using steps = concurrentSteps(t);
  const answer = (command: RegExp, reply: string) => async (visitor: MailVisitor): Promise<void> => {
    await talkUpTo(command, visitor);
    await visitor.send(`${reply}\r\n`);
    await visitor.untilGone();
  };
  const afterData = (then: (visitor: MailVisitor) => Promise<void>) => async (visitor: MailVisitor) => {
    await talkUpTo(/^DATA$/, visitor);
    await visitor.send("354 go ahead\r\n");
    await then(visitor);
  };
  const readMail = async (visitor: MailVisitor): Promise<void> => {
    while (await visitor.readLine() !== ".");
  };
  const replyAfter = (read: (visitor: MailVisitor) => Promise<unknown>) => (reply: string) =>
    afterData(async (visitor) => {
      await read(visitor);
      await visitor.send(`${reply}\r\n`);
      await visitor.untilGone();
    });
  const afterMail = replyAfter(readMail);
  const duringMail = replyAfter((visitor) => visitor.readLine());
  const rows: Readonly<
    Record<
      string,
      readonly [
        meet: (visitor: MailVisitor) => Promise<void>,
        outcome: Pick<Failure, "retryable" | "mayHaveArrived">,
        expected: string,
        mail?: Partial<OutgoingMail>,
        protection?: Protection,
      ]
    >
  > = {
    "554 for a greeting": [
      (visitor) => visitor.send("554-go\r\n554 away\r\n"),
      STAYS,
      "greeting 554: server replied 554-go 554 away",
    ],
    "closes without a word": [
      () => Promise.resolve(),
      PASSES,
      "greeting null: connection closed by the server",
    ],
    "535 for a login": [
      answer(/^AUTH/, "535 5.7.8 authentication failed"),
      STAYS,
      "login 535: server replied 535 5.7.8 authentication failed",
      LOGIN,
    ],
    "454 for a login": [
      answer(/^AUTH/, "454 temporary authentication failure"),
      PASSES,
      "login 454: server replied 454 temporary authentication failure",
      LOGIN,
    ],
    "offers no login": [
      (visitor) => talkUpTo(/^never$/, visitor, ["SIZE"]),
      STAYS,
      "login null: server offers no login",
      LOGIN,
    ],
    "requires a login, and the password is empty": [
      (visitor) => talkUpTo(/^never$/, visitor),
      STAYS,
      "login null: password is empty",
      { ...LOGIN, password: "" },
    ],
    "550 for the sender": [
      answer(/^MAIL/, "550 not from you"),
      STAYS,
      "sender 550: server replied 550 not from you",
    ],
    "550 for the only receiver": [
      answer(/^RCPT/, "550 no such user"),
      STAYS,
      "receivers 550: server replied 550 no such user",
    ],
    "closes at DATA": [
      (visitor) => talkUpTo(/^DATA$/, visitor),
      PASSES,
      "data null: connection closed by the server",
    ],
    "closes during the email": [
      afterData((visitor) => visitor.readBytes(100_000)),
      PASSES,
      "data null: connection reset by the server",
      { text: MORE_THAN_BUFFERS },
    ],
    "closes after the final dot": [afterData(readMail), UNSURE, "data null: connection closed by the server"],
    "451 after the final dot": [
      afterMail("451 try later"),
      PASSES,
      "data 451: server replied 451 try later",
    ],
    "421 after the final dot": [
      afterMail("421 closing"),
      UNSURE,
      "data 421: server replied 421 closing",
    ],
    "554 after the final dot": [
      afterMail("554 spam\x07\x1b[2J"),
      STAYS,
      "data 554: server replied 554 spam [2J",
    ],
    "354 once more after the final dot": [
      afterMail("354 go ahead"),
      UNSURE,
      "data 354: server replied 354 go ahead",
    ],
    "another protocol after the final dot": [
      afterMail("thanks"),
      UNSURE,
      "data null: reply is not SMTP: thanks",
    ],
    "250 for DATA, pipelined": [
      async (visitor) => {
        await talkUpTo(/^DATA$/, visitor, ["PIPELINING"]);
        await visitor.send("250 queued\r\n");
        await visitor.untilGone();
      },
      PASSES,
      "data 250: server replied 250 queued, expected 354",
    ],
    "replies to the email together with the reply to DATA": [
      answer(/^DATA$/, "354 go ahead\r\n250 queued"),
      PASSES,
      "data null: server replied too early",
    ],
    "replies to all commands before they are sent": [
      answer(/^RCPT/, "250 ok\r\n354 go ahead\r\n250 queued"),
      PASSES,
      "receivers null: server replied too early",
    ],
    "replies to the email while it is sent": [
      duringMail("250 queued"),
      PASSES,
      "data null: server replied too early",
      { text: MORE_THAN_BUFFERS },
    ],
    "begins the next reply before the command": [
      answer(/^MAIL/, "250 ok\r\n250-"),
      PASSES,
      "receivers null: server replied too early",
    ],
    "replies after the go-ahead to STARTTLS, in clear text": [
      async (visitor) => {
        await talkUpTo(/^STARTTLS$/, visitor, ["STARTTLS"]);
        await visitor.send("220 go ahead\r\n250 mail.example.org\r\n");
        await visitor.untilGone();
      },
      PASSES,
      "TLS null: server replied too early",
      {},
      "required",
    ],
    "closes the session after the reply to the sender": [
      answer(/^MAIL/, "250 ok\r\n421 shutting down"),
      PASSES,
      "receivers 421: server replied 421 shutting down",
    ],
    "rejects the email while it is sent": [
      duringMail("552 too much"),
      STAYS,
      "data 552: server replied 552 too much",
      { text: MORE_THAN_BUFFERS },
    ],
    "rejects one receiver temporarily and one permanently": [
      async (visitor) => {
        await talkUpTo(/^RCPT/, visitor);
        await visitor.send("550 no such user\r\n");
        await visitor.readLine();
        await visitor.send("450 greylisted\r\n");
        await visitor.untilGone();
      },
      PASSES,
      "receivers 450: server replied 450 greylisted",
      { receivers: ["gone@example.org", "admin@example.org"] },
    ],
    "offers no supported login": [
      (visitor) => talkUpTo(/^never$/, visitor, ["AUTH CRAM-MD5"]),
      STAYS,
      "login null: server offers no login with PLAIN or LOGIN",
      LOGIN,
    ],
    "requests the credentials again and again": [
      async (visitor) => {
        await talkUpTo(/^AUTH/, visitor);
        for (;;) {
          await visitor.send("334 \r\n");
          await visitor.readLine();
        }
      },
      PASSES,
      "login 334: server replied 334",
      LOGIN,
    ],
    "rejects an email of this size": [
      (visitor) => talkUpTo(/^never$/, visitor, ["SIZE 100"]),
      STAYS,
      "sender null: email is larger than the 100 bytes that the server accepts",
    ],
  };
  for (const [name, [meet, outcome, expected, mail, protection]] of Object.entries(rows)) {
    steps.add(name, async () => {
      await using server = startScriptedServer(meet);
      ports.add(server.port);
      const sent = await send({ port: server.port, ...mail }, protection === undefined ? {} : { protection });
      const { phase, code, retryable, mayHaveArrived, reason } = sent.end as Failure;
      assert.deepEqual({ retryable, mayHaveArrived }, outcome);
      // How the end of a connection shows is the system's choice.
      const words = reason.replace("connection reset by", "connection closed by");
      assert.equal(
        `${phase} ${code}: ${words}`,
        expected.replace("connection reset by", "connection closed by"),
      );
    });
  }
});

const TOO_MUCH = "reply is too long";

Deno.test("send() limits the size of a reply", async (t) => {
  const rows: Readonly<
    Record<string, {
      readonly phase: string;
      readonly meet: (visitor: MailVisitor) => Promise<void>;
    }>
  > = {
    "empty lines for a greeting": { phase: "greeting", meet: (visitor) => visitor.send(EMPTY_LINES) },
    "a greeting of many lines": {
      phase: "greeting",
      meet: (visitor) => visitor.send("220-mail.example.org\r\n".repeat(1e5)),
    },
    "a challenge of white space": {
      phase: "login",
      meet: async (visitor) => {
        await talkUpTo(/^AUTH LOGIN$/, visitor, ["AUTH LOGIN"]);
        await visitor.send(`334 ${" ".repeat(1e6)}\ra\rb\r\n`);
      },
    },
    "empty lines instead of a reply to the email": {
      phase: "data",
      meet: async (visitor) => {
        await talkUpTo(/^DATA$/, visitor);
        await visitor.send("354 go ahead\r\n");
        await visitor.readLine();
        await visitor.send(EMPTY_LINES);
      },
    },
  };
  await testRows(t, rows, async ({ phase, meet }) => {
    await using server = startScriptedServer(async (visitor) => {
      await meet(visitor);
      await visitor.untilGone();
    });
    const { end } = await send({ port: server.port, ...LOGIN });
    assert(!end.sent);
    assert.deepEqual([end.reason, end.phase, end.retryable], [TOO_MUCH, phase, true]);
    await untilLeft(server.port);
  });
});

const EMPTY_LINES = "\n".repeat(1 << 20);

Deno.test("send() logs in and submits with every supported method", async (t) => {
  const base64 = (text: string): string => new TextEncoder().encode(text).toBase64();
  const credentials = base64(`\0${LOGIN.username}\0${LOGIN.password}`);
  const rows: Readonly<
    Record<string, {
      readonly extensions: readonly string[];
      /** Replies other than 250 to the commands after EHLO. */
      readonly replies?: Readonly<Record<string, string>>;
      readonly mail: Partial<OutgoingMail>;
      readonly commands: readonly string[];
    }>
  > = {
    "PLAIN": {
      extensions: ["auth login plain", "8BITMIME"],
      replies: { [`AUTH PLAIN ${credentials}`]: "235 welcome" },
      mail: LOGIN,
      commands: [`AUTH PLAIN ${credentials}`, "MAIL FROM:<monitor@example.org>"],
    },
    "PLAIN, by a server that ignores an initial response": {
      extensions: ["AUTH=PLAIN"],
      replies: { [`AUTH PLAIN ${credentials}`]: "334 ", [credentials]: "235 welcome" },
      mail: LOGIN,
      commands: [`AUTH PLAIN ${credentials}`, credentials, "MAIL FROM:<monitor@example.org>"],
    },
    "LOGIN": {
      extensions: ["AUTH CRAM-MD5 LOGIN"],
      replies: {
        "AUTH LOGIN": `334 ${base64("Username:")}`,
        [base64(LOGIN.username)]: `334 ${base64("Password:")}`,
        [base64(LOGIN.password)]: "235 welcome",
      },
      mail: LOGIN,
      commands: [
        "AUTH LOGIN",
        base64(LOGIN.username),
        base64(LOGIN.password),
        "MAIL FROM:<monitor@example.org>",
      ],
    },
    "without EHLO": {
      extensions: [],
      replies: { EHLO: "502 what" },
      mail: {},
      commands: ["HELO [127.0.0.1]", "MAIL FROM:<monitor@example.org>"],
    },
    "addresses beyond ASCII": {
      extensions: ["SMTPUTF8", "8BITMIME", "SIZE"],
      mail: { sender: "übung@example.org", receivers: ["admin@bücher.example"] },
      commands: [
        "MAIL FROM:<übung@example.org> SIZE=# BODY=8BITMIME SMTPUTF8",
        "RCPT TO:<admin@xn--bcher-kva.example>",
      ],
    },
    "addresses in ASCII, and a size": {
      extensions: ["SMTPUTF8", "8BITMIME", "SIZE 100000"],
      mail: {},
      commands: ["MAIL FROM:<monitor@example.org> SIZE=#", "RCPT TO:<admin@example.org>"],
    },
  };
  await testRows(t, rows, async ({ extensions, replies = {}, mail, commands }) => {
    await using server = startScriptedServer(async (visitor) => {
      await visitor.send("220 mail.example.org\r\n");
      for (;;) {
        const line = await visitor.readLine();
        const hello = ["mail.example.org", ...extensions]
          .map((text, index) => `250${index === extensions.length ? " " : "-"}${text}`);
        if (/^EHLO/.test(line)) await visitor.send(`${replies["EHLO"] ?? hello.join("\r\n")}\r\n`);
        else await visitor.send(`${line === "DATA" ? "354 go" : replies[line] ?? "250 ok"}\r\n`);
        if (line === "DATA") {
          while (await visitor.readLine() !== ".");
          await visitor.send("250 taken\r\n");
        }
      }
    });
    const { end } = await send({ port: server.port, ...mail }, { protection: "none" });
    assert.deepEqual(end, { sent: true, refused: [] });
    const received = new TextDecoder().decode(
      Uint8Array.from(server.received, (character) => character.charCodeAt(0)),
    );
    const lines = received.replace(/ SIZE=\d+/, " SIZE=#").split("\r\n");
    assert.deepEqual(lines.slice(1, 1 + commands.length), commands);
  });
});

Deno.test("send() accepts the verbose replies of a server", async () => {
  const many = (code: number): string =>
    Array.from({ length: 10 }, (_, index) => `${code}${index < 9 ? "-" : " "}${"so ".repeat(1000)}\r\n`)
      .join("");
  await using server = startScriptedServer(async (visitor) => {
    await visitor.send(many(220));
    for (;;) {
      const line = await visitor.readLine();
      if (line === "") continue;
      if (/^EHLO/.test(line)) await visitor.send(many(250));
      else {await visitor.send(
          /^RCPT TO:<no-/.test(line) ? many(550) : line === "DATA" ? many(354) : many(250),
        );}
      if (line === "DATA") {
        while (await visitor.readLine() !== ".");
        await visitor.send(many(250));
      }
    }
  });
  const receivers = Array.from(
    { length: 100 },
    (_, index) => `${index % 2 ? "no" : "yes"}-${index}@example.org`,
  );
  const { end } = await send({ port: server.port, receivers });
  assert(end.sent);
  assert.equal(end.refused.length, 50);
});

Deno.test("send() ignores a missing reply to QUIT", async () => {
  await using server = startScriptedServer(async (visitor) => {
    await talkUpTo(/^DATA$/, visitor);
    await visitor.send("354 go ahead\r\n");
    while (await visitor.readLine() !== ".");
    await visitor.send("250 taken\r\n");
    await visitor.untilGone();
  });
  const { end } = await send({ port: server.port });
  assert.deepEqual(end, { sent: true, refused: [] });
  await untilLeft(server.port);
});

Deno.test("send() aborts with the signal, whatever the server does, and leaks no socket", async (t) => {
  await using steps = concurrentSteps(t);
  type Meet = (visitor: MailVisitor, ready: () => void) => Promise<void>;
  const rows: readonly { readonly name: string; readonly protection?: Protection; readonly meet: Meet }[] = [
    {
      name: "silent",
      meet: async (visitor, ready) => {
        ready();
        await visitor.untilGone();
      },
    },
    {
      name: "drips its greeting",
      meet: async (visitor, ready) => {
        for (let count = 0;; count++) {
          await visitor.send("2");
          if (count === 5) ready();
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      },
    },
    {
      name: "no reply to a handshake",
      protection: "from_start",
      meet: async (visitor, ready) => {
        await visitor.readBytes(1);
        ready();
        await visitor.untilGone();
      },
    },
    {
      name: "no reply to a handshake after STARTTLS",
      protection: "required",
      meet: async (visitor, ready) => {
        await talkUpTo(/^STARTTLS$/, visitor, ["STARTTLS"]);
        await visitor.send("220 go ahead\r\n");
        await visitor.readBytes(1);
        ready();
        await visitor.untilGone();
      },
    },
    {
      name: "accepts the email and never replies",
      meet: async (visitor, ready) => {
        await talkUpTo(/^DATA$/, visitor);
        await visitor.send("354 go ahead\r\n");
        while (await visitor.readLine() !== ".");
        ready();
        await visitor.untilGone();
      },
    },
  ];
  for (const { name, protection, meet } of rows) {
    steps.add(name, async () => {
      const { promise: isReady, resolve: ready } = Promise.withResolvers<void>();
      await using server = startScriptedServer((visitor) => meet(visitor, ready));
      const abort = new AbortController();
      const reason = new Error("Time is up");
      const options = { signal: abort.signal, ...protection === undefined ? {} : { protection } };
      const sending = send({ port: server.port }, options);
      await inTime("the server to be ready", isReady);
      abort.abort(reason);
      await assert.rejects(sending, (error) => error === reason);
      await untilLeft(server.port);
    });
  }
});

Deno.test("send() throws the signal's reason when it has aborted before", async () => {
  const reason = new Error("Time is up");
  await assert.rejects(
    send({ port: 1 }, { signal: AbortSignal.abort(reason) }),
    (e) => e === reason,
  );
});

Deno.test("send() reports a refused connection", async () => {
  using refusing = await startRefusing();
  const { end, steps } = await send({ port: refusing.port });
  assert.deepEqual(end, {
    sent: false,
    phase: "connecting",
    code: null,
    ...PASSES,
    reason: "connection refused",
  });
  assert.deepEqual(steps, ["resolved"]);
});

Deno.test("mailFailure() distinguishes resolving, connecting and missing permissions", async (t) => {
  const rows = [
    { code: "ENOTFOUND", phase: "resolving", retryable: true, reason: "name does not resolve" },
    { code: "EAI_AGAIN", phase: "resolving", retryable: true, reason: "no response from a name server" },
    { code: "EHOSTUNREACH", phase: "connecting", retryable: true, reason: "no route to the host" },
    {
      code: "ETIMEDOUT",
      phase: "connecting",
      retryable: true,
      reason: "no response to the connection attempt",
    },
    {
      code: "EPERM",
      phase: "permission",
      retryable: false,
      reason: 'needs network access to "localhost:25": grant --allow-net=localhost:25',
    },
  ];
  for (const { code, ...expected } of rows) {
    await t.step(code, () => {
      const error = Object.assign(new Error("no"), { code });
      const connecting = { phase: "connecting", wasHandedOver: false };
      const { phase, retryable, reason } = mailFailure(error, connecting, MAIL);
      assert.deepEqual({ phase, retryable, reason }, expected);
    });
  }
});

Deno.test("protectionOf() keeps credentials from the network", async (t) => {
  const rows = [
    { port: 465, address: "192.0.2.1", hasLogin: true, protection: "from_start" },
    { port: 465, address: "127.0.0.1", hasLogin: false, protection: "from_start" },
    { port: 587, address: "192.0.2.1", hasLogin: true, protection: "required" },
    { port: 25, address: "2001:db8::1", hasLogin: true, protection: "required" },
    { port: 25, address: "127.0.0.1.example.org", hasLogin: true, protection: "required" },
    { port: 25, address: "", hasLogin: true, protection: "required" },
    { port: 25, address: "192.0.2.1", hasLogin: false, protection: "offered" },
    { port: 587, address: "127.8.9.10", hasLogin: true, protection: "offered" },
    { port: 587, address: "::1", hasLogin: true, protection: "offered" },
    { port: 587, address: "::ffff:127.0.0.1", hasLogin: true, protection: "offered" },
    { port: 587, address: "::ffff:192.0.2.1", hasLogin: true, protection: "required" },
    { port: 25, address: "127.0.0.1", hasLogin: false, protection: "none" },
  ];
  for (const { protection, ...facts } of rows) {
    await t.step(JSON.stringify(facts), () => assert.equal(protectionOf(facts), protection));
  }
});

Deno.test("send() sends no credentials to a server without STARTTLS unless they are safe", async (t) => {
  const extensions = {
    "a server that does not know it": ["AUTH PLAIN LOGIN"],
    "a server that offers it and rejects it": ["STARTTLS", "AUTH PLAIN LOGIN"],
  };
  await testRows(t, extensions, async (offered) => {
    await using server = startScriptedServer(async (visitor) => {
      await talkUpTo(/^STARTTLS$/, visitor, offered);
      await visitor.send("502 5.5.1 command not implemented\r\n");
      await visitor.untilGone();
    });
    const { end } = await send({ port: server.port, ...LOGIN }, { protection: "required" });
    assert.deepEqual(end, {
      sent: false,
      phase: "TLS",
      code: null,
      ...STAYS,
      reason: "server offers no STARTTLS: monitor sends no login without TLS",
    });
    assert.equal(/AUTH|MAIL/.test(server.received), false);
    await untilLeft(server.port);
  });
});

Deno.test("send() rejects an invalid certificate and returns the reason", async (t) => {
  const expired = createCertificate({ fromDay: -5, toDay: -2, authority: createAuthority() });
  const rows = [
    { name: "self-signed", certificate: createCertificate(), reason: /^certificate is not trusted/ },
    {
      name: "a CA's own",
      certificate: createCertificate({ isAuthority: true }),
      reason: /^certificate is not trusted/,
    },
    { name: "expired", certificate: expired, reason: /^certificate expired 2 d/ },
  ];
  for (const { name, certificate, reason } of rows) {
    for (const begin of ["STARTTLS", "from_start"] as const) {
      await t.step(`${name}, ${begin}`, async () => {
        await using server = await startMailServer({ tls: { certificate, begin }, password: LOGIN.password });
        const protection = begin === "STARTTLS" ? "offered" : "from_start";
        const { end, steps } = await send({ port: server.port, ...LOGIN }, { protection });
        assert(!end.sent);
        assert.match(end.reason, reason);
        assert.deepEqual({ ...end, reason: "" }, {
          sent: false,
          phase: "TLS",
          code: null,
          ...STAYS,
          reason: "",
        });
        assert.deepEqual(steps, ["resolved", "connected"]);
        assert.deepEqual(server.logins, []);
        await untilLeft(server.port);
      });
    }
  }
});

Deno.test("send() distinguishes a server without TLS from a lost connection", async (t) => {
  const startTls = async (visitor: MailVisitor): Promise<void> => {
    await talkUpTo(/^STARTTLS$/, visitor, ["STARTTLS", "AUTH PLAIN"]);
    await visitor.send("220 go ahead\r\n");
    await visitor.readBytes(1);
  };
  const rows: Readonly<
    Record<string, {
      readonly protection: Protection;
      readonly meet: (visitor: MailVisitor) => Promise<void>;
      readonly retryable: boolean;
      readonly reason: RegExp;
    }>
  > = {
    "clear text instead of TLS from the start": {
      protection: "from_start",
      meet: async (visitor) => {
        await visitor.send("220 mail.example.org ESMTP\r\n");
        await visitor.untilGone();
      },
      retryable: false,
      reason: /^response is not TLS$/,
    },
    "clear text after STARTTLS": {
      protection: "required",
      meet: async (visitor) => {
        await startTls(visitor);
        await visitor.send("250 hello again\r\n");
        await visitor.untilGone();
      },
      retryable: false,
      reason: /^response is not TLS$/,
    },
    "closes in the handshake": {
      protection: "required",
      meet: startTls,
      retryable: true,
      reason: /^connection (?:closed|reset)/,
    },
  };
  await testRows(t, rows, async ({ protection, meet, retryable, reason }) => {
    await using server = startScriptedServer(meet);
    const { end } = await send({ port: server.port, ...LOGIN }, { protection });
    assert(!end.sent);
    assert.match(end.reason, reason);
    assert.deepEqual([end.phase, end.code, end.retryable, end.mayHaveArrived], [
      "TLS",
      null,
      retryable,
      false,
    ]);
    assert.equal(/AUTH|MAIL/.test(server.received), false);
    await untilLeft(server.port);
  });
});

const SEND_MAIL = fileURLToPath(new URL("../../support/send_mail.ts", import.meta.url));

/** Sends in a separate process, which fails if it does not terminate. */
async function sendApart(mail: OutgoingMail, env: Readonly<Record<string, string>> = {}): Promise<Sent> {
  const { code, stdout, stderr } = await runChild(
    Deno.execPath(),
    [...runArguments(), SEND_MAIL, JSON.stringify(mail), "required"],
    { env },
  );
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as Sent;
}

/** The behavior of an SMTP server after STARTTLS. */
interface TlsHarness extends AsyncDisposable {
  /** For the sender's process, which is to trust it. */
  readonly environment: Readonly<Record<string, string>>;
  /** Passes a client on that has sent STARTTLS, until one of both disconnects. */
  admit(visitor: MailVisitor): Promise<void>;
}

/** Runs one session; a client that disconnects early ends it. */
async function startTlsHarness(respond: (connection: Deno.TlsConn) => Promise<void>): Promise<TlsHarness> {
  const authority = createAuthority();
  const caPath = await Deno.makeTempFile();
  await Deno.writeTextFile(caPath, authority.cert);
  const inner = Deno.listenTls({ hostname: "127.0.0.1", port: 0, ...createCertificate({ authority }) });
  const responding = (async () => {
    using connection = await inner.accept();
    await connection.handshake();
    await respond(connection);
  })().catch(() => {});
  return {
    environment: { DENO_CERT: caPath },
    async admit(visitor) {
      using plain = await Deno.connect({ hostname: "127.0.0.1", port: inner.addr.port });
      await visitor.send("220 go ahead\r\n");
      await visitor.exchange(plain);
    },
    async [Symbol.asyncDispose]() {
      inner.close();
      await inTime("the end of the play", responding);
      await Deno.remove(caPath);
    },
  };
}

Deno.test("send() disconnects if a server ends TLS and keeps the connection", async () => {
  let isSent = false;
  await using harness = await startTlsHarness(async (connection) => {
    const bytes = new Uint8Array(100);
    await connection.read(bytes);
    await connection.write(new TextEncoder().encode("250-mail.example.org\r\n250 AUTH PLAIN\r\n"));
    await connection.read(bytes);
    isSent = true;
  });
  await using server = startScriptedServer(async (visitor) => {
    await talkUpTo(/^STARTTLS$/, visitor, ["STARTTLS", "AUTH PLAIN"]);
    await harness.admit(visitor);
    await visitor.untilGone();
  });
  const { end } = await sendApart({ ...MAIL, port: server.port, ...LOGIN }, harness.environment);
  assert(!end.sent);
  assert.deepEqual([end.reason, end.mayHaveArrived], ["connection closed by the server", false]);
  assert.ok(isSent);
});

Deno.test("send() limits the size of a reply over TLS", async () => {
  await using harness = await startTlsHarness(async (connection) => {
    await connection.read(new Uint8Array(100));
    for (;;) await connection.write(new Uint8Array(10_000).fill(0x0a));
  });
  await using server = startScriptedServer(async (visitor) => {
    await talkUpTo(/^STARTTLS$/, visitor, ["STARTTLS", "AUTH PLAIN"]);
    await harness.admit(visitor);
  });
  const { end } = await sendApart({ ...MAIL, port: server.port, ...LOGIN }, harness.environment);
  assert(!end.sent);
  assert.deepEqual([end.reason, end.phase, end.retryable], [TOO_MUCH, "greeting", true]);
});

Deno.test("send() describes a handshake that fails once, but not when it is repeated for the reason", async () => {
  await using harness = await startTlsHarness(async (connection) => {
    await connection.read(new Uint8Array(1));
  });
  let visits = 0;
  await using server = startScriptedServer(async (visitor) => {
    await talkUpTo(/^STARTTLS$/, visitor, ["STARTTLS", "AUTH PLAIN"]);
    if (++visits > 1) return await harness.admit(visitor);
    await visitor.send("220 go ahead\r\n");
    await visitor.readBytes(1);
    await visitor.send("250 hello again\r\n");
    await visitor.untilGone();
  });
  const { end } = await sendApart({ ...MAIL, port: server.port, ...LOGIN }, harness.environment);
  assert(!end.sent);
  assert.match(end.reason, /^(?:handshake failed|response is not TLS)$/);
  assert.deepEqual([end.phase, end.retryable, end.mayHaveArrived, visits], ["TLS", true, false, 2]);
});

Deno.test("send() ignores data that a server sends after TLS ended", async () => {
  let visits = 0;
  await using server = startScriptedServer(async (visitor) => {
    // The second connection reads the certificate for the reason, and takes its time.
    if (++visits > 1) return await new Promise((resolve) => setTimeout(resolve, 300));
    await talkUpTo(/^STARTTLS$/, visitor, ["STARTTLS", "AUTH PLAIN"]);
    await visitor.send("220 go ahead\r\n");
    await visitor.readBytes(1);
    for (;;) {
      await visitor.send("250 hello again\r\n");
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  });
  const { end } = await sendApart({ ...MAIL, port: server.port, ...LOGIN });
  assert(!end.sent);
  assert.deepEqual([end.phase, end.mayHaveArrived], ["TLS", false]);
});

Deno.test("send() requires network permission to its host and port only, and trusts the configured CA", async (t) => {
  const authority = createAuthority();
  const caPath = await Deno.makeTempFile();
  await Deno.writeTextFile(caPath, authority.cert);
  const good = createCertificate({ authority });
  const other = createCertificate({ authority, hosts: ["other.example"], addresses: [] });
  const rows: Readonly<
    Record<string, {
      readonly server: Parameters<typeof startMailServer>[0];
      readonly protection?: Protection;
      readonly steps: readonly string[];
      readonly reason?: RegExp;
    }>
  > = {
    "clear text": { server: {}, steps: ["resolved", "connected", "login", "accepted"] },
    "STARTTLS": {
      server: { tls: { certificate: good, begin: "STARTTLS" } },
      steps: ["resolved", "connected", "TLS", "login", "accepted"],
    },
    "TLS from the start": {
      server: { tls: { certificate: good, begin: "from_start" } },
      protection: "from_start",
      steps: ["resolved", "connected", "TLS", "login", "accepted"],
    },
    "a certificate for another name": {
      server: { tls: { certificate: other, begin: "STARTTLS" } },
      steps: ["resolved", "connected"],
      reason: /^certificate is not valid for name "localhost"$/,
    },
  };
  try {
    await testRows(t, rows, async ({ server: options, protection, steps, reason }) => {
      await using server = await startMailServer({ ...options, password: LOGIN.password });
      const mail = JSON.stringify({ ...MAIL, ...LOGIN, port: server.port });
      const { code, stdout, stderr } = await runChild(Deno.execPath(), [
        ...runArguments([`--allow-net=localhost:${server.port}`]),
        SEND_MAIL,
        ...[mail, protection ?? ""].filter((argument) => argument !== ""),
      ], { env: { DENO_CERT: caPath, DENO_TLS_CA_STORE: "mozilla" } });
      assert.equal(code, 0, stderr);
      const notified = JSON.parse(stdout) as Sent;
      assert.deepEqual(notified.steps, steps);
      assert.equal(notified.end.sent, reason === undefined);
      if (reason !== undefined) assert.match((notified.end as Failure).reason, reason);
      assert.equal(server.mails.length, reason === undefined ? 1 : 0);
    });
  } finally {
    await Deno.remove(caPath);
  }
});
