import assert from "node:assert/strict";
import { tcpConnectKind } from "../../src/checks/tcp_connect.ts";
import type { TcpConnectParameters, TcpStep } from "../../src/domain/generated/config.ts";
import { createFakeClock, type FakeClock } from "../../testing/fake_clock.ts";
import { tempDirectory } from "../../testing/builders.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { createAuthority, createCertificate } from "../support/certificates.ts";
import { observeConnection, tcpCheck } from "../support/connection_check.ts";
import { beSilent, flood, leave } from "../support/hostile_servers.ts";
import { collectPorts, startServer, type Visitor } from "../support/http_servers.ts";
import { startMailServer } from "../support/mail_server.ts";
import { problemTexts } from "../support/observe_check.ts";
import { fieldsOf, type Rows, testRows, testTable } from "../support/rows.ts";

const LOGIN = "login.username=ada login.password=s3cret startTls=false";

type Settings = Partial<TcpConnectParameters>;
type Meeting = (visitor: Visitor, clock: FakeClock) => Promise<void>;

const steps = (...some: readonly Partial<TcpStep>[]): Settings => ({
  steps: some.map((step) => ({ startTls: false, ...step })),
});

/** Sends a text, and a reply to each line in turn; then it waits. */
const talking = (...replies: readonly string[]): Meeting => async (visitor) => {
  for (const [index, reply] of replies.entries()) {
    if (index > 0) await visitor.readLine();
    await visitor.send(reply);
  }
  await visitor.untilGone();
};

const GREETING = { expect: "^220 ", reject: "^[45]" };
const QUEUE = "^(?<queued>\\d+) messages for (?<user>\\w+)";

/** What a server sends first, and to each line; the steps, or else the parameters; and the result. */
const DIALOGS = String.raw`
  lines in front of the expected one | 220-one\r\n220-two\r\n220 three\r\n / 250-a\r\n250 b\r\n | \
    greeting / send="EHLO\r\n" expect="^250 " | ok: connected, 2 steps passed
  two replies at once | 220 a\r\n200 b\r\n | greeting / expect="^200 b$" | ok: connected, 2 steps passed
  a rejected line | 220 a\r\n / 421 too busy\r\n | greeting / name=hello send="EHLO\r\n" expect="^250 " reject=^4 | \
    critical: hello: server replied "421 too busy", expected a line that matches "^250 "
  a captured value that is too large | 8 messages for ada\r\n | \
    expect="^(?<queued>\\d+) messages" captured.queued.atMost=7 | \
    critical: step 1: queued is 8, expected a number of at most 7
  a captured value with a command in it | a\rQUIT\r\n | expect=(?s)(?<x>.*) | \
    critical: step 1: cannot capture "x": it is empty or has control characters
  clear text in place of TLS | 220 go ahead\r\n / 220 a\r\n | expect="^220 " startTls=true | \
    critical: step 1: TLS handshake with HOST failed:…
  SSH | SSH-2.0-OpenSSH_9.9\r\n | protocol=ssh | ok: connected, ssh greeting passed
  old SSH | SSH-1.5-old\r\n | protocol=ssh | critical: greeting: server replied "SSH-1.5-old", expected a line…
  POP3 with a login | +OK ready\r\n / +OK\r\n / -ERR [AUTH] wrong\r\n | protocol=pop3 ${LOGIN} | \
    critical: login: server replied "-ERR [AUTH] wrong", expected a line…
  FTP with a login | 220 ready\r\n / 331 password\r\n / 230-welcome\r\n230 in\r\n | protocol=ftp ${LOGIN} | \
    ok: connected, ftp greeting, user, login passed
  IMAP with a login | * OK ready\r\n / + \r\n / a2 NO [AUTHENTICATIONFAILED] no\r\n | protocol=imap ${LOGIN} | \
    critical: login: server replied "a2 NO [AUTHENTICATIONFAILED] no", expected a line…`;

function settingsOf(text: string): Settings {
  if (text.startsWith("protocol=")) return fieldsOf(text);
  return steps(...text.split(" / ").map((step) => step === "greeting" ? GREETING : fieldsOf<TcpStep>(step)));
}

/** The behavior of a server, the parameters, and the expected result. */
const ROWS: Rows<[meet: Meeting, settings: Settings, expected: string]> = {
  "a rejected line without a newline, at the end": [
    async (visitor) => await visitor.send("554 go away"),
    steps(GREETING),
    'critical: step 1: server replied "554 go away", expected a line that matches "^220 "',
  ],
  "another line, and the end": [
    async (visitor) => await visitor.send("hello\r\n"),
    steps(GREETING),
    'critical: step 1: connection closed by the server, expected a line that matches "^220 "; it had sent "hello\\r\\n"',
  ],
  "no response": [
    leave,
    steps({ expect: "^220 " }),
    'critical: step 1: connection closed by the server without a response, expected a line that matches "^220 "',
  ],
  "a warning": [
    leave,
    { ...steps({ expect: "a" }), asWarning: true },
    "warning: step 1: connection closed by…",
  ],
  "a flood": [flood, steps({ expect: "^220 " }), "unknown: step 1: cannot search all of the response,…"],
  "a flood of lines, and an expensive pattern": [
    async (visitor) => {
      while (true) await visitor.send("x\n".repeat(8000));
    },
    steps({ expect: "(?:a{20}b?){20}$" }),
    "unknown: step 1: cannot search all of the response,…",
  ],
  "a step that takes too long": [
    async (visitor, clock) => {
      await visitor.readLine();
      await clock.advance(2_000);
      await visitor.untilGone();
    },
    steps({ send: "A\r\n", expect: "^B", timeoutMs: 2_000 }),
    'critical: step 1: timeout after 2 s, expected a line that matches "^B"',
  ],
  "a check that takes too long": [
    async (visitor, clock) => {
      await visitor.readLine();
      await clock.advance(10_000);
      await visitor.untilGone();
    },
    steps({ send: "A\r\n", expect: "^B", timeoutMs: 20_000 }),
    'critical: step 1: timeout after 10 s while reading from HOST, expected a line that matches "^B"',
  ],
  "a prompt without a newline": [
    async (visitor, clock) => {
      await visitor.send("login: ");
      while (clock.timers < 2) await new Promise((resolve) => setTimeout(resolve, 1));
      await clock.advance(250);
      assert.equal(await visitor.readLine(), "me");
      await visitor.send("welcome\n");
    },
    steps({ expect: "login: $" }, { send: "me\n", expect: "welcome" }),
    "ok: connected, 2 steps passed",
  ],
  "captured values": [
    talking("7 messages for ada.x\r\n", "7 for ada\r\n"),
    steps({ expect: QUEUE, captured: { queued: { atMost: 7 }, user: "ada" } }, {
      send: "LIST ${captured:user}\r\n",
      expect: "^${captured:queued} for ${captured:user}$",
    }),
    "ok: connected, 2 steps passed",
  ],
  "a captured value as plain text in a pattern": [
    talking("a.c\r\n", "abc\r\n"),
    steps({ expect: "(?<x>.*)" }, { send: "\n", expect: "^${captured:x}$", reject: "." }),
    'critical: step 2: server replied "abc",…',
  ],
  "a sent value in the output": [
    talking("token s3cr3tvalue\r\n", "no s3cr3tvalue\r\n"),
    steps({ expect: "token (?<token>\\w+)" }, { send: "${captured:token}\r\n", expect: "yes", reject: "no" }),
    'critical: step 2: server replied "no [secret]",…',
  ],
  "data in front of TLS": [
    async (visitor) => await visitor.send("220 go ahead\r\n250 hello\r\n"),
    steps({ expect: "^220 ", startTls: true }),
    "critical: step 1: server sent more in front of TLS",
  ],
  "the end within a greeting": [
    async (visitor) => await visitor.send("220 mail.exa"),
    { protocol: "smtp" },
    'critical: greeting: connection closed by the server, expected a line that matches "^220 "; it had sent "220 mail.exa"',
  ],
  "silence within a greeting": [
    async (visitor, clock) => {
      await visitor.send("SSH-2.0-Ope");
      while (clock.timers < 1) await new Promise((resolve) => setTimeout(resolve, 1));
      await new Promise((resolve) => setTimeout(resolve, 1));
      await clock.advance(10_000);
      await beSilent(visitor);
    },
    { protocol: "ssh" },
    "critical: greeting: timeout after 10 s while reading from HOST…",
  ],
  "silence instead of a greeting": [
    async (visitor, clock) => {
      while (clock.timers < 1) await new Promise((resolve) => setTimeout(resolve, 1));
      await clock.advance(10_000);
      await beSilent(visitor);
    },
    { protocol: "imap" },
    "critical: greeting: timeout after 10 s while reading from HOST…",
  ],
};

Deno.test("tcp_connect holds a dialog: each step sends, waits for a line, captures and compares", async (t) => {
  await using ports = collectPorts();
  const test = async (meet: Meeting, settings: Settings, expected: string): Promise<void> => {
    const clock = createFakeClock();
    await using server = startServer((visitor) => meet(visitor, clock));
    ports.add(server.port);
    const check = tcpCheck({ port: server.port, ...settings }, 10_000);
    const { condition, output } = await observeConnection(check, { clock });
    const text = `${condition}: ${output.replace(`127.0.0.1:${server.port}`, "HOST")}`;
    assert.equal(expected.endsWith("…") ? `${text.slice(0, expected.length - 1)}…` : text, expected);
    assert.equal(clock.timers, 0);
  };
  await testTable(t, DIALOGS, async (_, replies, settings, expected) => {
    const sent = replies.replaceAll("\\r", "\r").replaceAll("\\n", "\n").split(" / ");
    await test(talking(...sent), settingsOf(settings), expected);
  });
  await testRows(t, ROWS, (row) => test(...row));
});

Deno.test("tcp_connect starts TLS in a dialog, verifies the certificate, and logs in", async (t) => {
  const authority = createAuthority();
  const certificate = createCertificate({ authority, hosts: ["mail.example"], addresses: [] });
  await using server = await startMailServer({
    tls: { certificate, begin: "STARTTLS" },
    password: "s3cret-word",
  });
  await using directory = await tempDirectory({ "ca.pem": authority.cert });
  const login = { username: "ada", password: "s3cret-word" };
  const base: Settings = {
    ...{ host: "mail.example", connectTo: "127.0.0.1", port: server.port },
    ...{ caFile: `${directory.path}/ca.pem`, protocol: "smtp" },
  };
  const STEPS = "smtp greeting, hello, STARTTLS, hello with TLS";
  const rows: Rows<[settings: Settings, expected: string]> = {
    "STARTTLS": [{ startTls: true }, `ok: connected, ${STEPS} passed`],
    "a login": [{ login }, `ok: connected, ${STEPS}, login passed`],
    "a wrong password": [
      { login: { ...login, password: "other" } },
      'critical: login: server replied "535 5.7.8 Authentication failed", expected a line that matches "^235 "',
    ],
    "another name": [
      { serverName: "other.example", login },
      `critical: STARTTLS: TLS handshake with 127.0.0.1:${server.port} failed: certificate is not valid for name "other.example"`,
    ],
    "an unknown authority": [
      { caFile: undefined as never, login },
      `critical: STARTTLS: TLS handshake with 127.0.0.1:${server.port} failed: certificate is not trusted (unknown issuer)`,
    ],
    "no verification": [
      { caFile: undefined as never, verify: false, serverName: "other.example", login },
      `ok: connected, ${STEPS}, login passed`,
    ],
  };
  await testRows(t, rows, async ([settings, expected]) => {
    const { condition, output } = await observeConnection(tcpCheck({ ...base, ...settings }));
    assert.equal(`${condition}: ${output}`, expected);
  });
  assert.deepEqual(server.logins, ["ada", "ada"]);
  const { caFile: _caFile, port: _port, ...defaults } = base;
  assert.deepStrictEqual(
    await tcpConnectKind.requiredPermissions(tcpCheck({ ...defaults, login }), createMemorySystem()),
    { net: ["127.0.0.1:25"], env: ["DENO_TLS_CA_STORE"] },
  );
});

Deno.test("tcpConnectKind rejects contradictory dialogs, and warns of a login in clear text", () => {
  const login = { username: "ada", password: "s3cret" };
  const rows: readonly (readonly [settings: Settings, ...problems: readonly string[]])[] = [
    [{ protocol: "imap", login }],
    [{ ...steps({ expect: "(?P<a>.)" }, { send: "${captured:a}" }) }],
    [{ protocol: "imap", login, startTls: false }, "start_tls: is false, so the login is sent in clear text"],
    [{ protocol: "imap", login, tls: true }],
    [{ protocol: "smtp", send: "a" }, 'send: "send" cannot be used with "protocol": remove one of them'],
    [
      { ...steps({ send: "a" }), expect: "a" },
      'expect: "expect" cannot be used with "steps": remove one of them',
    ],
    [{ login, port: 1 }, 'login: "login" requires "protocol"'],
    [{ startTls: true, port: 1 }, 'start_tls: "start_tls" requires "protocol"'],
    [{ protocol: "ssh", login }, 'login: "login" cannot be used with "ssh"'],
    [
      { protocol: "smtp", startTls: true, tls: true },
      'tls: "tls" cannot be used with "start_tls": remove one of them',
    ],
    [
      { protocol: "pop3", login: { ...login, password: "a\nDELE 1" } },
      "login.password: contains a line break, which would end the command",
    ],
    [steps({ name: "a" }), 'steps.0: expected "send", "expect" or "start_tls"'],
    [steps({ send: "a", reject: "a" }), 'steps.0.reject: "reject" requires "expect"'],
    [steps({ startTls: true }, { startTls: true }), "steps.1.start_tls: TLS is on already: remove it"],
    [
      steps({ name: "a b", send: "a" }, { name: "A-B", send: "a" }),
      "steps.1.name: is too much like the name of step 1",
    ],
    [steps({ send: "${captured:a}" }), 'steps.0.send: no earlier step captures "a"'],
    [
      steps({ expect: "a", captured: { b: 1 } }),
      'steps.0.captured.b: no "expect" up to this step captures "b": write (?<b>\u2026) in it',
    ],
    [
      { ...steps({ startTls: true }), host: undefined as never, socket: "/a" },
      'start_tls: "start_tls" cannot be used with "socket": remove one of them',
    ],
    [
      { protocol: "smtp", startTls: true, fingerprint: "f0".repeat(32) },
      'protocol: "protocol" cannot be used with "fingerprint": a server with a copy of the certificate could read it',
    ],
  ];
  for (const [settings, ...expected] of rows) {
    const check = tcpCheck({
      ...settings.protocol === undefined && settings.socket === undefined && { port: 1 },
      ...settings,
    });
    const problems = [...tcpConnectKind.errors?.(check) ?? [], ...tcpConnectKind.warnings?.(check) ?? []];
    assert.deepStrictEqual(problemTexts(problems), expected);
  }
});
