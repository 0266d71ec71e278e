/**
 * Email over SMTP (RFC 5321): nodemailer composes it, a small client submits it. Invariant: when `send` is done, its
 * connection is gone.
 */
import { startDeadline } from "../../shared/deadline.ts";
import { isIP } from "node:net";
import type { Clock } from "../../domain/clock.ts";
import type { HandshakeTarget } from "../../domain/connections.ts";
import type { Mail, MailEnd, OutgoingMail } from "../../domain/system.ts";
import { connectTcp, type ConnectTcpOptions } from "../tcp/connect_tcp.ts";
import { lookUpName, withoutBrackets } from "../tcp/tcp_stream.ts";
import { failsForGood, isLastingTlsError } from "../tls/handshakes.ts";
import {
  CLOSING,
  mailFailure,
  type MailProgress,
  quoteReply,
  refusal,
  type Reply,
  SmtpConnection,
  SmtpError,
} from "./smtp_connection.ts";
import { Buffer } from "node:buffer";
import { isLoopback } from "../../shared/ip_address.ts";

export function createMail(
  clock: Clock,
  protect: (facts: ProtectionFacts) => Protection = protectionOf,
): Mail {
  return {
    async send(mail, { onStep, signal }): Promise<MailEnd> {
      signal.throwIfAborted();
      const composed = await compose(mail);
      let tcp: Deno.TcpConn;
      try {
        tcp = await connectToServer(mail, { clock, onStep, signal });
      } catch (error) {
        signal.throwIfAborted();
        return mailFailure(error, { phase: "connecting", wasHandedOver: false }, mail);
      }
      const { port, username } = mail;
      const protection = protect({ port, address: tcp.remoteAddr.hostname, hasLogin: username !== "" });
      const address = tcp.localAddr.hostname;
      // RFC 5321, section 4.1.3: it is always correct, and reading it requires no permission.
      const ownName = address.includes(":") ? `[IPv6:${address}]` : `[${address}]`;
      const progress: MailProgress = { phase: "greeting", wasHandedOver: false };
      const connection = new SmtpConnection(tcp, { clock, signal });
      try {
        return await converse(connection, mail, { composed, protection, ownName, progress, onStep });
      } catch (error) {
        signal.throwIfAborted();
        const failure = mailFailure(error, progress, mail);
        if (progress.phase !== "TLS" || !isLastingTlsError(error)) return failure;
        // The bytes of one handshake may have been garbled on the way.
        const isLasting = await failsForGood(handshakeWith(mail, protection), { clock, signal });
        signal.throwIfAborted();
        return { ...failure, retryable: !isLasting };
      } finally {
        connection.close();
      }
    },
  };
}

/** Without it, a network without a response would keep an attempt for minutes. */
const CONNECT_MS = 30_000;

/** Connects in clear text on every port. Rejects with the signal's reason, or with the system's error. */
export async function connectToServer(
  { host, port }: Pick<OutgoingMail, "host" | "port">,
  { clock, onStep, signal }: ConnectTcpOptions & { onStep(step: string): void },
): Promise<Deno.TcpConn> {
  signal.throwIfAborted();
  const lateReason = new SmtpError("no response to the connection attempt");
  using deadline = startDeadline(clock, CONNECT_MS, signal, lateReason);
  const target = { host: withoutBrackets(host), port };
  if (isIP(target.host) === 0) {
    await lookUpName(target, deadline.signal);
    onStep("resolved");
  }
  const connection = await connectTcp(target, { clock, signal: deadline.signal });
  onStep("connected");
  return connection;
}

function handshakeWith({ host, port }: OutgoingMail, protection: Protection): HandshakeTarget {
  const target = { host, port, tls: { serverName: host, authorities: [] } };
  return protection === "from_start" ? target : { ...target, startTls: "smtp" };
}

// Submits an email to an SMTP server (RFC 5321, RFC 6409).

interface SessionOptions {
  readonly composed: Composed;
  readonly protection: Protection;
  readonly ownName: string;
  readonly progress: MailProgress;
  onStep(step: string): void;
}

type Extensions = ReadonlyMap<string, string>;

const NO_STARTTLS = "server offers no STARTTLS: monitor sends no login without TLS";

/** Sends an email. The caller closes the connection. Rejects with an {@linkcode SmtpError} or an error of the network. */
async function converse(
  connection: SmtpConnection,
  mail: OutgoingMail,
  { composed, protection, ownName, progress, onStep }: SessionOptions,
): Promise<MailEnd> {
  const hello = async (): Promise<Extensions> => {
    const reply = await connection.ask(`EHLO ${ownName}`);
    if (reply.code < 500) return extensionsOf(accept(reply));
    accept(await connection.ask(`HELO ${ownName}`));
    return new Map();
  };
  progress.phase = protection === "from_start" ? "TLS" : "greeting";
  const greeting = await connection.greeting(protection === "from_start" ? mail.host : null);
  if (protection === "from_start") onStep("TLS");
  progress.phase = "greeting";
  accept(greeting, 220);
  let extensions = await hello();
  if (protection === "required" || protection === "offered" && extensions.has("STARTTLS")) {
    progress.phase = "TLS";
    if (!extensions.has("STARTTLS")) throw refusal(NO_STARTTLS);
    const reply = await connection.ask("STARTTLS");
    if (protection === "required" && reply.code >= 500) throw refusal(NO_STARTTLS);
    accept(reply);
    await connection.secure(mail.host);
    onStep("TLS");
    progress.phase = "greeting";
    extensions = await hello();
  }
  if (mail.username !== "") {
    progress.phase = "login";
    await logIn(connection, mail, extensions.get("AUTH"));
    onStep("login");
  }
  progress.phase = "sender";
  const content = forTransfer(composed.content);
  accept(await connection.ask(mailCommand(composed, extensions)));
  progress.phase = "receivers";
  const refused = await nameReceivers(connection, composed.receivers);
  progress.phase = "data";
  accept(await connection.ask("DATA"), 354);
  accept(await connection.sendContent(content, () => progress.wasHandedOver = true));
  onStep("accepted");
  await connection.quit();
  return { sent: true, refused };
}

/** Passes a reply on; any success will do if none is named. */
function accept(reply: Reply, expected?: 220 | 334 | 354): Reply {
  const { code } = reply;
  if (expected === undefined ? code >= 200 && code < 300 : code === expected) return reply;
  const wish = expected === 354 && code < 400 ? `, expected ${expected}` : "";
  throw new SmtpError(`server replied ${quoteReply(reply)}${wish}`, { code, retryable: code < 500 });
}

/** By name in capitals, with their parameters. Some servers write `AUTH=` for `AUTH `. */
function extensionsOf({ lines }: Reply): Extensions {
  return new Map(
    lines.slice(1).map((line) => {
      const text = line.slice(4).toUpperCase();
      const end = text.search(/[ =]/);
      return end < 0 ? [text, ""] : [text.slice(0, end), text.slice(end + 1).trim()];
    }),
  );
}

/** RFC 4954; PLAIN is RFC 4616. */
async function logIn(
  connection: SmtpConnection,
  { username, password }: OutgoingMail,
  offered: string | undefined,
): Promise<void> {
  if (offered === undefined) throw refusal("server offers no login");
  if (password === "") throw refusal("password is empty");
  const methods = offered.split(/\s+/);
  if (methods.includes("PLAIN")) {
    const credentials = base64(`\0${username}\0${password}`);
    const reply = await connection.ask(`AUTH PLAIN ${credentials}`);
    // The server ignores an initial response.
    accept(reply.code === 334 ? await connection.ask(credentials) : reply);
  } else if (methods.includes("LOGIN")) {
    accept(await connection.ask("AUTH LOGIN"), 334);
    accept(await connection.ask(base64(username)), 334);
    accept(await connection.ask(base64(password)));
  } else throw refusal("server offers no login with PLAIN or LOGIN");
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

/** RFC 1870 for the size, RFC 6531 for email addresses beyond ASCII. */
function mailCommand({ sender, receivers, content }: Composed, extensions: Extensions): string {
  const sizeMax = Number(/^\d+$/.exec(extensions.get("SIZE") ?? "")?.[0] ?? 0);
  if (sizeMax > 0 && content.length > sizeMax) {
    throw refusal(`email is larger than the ${sizeMax} bytes that the server accepts`);
  }
  const isBeyondAscii = [sender, ...receivers].some((address) => /\P{ASCII}/u.test(address));
  return [
    `MAIL FROM:<${sender}>`,
    ...extensions.has("SIZE") ? [`SIZE=${content.length}`] : [],
    ...isBeyondAscii && extensions.has("SMTPUTF8") ? ["BODY=8BITMIME", "SMTPUTF8"] : [],
  ].join(" ");
}

/** Returns the receivers that the server rejects; fails if it rejects all. */
async function nameReceivers(connection: SmtpConnection, receivers: readonly string[]) {
  const refused: { readonly receiver: string; readonly reply: Reply }[] = [];
  for (const receiver of receivers) {
    const reply = await connection.ask(`RCPT TO:<${receiver}>`);
    if (reply.code < 400 || reply.code === CLOSING) accept(reply);
    else refused.push({ receiver, reply });
  }
  if (refused.length === receivers.length) {
    const transient = refused.find(({ reply }) => reply.code < 500) ?? refused[0];
    if (transient !== undefined) accept(transient.reply);
  }
  return refused.map(({ receiver, reply }) => ({ receiver, reason: quoteReply(reply) }));
}

/**
 * Doubles the dot at the start of a line, and adds the line that ends the content (RFC 5321, section 4.5.2). Lines
 * end with CRLF: servers disagree about other newlines.
 */
function forTransfer(content: Uint8Array): Uint8Array {
  const lines = new TextDecoder().decode(content).replace(/\r(?!\n)|(?<!\r)\n/g, "\r\n");
  const text = lines.replace(/^\./gm, "..");
  return new TextEncoder().encode(`${text}${text.endsWith("\r\n") ? "" : "\r\n"}.\r\n`);
}

/** TLS from the first byte; STARTTLS, without which it stops; STARTTLS if the server offers it; or none. */
export type Protection = "from_start" | "required" | "offered" | "none";

interface ProtectionFacts {
  readonly port: number;
  readonly address: string;
  readonly hasLogin: boolean;
}

/**
 * Decides how a session is protected. Credentials never travel over a network in clear text; on loopback they may,
 * since no other machine can read them there. A session with a local server without login is in clear text: there is
 * nothing to protect, and its certificate is usually one that a package generated.
 */
export function protectionOf({ port, address, hasLogin }: ProtectionFacts): Protection {
  if (port === 465) return "from_start";
  if (isLoopback(address.replace(IPV4_MAPPED, ""))) return hasLogin ? "offered" : "none";
  return hasLogin ? "required" : "offered";
}

const IPV4_MAPPED = /^::ffff:(?=\d+\.)/i;

/** An email in the form of the internet (RFC 5322), and its envelope. */
interface Composed {
  readonly content: Uint8Array;
  readonly sender: string;
  readonly receivers: readonly string[];
}

/** Quoted-printable keeps lines as they are, and carries any character (RFC 2045). */
async function compose(mail: OutgoingMail): Promise<Composed> {
  // nodemailer composes the email and nothing else.
  const { default: Composer } = await import("nodemailer/lib/mail-composer");
  const { references } = mail;
  const newest = references.at(-1);
  const root = new Composer({
    from: { name: "", address: mail.sender },
    to: mail.receivers.map((address) => ({ name: "", address })),
    subject: mail.subject,
    // Empty content is none to the composer.
    text: { content: mail.text === "" ? "\n" : mail.text, contentTransferEncoding: "quoted-printable" },
    ...mail.html !== undefined &&
      { html: { content: mail.html, contentTransferEncoding: "quoted-printable" } },
    messageId: mail.messageId,
    date: new Date(mail.dateMs),
    headers: { ...mail.headers },
    ...newest === undefined ? {} : { references: [...references], inReplyTo: newest },
    disableFileAccess: true,
    disableUrlAccess: true,
  }).compile();
  const content = await root.build();
  const { from, to } = root.getEnvelope();
  return { content, sender: from || "", receivers: to };
}
