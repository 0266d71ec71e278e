/** Submits an email to an SMTP server (RFC 5321, RFC 6409). */
import { Buffer } from "node:buffer";
import type { MailEnd, OutgoingMail } from "../../domain/mail.ts";
import type { Composed } from "./compose.ts";
import { CLOSING, type MailProgress, refusal, SmtpError } from "./mail_failure.ts";
import type { Protection } from "./mail_protection.ts";
import type { SmtpConnection } from "./smtp_connection.ts";
import { quoteReply, type Reply } from "./smtp_reply.ts";

interface SessionOptions {
  readonly composed: Composed;
  readonly protection: Protection;
  readonly ownName: string;
  /** Changed as the conversation goes on. */
  readonly progress: MailProgress;
  onStep(step: string): void;
}

type Extensions = ReadonlyMap<string, string>;

const NO_STARTTLS = "server offers no STARTTLS: monitor sends no login without TLS";

/**
 * Sends an email. The caller closes the connection. Rejects with an {@linkcode SmtpError} or an error of the network.
 */
export async function converse(
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
    await startTls(connection, mail.host, {
      isOffered: extensions.has("STARTTLS"),
      isRequired: protection === "required",
    });
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

async function startTls(
  connection: SmtpConnection,
  host: string,
  { isOffered, isRequired }: { readonly isOffered: boolean; readonly isRequired: boolean },
): Promise<void> {
  if (!isOffered) throw refusal(NO_STARTTLS);
  const reply = await connection.ask("STARTTLS");
  if (isRequired && reply.code >= 500) throw refusal(NO_STARTTLS);
  accept(reply);
  await connection.secure(host);
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
async function nameReceivers(
  connection: SmtpConnection,
  receivers: readonly string[],
): Promise<readonly { readonly receiver: string; readonly reason: string }[]> {
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
  const text = new TextDecoder().decode(content).replace(/\r(?!\n)|(?<!\r)\n/g, "\r\n").replace(
    /^\./gm,
    "..",
  );
  return new TextEncoder().encode(`${text}${text.endsWith("\r\n") ? "" : "\r\n"}.\r\n`);
}
