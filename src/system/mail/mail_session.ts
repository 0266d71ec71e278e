import type { Socket } from "node:net";
import { Buffer } from "node:buffer";
import { Duplex, Readable } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { Clock } from "../../domain/clock.ts";
import type { MailEnd, OutgoingMail } from "../../domain/mail.ts";
import { limitReplies, requireStartMailInput } from "./mail_replies.ts";
import type { MailSocket } from "./mail_socket.ts";
import type { Protection } from "./mail_protection.ts";
import type { TlsProblem } from "../tls/tls_problem.ts";
import { endProperly } from "../deno_workarounds/tls_end.ts";
import { type MailFailure, refusal, replyOf, sessionFailure } from "./mail_failure.ts";

/** From the connection to the greeting, and for a handshake. */
const SETUP_MS = 30_000;
/** A server that says nothing for so long has fallen silent. */
const SILENCE_MS = 50_000;
/** So long after its end nothing more comes out of a connection. */
const GONE_MS = 1000;
/** A server that took the mail is not waited for much longer. */
const QUIT_MS = 1000;

/** What a conversation needs. */
export interface SessionOptions {
  /** What {@linkcode prepareMail} has made of the mail. */
  readonly prepared: PreparedMail;
  /** Whether and how TLS begins. */
  readonly protection: Protection;
  /** For time limits. */
  readonly clock: Clock;
  /** Tells what is wrong with the server's TLS; `null` when nothing is. */
  explain(): Promise<TlsProblem | null>;
  /** Told of each step that succeeded. */
  onStep(step: string): void;
  /** Ends it all. */
  readonly signal: AbortSignal;
}

/** A mail that is ready to go, and what speaks for it. */
export interface PreparedMail {
  /** The mail as it goes over the wire. */
  readonly message: Composed;
  /** nodemailer's side of the conversation. */
  readonly Connection: unknown;
}

type ConnectionClass = typeof import("nodemailer/lib/smtp-connection").default;

/**
 * Everything that takes time, done before the connection is made: nobody listens to a socket meanwhile, and a server
 * that leaves at once would not be noticed.
 */
export async function prepareMail(mail: OutgoingMail): Promise<PreparedMail> {
  const [{ default: Connection }, message] = await Promise.all([
    import("nodemailer/lib/smtp-connection"),
    compose(mail),
  ]);
  return { Connection, message };
}

/**
 * Hands a mail over on a socket that is connected in clear text, and ends the conversation. The caller destroys the
 * socket. Wherever there is TLS, the server's certificate must be trusted.
 */
export async function converse(
  socket: MailSocket,
  mail: OutgoingMail,
  options: SessionOptions,
): Promise<MailEnd> {
  const { prepared: { Connection, message }, protection, clock, explain, onStep, signal } = options;
  const hasLogin = mail.username !== "";
  signal.throwIfAborted();
  const connection = new (Connection as ConnectionClass)({
    // It has all of a socket that nodemailer uses.
    connection: socket as unknown as Socket,
    host: mail.host,
    port: mail.port,
    name: ownName(socket),
    secure: protection === "from_start",
    requireTLS: protection === "required",
    ignoreTLS: protection === "none",
    logger: false,
    connectionTimeout: SETUP_MS,
    greetingTimeout: SETUP_MS,
    socketTimeout: SILENCE_MS,
    socketCloseTimeout: 0,
  });
  followTls(connection, socket);
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => {});
  connection.on("error", broken.reject);
  let phase = "greeting";
  let wasHandedOver = false;
  let isBreach = false;
  requireStartMailInput(connection);
  limitReplies(connection, {
    receiverCount: mail.receivers.length,
    isMailSent: () => wasHandedOver,
    onBreach: (reason) => {
      isBreach = true;
      broken.reject(new Error(reason));
      connection.close();
      socket.destroy();
    },
  });
  const onAbort = (): void => {
    broken.reject(signal.reason);
    connection.close();
    socket.destroy();
  };
  signal.addEventListener("abort", onAbort);
  const step = <T>(run: (done: (error?: unknown, value?: T) => void) => void): Promise<T | undefined> => {
    const { promise, resolve, reject } = Promise.withResolvers<T | undefined>();
    run((error, value) => error === undefined || error === null ? resolve(value) : reject(error));
    return Promise.race([promise, broken.promise]);
  };
  let cancelGone = (): void => {};
  // TLS does not always notice that the connection under it is gone; what came before that is read first.
  const onGone = (): void => {
    cancelGone = clock.after(GONE_MS, () => broken.reject(new Error("Connection closed unexpectedly")));
  };
  socket.once("close", onGone);
  try {
    await step((done) => connection.connect(done));
    if (connection.secure) onStep("TLS");
    if (hasLogin) {
      phase = "login";
      if (!connection.allowsAuth) return refusal(phase, "server offers no login");
      const { username, password } = mail;
      if (password === "") return refusal(phase, "password is empty");
      await step((done) =>
        connection.login(
          { user: username, pass: password, credentials: { user: username, pass: password } },
          done,
        )
      );
      onStep("login");
    }
    phase = "sender";
    const content = Readable.from(inPieces(message.content, () => phase = "data"), { objectMode: false });
    content.once("end", () => wasHandedOver = true);
    const info = await step<SendInfo>((done) => connection.send({ ...message.envelope }, content, done));
    onStep("accepted");
    await quit(connection, { clock, signal });
    const refused = (info?.rejectedErrors ?? []).map((error) => ({
      receiver: error.recipient ?? "",
      reason: replyOf(error),
    }));
    return { sent: true, refused };
  } catch (error) {
    // Nothing that still arrives is of any use.
    socket.destroy();
    signal.throwIfAborted();
    const isTls = phase === "greeting" && !isBreach && (connection.secure || connection.upgrading === true);
    const failure = sessionFailure(error, { phase: isTls ? "TLS" : phase, wasHandedOver });
    if (isTls && failure.code === null) {
      const problem = await explain();
      signal.throwIfAborted();
      if (problem?.isLasting) return refusal("TLS", problem.reason);
      if (problem !== null) return { ...failure, reason: problem.reason };
    }
    return isWithoutTls(failure, error) ? refusal("TLS", NO_STARTTLS) : failure;
  } finally {
    signal.removeEventListener("abort", onAbort);
    socket.off("close", onGone);
    cancelGone();
    connection.close();
  }
}

interface SendInfo {
  readonly rejectedErrors?: readonly (Error & { readonly recipient?: string | undefined })[] | undefined;
}

const NO_STARTTLS = "server offers no STARTTLS: the login would go over the network in clear text";

/** nodemailer asks for STARTTLS whether or not it is offered where it must be there. */
function isWithoutTls({ phase, code }: MailFailure, error: unknown): boolean {
  if (code === null || code < 500) return false;
  return phase === "TLS" || (error instanceof Error && error.message.includes("required STARTTLS"));
}

/** A mail in the form of the internet (RFC 5322), and who it goes to. */
export interface Composed {
  /** Head and body. */
  readonly content: Buffer;
  /** For the server. */
  readonly envelope: { readonly from: string | false; readonly to: string[]; readonly size: number };
}

/** Quoted-printable keeps lines as they are, and carries any character (RFC 2045). */
async function compose(mail: OutgoingMail): Promise<Composed> {
  const { default: Composer } = await import("nodemailer/lib/mail-composer");
  const { references } = mail;
  const newest = references.at(-1);
  const composer = new Composer({
    from: { name: "", address: mail.sender },
    to: mail.receivers.map((address) => ({ name: "", address })),
    subject: mail.subject,
    // Empty content is none to the composer.
    text: { content: mail.text === "" ? "\n" : mail.text, contentTransferEncoding: "quoted-printable" },
    messageId: mail.messageId,
    date: new Date(mail.dateMs),
    headers: { ...mail.headers },
    ...newest === undefined ? {} : { references: [...references], inReplyTo: newest },
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const root = composer.compile();
  const content = await root.build();
  return { content, envelope: { ...root.getEnvelope(), size: content.length } };
}

const PIECE_BYTES = 16_384;

function* inPieces(content: Buffer, onFirst: () => void): Generator<Buffer> {
  onFirst();
  for (let start = 0; start < content.length; start += PIECE_BYTES) {
    yield content.subarray(start, start + PIECE_BYTES);
  }
}

/** An address literal (RFC 5321, section 4.1.3): it is always true, and needs no permission to be known. */
function ownName({ localAddress: address }: MailSocket): string {
  return address.includes(":") ? `[IPv6:${address}]` : `[${address}]`;
}

/** nodemailer begins TLS by itself, and notes in one place the socket that it speaks over. */
function followTls(connection: object, socket: MailSocket): void {
  let current: unknown = Reflect.get(connection, "_socket");
  Object.defineProperty(connection, "_socket", {
    configurable: true,
    enumerable: true,
    get: () => current,
    set: (next: unknown) => {
      current = next;
      if (next instanceof Duplex && next !== socket) endProperly(next as TLSSocket);
    },
  });
}

/** The mail is taken; how the goodbye goes changes nothing any more. */
async function quit(
  connection: { quit(): void; once(event: "end", listener: () => void): unknown },
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = (): void => resolve();
  connection.once("end", done);
  signal.addEventListener("abort", done);
  const cancel = clock.after(QUIT_MS, done);
  connection.quit();
  await promise;
  cancel();
  signal.removeEventListener("abort", done);
}
