import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import PostalMime from "postal-mime";
import type { MailEnd, OutgoingMail } from "../../../src/domain/system.ts";
import { createRealClock } from "../../../testing/real_clock.ts";
import { createMail, type Protection, protectionOf } from "../../../src/system/mail/mail.ts";
import { mailFailure } from "../../../src/system/mail/smtp_connection.ts";
import { runArguments } from "../../../testing/source.ts";
import { inTime } from "../../life/in_time.ts";
import { concurrentSteps } from "../../support/concurrent_tests.ts";
import { type Certificate, createAuthority, createCertificate } from "../../support/certificates.ts";
import { collectPorts, startRefusing, untilLeft } from "../../support/http_servers.ts";
import {
  type MailServer,
  type MailVisitor,
  startMailServer,
  startScriptedServer,
  talkUpTo,
} from "../../support/mail_server.ts";
import { requiresTools, runChild } from "../../../testing/tools.ts";
import { linesOf, type Rows, testRows, testTable } from "../../support/rows.ts";

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

interface SendOptions {
  readonly protection?: Protection;
  readonly signal?: AbortSignal;
}

async function send(
  mail: Partial<OutgoingMail>,
  { protection, signal = new AbortController().signal }: SendOptions = {},
): Promise<Sent> {
  const steps: string[] = [];
  const protect = protection === undefined ? protectionOf : () => protection;
  const onStep = (step: string) => void steps.push(step);
  const end = await createMail(createRealClock(), protect).send({ ...MAIL, ...mail }, { onStep, signal });
  return { end, steps };
}

type Failure = Extract<MailEnd, { sent: false }>;

/** Sends in vain; returns the failure, and the same as a text: phase, code and reason. */
async function sendInVain(mail: Partial<OutgoingMail>, options?: SendOptions): Promise<[Failure, string]> {
  const { end } = await send(mail, options);
  assert(!end.sent);
  return [end, `${end.phase} ${end.code}: ${end.reason}`];
}

/**
 * Plays a server by a list of parts. It sends most parts as lines, with `+` between those of one piece. A command in
 * capitals is waited for, with the extensions of EHLO in parentheses; `line`, `mail` and `bytes` are read. It waits for
 * the client in the end unless it `closes`.
 */
function playing(script: string): (visitor: MailVisitor, ready?: () => void) => Promise<void> {
  const readMail = async (visitor: MailVisitor): Promise<void> => {
    while (await visitor.readLine() !== ".");
  };
  const parts: Readonly<Record<string, (visitor: MailVisitor) => Promise<unknown>>> = {
    line: (visitor) => visitor.readLine(),
    mail: readMail,
    byte: (visitor) => visitor.readBytes(1),
    bytes: (visitor) => visitor.readBytes(100_000),
  };
  return async (visitor, ready) => {
    for (const part of script.split(" / ")) {
      const [, command, extensions] = /^([A-Z]{4,})(?: \((.*)\))?$/.exec(part) ?? [];
      if (part === "closes") return;
      if (part === "ready") ready?.();
      else if (command !== undefined) {
        await talkUpTo(new RegExp(`^${command}`), visitor, extensions?.split(", "));
      } else if (parts[part] !== undefined) await parts[part](visitor);
      else if (part !== "") await visitor.send(`${part.replaceAll(" + ", "\r\n")}\r\n`);
    }
    await visitor.untilGone();
  };
}

Deno.test("send() transmits an email with its headers, its text and its envelope", async () => {
  await using server = await startMailServer({ password: LOGIN.password });
  const receivers = ["admin@example.org", "night@example.org"];
  const { end, steps } = await send({ port: server.port, ...LOGIN, receivers });
  assert.deepEqual(end, { sent: true, refused: [] });
  assert.deepEqual(steps, ["resolved", "connected", "login", "accepted"]);
  assert.deepEqual(server.logins, ["monitor"]);
  assert.equal(server.mails.length, 1);
  const [received = assert.fail()] = server.mails;
  assert.deepEqual([received.sender, received.receivers], ["monitor@example.org", receivers]);
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
  const headers = "auto-submitted content-transfer-encoding content-type date from in-reply-to message-id " +
    "mime-version references subject to";
  const rows: Readonly<Record<string, Partial<OutgoingMail>>> = {
    "line breaks in the subject": { subject: "a\r\nBcc: evil@example.org\n\nbody\rBcc: e@x.org" },
    "a lone surrogate": { subject: "a\ud800b", text: "c\udc00d" },
    "a long subject without spaces": { subject: "ü".repeat(5000) },
    "carriage returns and NUL in the text": { text: "a\r.\r\nb\0c\r\n.\r\nQUIT\r\n" },
    "an empty text": { text: "" },
  };
  for (const [name, mail] of Object.entries(rows)) {
    steps.add(name, async () => {
      await using server = await startMailServer();
      const { end } = await send({ port: server.port, ...mail });
      assert.deepEqual(end, { sent: true, refused: [] });
      const [received = assert.fail(), ...others] = server.mails;
      assert.deepEqual([received.receivers, others], [MAIL.receivers, []]);
      const parsed = await PostalMime.parse(received.raw);
      assert.equal(parsed.headers.map(({ key }) => key).toSorted().join(" "), headers);
      for (const line of received.raw.split("\r\n")) assert(line.length <= 998);
    });
  }
});

Deno.test("send() keeps every character of a long text", async () => {
  await using server = await startMailServer();
  const text = `${"Zeile mit Ümlauten 日本語 \u{1f525} = . end\n".repeat(6_000)}`;
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

/** Whether a failure is retried, and whether the email may have arrived. */
const OUTCOMES: Rows<[retryable: boolean, mayHaveArrived: boolean]> = {
  stays: [false, false],
  passes: [true, false],
  unsure: [true, true],
};

/** The behavior of a server, the outcome, and phase, code and reason. */
const SERVERS = `
  554 for a greeting        | 554-go + 554 away / closes | stays | greeting 554: server replied 554-go 554 away
  closes without a word     | closes | passes | greeting null: connection closed by the server
  535 for a login           | AUTH / 535 5.7.8 failed | stays | login 535: server replied 535 5.7.8 failed
  454 for a login           | AUTH / 454 temporary failure | passes | login 454: server replied 454 temporary failure
  offers no login           | NEVER (SIZE) | stays | login null: server offers no login
  offers no supported login | NEVER (AUTH CRAM-MD5) | stays | login null: server offers no login with PLAIN or LOGIN
  the password is empty     | NEVER | stays | login null: password is empty
  550 for the sender        | MAIL / 550 not from you | stays | sender 550: server replied 550 not from you
  550 for the only receiver | RCPT / 550 no such user | stays | receivers 550: server replied 550 no such user
  closes at DATA            | DATA / closes | passes | data null: connection closed by the server
  closes during the email   | DATA / 354 go ahead / bytes / closes | passes | data null: connection closed by the server
  closes after the dot      | DATA / 354 go ahead / mail / closes | unsure | data null: connection closed by the server
  451 after the dot         | DATA / 354 go ahead / mail / 451 later | passes | data 451: server replied 451 later
  421 after the dot         | DATA / 354 go ahead / mail / 421 closing | unsure | data 421: server replied 421 closing
  554 after the dot         | DATA / 354 go ahead / mail / 554 spam\x07\x1b[2J | stays | data 554: server replied 554 spam [2J
  354 after the dot         | DATA / 354 go ahead / mail / 354 go ahead | unsure | data 354: server replied 354 go ahead
  another protocol          | DATA / 354 go ahead / mail / thanks | unsure | data null: reply is not SMTP: thanks
  250 for DATA, pipelined   | DATA (PIPELINING) / 250 queued | passes | data 250: server replied 250 queued, expected 354
  replies with that to DATA | DATA / 354 go ahead + 250 queued | passes | data null: server replied too early
  replies to all commands   | RCPT / 250 ok + 354 go ahead + 250 queued | passes | receivers null: server replied too early
  replies while it is sent  | DATA / 354 go ahead / line / 250 queued | passes | data null: server replied too early
  begins the next reply     | MAIL / 250 ok + 250- | passes | receivers null: server replied too early
  replies before STARTTLS   | STARTTLS (STARTTLS) / 220 go ahead + 250 mail | passes | TLS null: server replied too early
  closes after the sender   | MAIL / 250 ok + 421 closing | passes | receivers 421: server replied 421 closing
  rejects while it is sent  | DATA / 354 go ahead / line / 552 too much | stays | data 552: server replied 552 too much
  rejects for now and ever  | RCPT / 550 no user / line / 450 greylisted | passes | receivers 450: server replied 450 greylisted
  requests the login again  | AUTH / 334 ${
  Array(30).fill("/ line / 334 ").join("")
} | passes | login 334: server replied 334
  rejects this size         | NEVER (SIZE 9) | stays | sender null: email is larger than the 9 bytes that the server accepts`;

/** An email that the system's buffers of a connection do not hold, so the server ends it before it was sent. */
const MORE_THAN_BUFFERS = `${"x".repeat(70)}\n`.repeat(120_000);

/** What each needs. */
const MAILS: Readonly<Record<string, Partial<OutgoingMail>>> = {
  "the password is empty": { ...LOGIN, password: "" },
  "closes during the email": { text: MORE_THAN_BUFFERS },
  "replies while it is sent": { text: MORE_THAN_BUFFERS },
  "rejects while it is sent": { text: MORE_THAN_BUFFERS },
  "rejects for now and ever": { receivers: ["gone@example.org", "admin@example.org"] },
};

Deno.test("send() derives the phase and the outcome from a server's behavior", async (t) => {
  await using ports = collectPorts();
  await using steps = concurrentSteps(t);
  for (const [name = "", script = "", outcome = "", expected = ""] of linesOf(SERVERS)) {
    steps.add(name, async () => {
      await using server = startScriptedServer(playing(script));
      ports.add(server.port);
      const mail = MAILS[name] ?? (/login/.test(expected) ? LOGIN : {});
      const [{ retryable, mayHaveArrived }, text] = await sendInVain(
        { port: server.port, ...mail },
        /STARTTLS/.test(script) ? { protection: "required" } : {},
      );
      // How the end of a connection shows is the system's choice.
      assert.equal(text.replace("connection reset by", "connection closed by"), expected);
      assert.deepEqual([retryable, mayHaveArrived], OUTCOMES[outcome]);
    }, name === "replies while it is sent" ? requiresTools("time") : {});
  }
});

const TOO_MUCH = "reply is too long";

Deno.test("send() limits the size of a reply", async (t) => {
  const lines = "\n".repeat(1 << 20);
  const rows: Readonly<Record<string, string>> = {
    [lines]: "greeting",
    ["220-mail.example.org\r\n".repeat(1e5)]: "greeting",
    [`AUTH (AUTH LOGIN) / 334 ${" ".repeat(1e6)}\ra\rb`]: "login",
    [`DATA / 354 go ahead / line / ${lines}`]: "data",
  };
  for (const [script, phase] of Object.entries(rows)) {
    await t.step(script.slice(0, 40), async () => {
      await using server = startScriptedServer(playing(script));
      const [{ retryable }, text] = await sendInVain({ port: server.port, ...LOGIN });
      assert.deepEqual([text, retryable], [`${phase} null: ${TOO_MUCH}`, true]);
      await untilLeft(server.port);
    });
  }
});

Deno.test("send() logs in and submits with every supported method", async (t) => {
  const base64 = (text: string): string => new TextEncoder().encode(text).toBase64();
  const credentials = base64(`\0${LOGIN.username}\0${LOGIN.password}`);
  const [name, password] = [base64(LOGIN.username), base64(LOGIN.password)];
  const addresses = { sender: "übung@example.org", receivers: ["admin@bücher.example"] };
  const sender = "MAIL FROM:<monitor@example.org>";
  /** Extensions, replies other than 250 to the commands after EHLO, and the first commands. */
  const table = `
    PLAIN | auth login plain, 8BITMIME | AUTH PLAIN ${credentials} > 235 welcome | AUTH PLAIN ${credentials} / ${sender}
    PLAIN, by a server that ignores an initial response | AUTH=PLAIN | \
      AUTH PLAIN ${credentials} > 334 / ${credentials} > 235 welcome | \
      AUTH PLAIN ${credentials} / ${credentials} / ${sender}
    LOGIN | AUTH CRAM-MD5 LOGIN | AUTH LOGIN > 334 ${base64("Username:")} / ${name} > 334 ${
    base64("Password:")
  } / \
      ${password} > 235 welcome | AUTH LOGIN / ${name} / ${password} / ${sender}
    without EHLO | | EHLO > 502 what | HELO [127.0.0.1] / ${sender}
    addresses beyond ASCII | SMTPUTF8, 8BITMIME, SIZE | | \
      MAIL FROM:<übung@example.org> SIZE=# BODY=8BITMIME SMTPUTF8 / RCPT TO:<admin@xn--bcher-kva.example>
    addresses in ASCII, and a size | SMTPUTF8, 8BITMIME, SIZE 100000 | | ${sender} SIZE=# / RCPT TO:<admin@example.org>`;
  await testTable(t, table, async (name, offered, replied, expected) => {
    const extensions = offered === "" ? [] : offered.split(", ");
    const replies = new Map(replied.split(" / ").map((one) => one.split(" > ") as [string, string]));
    const mail = /plain|login/i.test(offered) ? LOGIN : name.includes("beyond") ? addresses : {};
    const commands = expected.split(" / ");
    await using server = startScriptedServer(async (visitor) => {
      await visitor.send("220 mail.example.org\r\n");
      for (;;) {
        const line = await visitor.readLine();
        const hello = ["mail.example.org", ...extensions]
          .map((text, index) => `250${index === extensions.length ? " " : "-"}${text}`);
        if (/^EHLO/.test(line)) await visitor.send(`${replies.get("EHLO") ?? hello.join("\r\n")}\r\n`);
        else await visitor.send(`${line === "DATA" ? "354 go" : replies.get(line) ?? "250 ok"}\r\n`);
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
  await using server = startScriptedServer(playing("DATA / 354 go ahead / mail / 250 taken"));
  const { end } = await send({ port: server.port });
  assert.deepEqual(end, { sent: true, refused: [] });
  await untilLeft(server.port);
});

Deno.test("send() aborts with the signal, whatever the server does, and leaks no socket", async (t) => {
  const drip = `${Array(6).fill("2").join(" / ")} / ready`;
  const rows: Rows<[script: string, Protection?]> = {
    "silent": ["ready"],
    "begins its greeting": [drip],
    "no reply to a handshake": ["byte / ready", "from_start"],
    "no reply to a handshake after STARTTLS": [
      "STARTTLS (STARTTLS) / 220 go ahead / byte / ready",
      "required",
    ],
    "accepts the email and never replies": ["DATA / 354 go ahead / mail / ready"],
  };
  await testRows(t, rows, async ([script, protection]) => {
    const { promise: isReady, resolve: ready } = Promise.withResolvers<void>();
    await using server = startScriptedServer((visitor) => playing(script)(visitor, ready));
    const abort = new AbortController();
    const reason = new Error("Time is up");
    const options = { signal: abort.signal, ...protection === undefined ? {} : { protection } };
    const sending = send({ port: server.port }, options);
    await inTime("the server to be ready", isReady);
    abort.abort(reason);
    await assert.rejects(sending, (error) => error === reason);
    await untilLeft(server.port);
  });
});

Deno.test("send() throws the signal's reason when it has aborted before", async () => {
  const reason = new Error("Time is up");
  await assert.rejects(send({ port: 1 }, { signal: AbortSignal.abort(reason) }), (e) => e === reason);
});

Deno.test("send() reports a refused connection", async () => {
  using refusing = await startRefusing();
  const { end, steps } = await send({ port: refusing.port });
  const facts = { code: null, retryable: true, mayHaveArrived: false, reason: "connection refused" };
  assert.deepEqual(end, { sent: false, phase: "connecting", ...facts });
  assert.deepEqual(steps, ["resolved"]);
});

Deno.test("mailFailure() distinguishes resolving, connecting and missing permissions", async (t) => {
  const table = `
    ENOTFOUND    | true  | resolving: name does not resolve
    EAI_AGAIN    | true  | resolving: no response from a name server
    EHOSTUNREACH | true  | connecting: no route to the host
    ETIMEDOUT    | true  | connecting: no response to the connection attempt
    EPERM        | false | permission: needs network access to "localhost:25": grant --allow-net=localhost:25`;
  await testTable(t, table, (code, isRetried, expected) => {
    const error = Object.assign(new Error("no"), { code });
    const connecting = { phase: "connecting", wasHandedOver: false };
    const { phase, retryable, reason } = mailFailure(error, connecting, MAIL);
    assert.deepEqual([`${phase}: ${reason}`, `${retryable}`], [expected, isRetried]);
  });
});

Deno.test("protectionOf() keeps credentials from the network", async (t) => {
  const table = `
    465 192.0.2.1 login               | from_start
    465 127.0.0.1                     | from_start
    587 192.0.2.1 login               | required
    25 2001:db8::1 login              | required
    25 127.0.0.1.example.org login    | required
    25  login                         | required
    25 192.0.2.1                      | offered
    587 127.8.9.10 login              | offered
    587 ::1 login                     | offered
    587 ::ffff:127.0.0.1 login        | offered
    587 ::ffff:192.0.2.1 login        | required
    25 127.0.0.1                      | none`;
  await testTable(t, table, (facts, protection) => {
    const [port, address = "", login] = facts.split(" ");
    assert.equal(protectionOf({ port: Number(port), address, hasLogin: login === "login" }), protection);
  });
});

Deno.test("send() sends no credentials to a server without STARTTLS unless they are safe", async (t) => {
  const rows = {
    "a server that does not know it": "AUTH PLAIN LOGIN",
    "a server that offers it and rejects it": "STARTTLS, AUTH PLAIN LOGIN",
  };
  await testRows(t, rows, async (offered) => {
    await using server = startScriptedServer(playing(`STARTTLS (${offered}) / 502 5.5.1 not implemented`));
    const [{ retryable }, text] = await sendInVain({ port: server.port, ...LOGIN }, {
      protection: "required",
    });
    assert.equal(text, "TLS null: server offers no STARTTLS: monitor sends no login without TLS");
    assert.equal(retryable, false);
    assert.equal(/AUTH|MAIL/.test(server.received), false);
    await untilLeft(server.port);
  });
});

Deno.test("send() rejects an invalid certificate and returns the reason", async (t) => {
  const rows: Rows<[Certificate, reason: RegExp]> = {
    "self-signed": [createCertificate(), /^certificate is not trusted/],
    "a CA's own": [createCertificate({ isAuthority: true }), /^certificate is not trusted/],
    "expired": [
      createCertificate({ fromDay: -5, toDay: -2, authority: createAuthority() }),
      /^certificate expired 2 d/,
    ],
  };
  await testRows(t, rows, async ([certificate, expected]) => {
    for (const begin of ["STARTTLS", "from_start"] as const) {
      await using server = await startMailServer({ tls: { certificate, begin }, password: LOGIN.password });
      const protection = begin === "STARTTLS" ? "offered" : "from_start";
      const { end, steps } = await send({ port: server.port, ...LOGIN }, { protection });
      const { reason, ...others } = end as Failure;
      assert.match(reason, expected);
      assert.deepEqual(others, {
        sent: false,
        phase: "TLS",
        code: null,
        retryable: false,
        mayHaveArrived: false,
      });
      assert.deepEqual([steps, server.logins], [["resolved", "connected"], []]);
      await untilLeft(server.port);
    }
  });
});

Deno.test("send() distinguishes a server without TLS from a lost connection", async (t) => {
  const begin = "STARTTLS (STARTTLS, AUTH PLAIN) / 220 go ahead / byte";
  const table = `
    clear text instead of TLS | from_start | 220 mail ESMTP | stays | ^TLS null: response is not TLS$
    clear text after STARTTLS | required | ${begin} / 250 hello again | stays | ^TLS null: response is not TLS$
    closes in the handshake   | required | ${begin} / closes | passes | ^TLS null: connection (?:closed|reset)`;
  await testTable(t, table, async (_, protection, script, outcome, expected) => {
    await using server = startScriptedServer(playing(script));
    const options = { protection: protection as Protection };
    const [{ retryable, mayHaveArrived }, text] = await sendInVain({ port: server.port, ...LOGIN }, options);
    assert.match(text, new RegExp(expected));
    assert.deepEqual([retryable, mayHaveArrived], OUTCOMES[outcome]);
    assert.equal(/AUTH|MAIL/.test(server.received), false);
    await untilLeft(server.port);
  });
});

const SEND_MAIL = fileURLToPath(new URL("../../support/send_mail.ts", import.meta.url));

/** Sends in vain in a separate process, which fails if it does not terminate. */
async function failApart(port: number, env: Readonly<Record<string, string>> = {}): Promise<Failure> {
  const mail = JSON.stringify({ ...MAIL, ...LOGIN, port });
  const args = [...runArguments(), SEND_MAIL, mail, "required"];
  const { code, stdout, stderr } = await runChild(Deno.execPath(), args, { env });
  assert.equal(code, 0, stderr);
  const { end } = JSON.parse(stdout) as Sent;
  return end.sent ? assert.fail() : end;
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
  const end = await failApart(server.port, harness.environment);
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
  const end = await failApart(server.port, harness.environment);
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
  const end = await failApart(server.port, harness.environment);
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
  const end = await failApart(server.port);
  assert.deepEqual([end.phase, end.mayHaveArrived], ["TLS", false]);
});

Deno.test("send() requires network permission to its host and port only, and trusts the configured CA", async (t) => {
  const authority = createAuthority();
  const caPath = await Deno.makeTempFile();
  await Deno.writeTextFile(caPath, authority.cert);
  const good = createCertificate({ authority });
  const other = createCertificate({ authority, hosts: ["other.example"], addresses: [] });
  const from = (certificate: Certificate, begin: "STARTTLS" | "from_start") => ({ certificate, begin });
  const all = ["resolved", "connected", "TLS", "login", "accepted"];
  interface Row {
    readonly tls?: ReturnType<typeof from>;
    readonly steps: readonly string[];
    readonly reason?: RegExp;
  }
  const rows: Readonly<Record<string, Row>> = {
    "clear text": { steps: all.toSpliced(2, 1) },
    "STARTTLS": { tls: from(good, "STARTTLS"), steps: all },
    "TLS from the start": { tls: from(good, "from_start"), steps: all },
    "a certificate for another name": {
      tls: from(other, "STARTTLS"),
      steps: ["resolved", "connected"],
      reason: /^certificate is not valid for name "localhost"$/,
    },
  };
  await using servers = new AsyncDisposableStack();
  try {
    const started: Record<string, MailServer> = {};
    for (const [name, { tls }] of Object.entries(rows)) {
      const options = { ...tls !== undefined && { tls }, password: LOGIN.password };
      started[name] = servers.use(await startMailServer(options));
    }
    const ports = Object.values(started).map(({ port }) => port);
    const mails = Object.values(rows).flatMap(({ tls }, index) => [
      JSON.stringify({ ...MAIL, ...LOGIN, port: ports[index] }),
      tls?.begin === "from_start" ? tls.begin : "",
    ]);
    // One process for all, since its start costs more than an email.
    const flag = `--allow-net=${ports.map((port) => `localhost:${port}`).join(",")}`;
    const { code, stdout, stderr } = await runChild(
      Deno.execPath(),
      [...runArguments([flag]), SEND_MAIL, ...mails],
      { env: { DENO_CERT: caPath, DENO_TLS_CA_STORE: "mozilla" } },
    );
    assert.equal(code, 0, stderr);
    const ends = stdout.trimEnd().split("\n").map((line) => JSON.parse(line) as Sent);
    await testRows(t, rows, ({ steps, reason }, name) => {
      const notified = ends[Object.keys(rows).indexOf(name)] ?? assert.fail();
      assert.deepEqual(notified.steps, steps);
      assert.equal(notified.end.sent, reason === undefined);
      if (reason !== undefined) assert.match((notified.end as Failure).reason, reason);
      assert.equal(started[name]?.mails.length, reason === undefined ? 1 : 0);
    });
  } finally {
    await Deno.remove(caPath);
  }
});
