import type { Duplex } from "node:stream";
import type { Clock } from "../../domain/clock.ts";
import { onAbort } from "../../shared/deadline.ts";
import type { ConnectTcpOptions } from "../tcp/connect_tcp.ts";
import { TcpStream } from "../tcp/tcp_stream.ts";
import { beginTls, handshaken } from "../tls/handshakes.ts";
import type { ConnectionTarget } from "../../domain/connections.ts";
import type { MailEnd } from "../../domain/system.ts";
import { explainConnectionError } from "../network_failure.ts";
import { oneLine } from "../../shared/text.ts";

const SETUP_MS = 30_000;
/** For a reply, and for each piece of the content. */
const SILENCE_MS = 50_000;
/** How long after its end a connection may still deliver data. */
const GONE_MS = 1_000;
/** A server that accepted the email is not waited for much longer. */
const QUIT_MS = 1_000;
const PIECE_BYTES = 16_384;

/** A reply in the client's turn belongs to no command. While the content is sent, no reply may accept it. */
type Turn = "client" | "server" | "content";

/**
 * A session with an SMTP server, one command and one reply after the other (RFC 5321). Every method rejects with the
 * reason of a failure; {@linkcode close} must be called in any case.
 */
export class SmtpConnection {
  readonly #clock: Clock;
  readonly #base: TcpStream;
  /** The stream that is spoken over: the base, or TLS. */
  #stream: Duplex;
  #replies = new ReplyReader();
  #turn: Turn = "server";
  #reply = Promise.withResolvers<Reply>();
  /** A reply that the server sent because it is closing the connection. */
  #goodbye: Reply | null = null;
  #failure: { readonly reason: unknown } | null = null;
  #cancelLimit = (): void => {};
  readonly #stopListening: () => void;

  constructor(connection: Deno.TcpConn, { clock, signal }: ConnectTcpOptions) {
    this.#clock = clock;
    this.#base = new TcpStream(connection, { allowHalfOpen: false });
    this.#stream = this.#base;
    this.#stopListening = onAbort(signal, () => this.#fail(signal.reason));
  }

  /** Reads the first reply; with a server name, after a TLS handshake. */
  async greeting(tlsName: string | null): Promise<Reply> {
    if (tlsName === null) this.#listenTo(this.#base);
    else await this.secure(tlsName);
    this.#begin("server");
    return await this.#nextReply(SETUP_MS, "no greeting from the server");
  }

  async ask(command: string): Promise<Reply> {
    if (/[\r\n]/.test(command)) throw new TypeError("A command has one line");
    this.#begin("server");
    if (this.#goodbye !== null) return this.#goodbye;
    void this.#write(new TextEncoder().encode(`${command}\r\n`));
    return await this.#nextReply(SILENCE_MS, SILENT);
  }

  /**
   * Sends the content of an email with the line that ends it, and reads the reply. `onLast` is called before the last
   * bytes are sent. A server that replies earlier has not accepted the email.
   */
  async sendContent(content: Uint8Array, onLast: () => void): Promise<Reply> {
    this.#begin("content");
    if (this.#goodbye !== null) return this.#goodbye;
    const reply = this.#reply.promise.then(() => "reply" as const);
    for (let start = 0; start < content.length; start += PIECE_BYTES) {
      if (start + PIECE_BYTES >= content.length) {
        this.#turn = "server";
        onLast();
      }
      this.#limit(SILENCE_MS, SILENT);
      if (
        await Promise.race([this.#write(content.subarray(start, start + PIECE_BYTES)), reply]) === "reply"
      ) break;
    }
    return await this.#nextReply(SILENCE_MS, SILENT);
  }

  /** Does the handshake; everything afterwards is encrypted. The certificate must be trusted and for this name. */
  async secure(serverName: string): Promise<void> {
    this.#begin("client");
    this.#limit(SETUP_MS, "timeout during the TLS handshake");
    const secured = beginTls(this.#base, { serverName, authorities: [] }, { verifies: true });
    this.#stream = secured;
    try {
      await Promise.race([handshaken(secured, this.#base, this.#clock), this.#reply.promise]);
    } catch (error) {
      // Later data must not reach TLS, which is over.
      this.#fail(error);
      throw error;
    }
    this.#cancelLimit();
    this.#replies = new ReplyReader();
    this.#listenTo(secured);
  }

  /** Ends the session. The email is accepted; a failure changes nothing any more. */
  async quit(): Promise<void> {
    try {
      this.#begin("server");
      void this.#write(new TextEncoder().encode("QUIT\r\n"));
      await this.#nextReply(QUIT_MS, SILENT);
    } catch {
      // It has gone.
    }
  }

  close(): void {
    this.#fail(new SmtpError("connection is closed"));
    this.#stopListening();
  }

  #begin(turn: Turn): void {
    if (this.#replies.isWithinReply) this.#fail(new SmtpError(TOO_EARLY));
    if (this.#failure !== null) throw this.#failure.reason;
    this.#reply = Promise.withResolvers();
    // It may reject before it is awaited.
    this.#reply.promise.catch(() => {});
    this.#turn = turn;
  }

  async #nextReply(limitMs: number, tooLate: string): Promise<Reply> {
    this.#limit(limitMs, tooLate);
    const reply = await this.#reply.promise;
    this.#cancelLimit();
    return reply;
  }

  #limit(limitMs: number, tooLate: string): void {
    this.#cancelLimit();
    if (this.#failure !== null) return;
    this.#cancelLimit = this.#clock.after(limitMs, () => this.#fail(new SmtpError(tooLate)));
  }

  #listenTo(stream: Duplex): void {
    // Once TLS lies over it, a stream has another reader.
    const isCurrent = (): boolean => this.#stream === stream;
    stream.on("data", (bytes: Uint8Array) => isCurrent() && this.#take(bytes));
    stream.on("error", (error) => isCurrent() && this.#fail(error));
    stream.on("end", () => isCurrent() && this.#fail(new SmtpError(CLOSED)));
    // TLS does not always notice that the connection under it is closed; earlier data is read first.
    this.#base.once("close", () => isCurrent() && this.#limit(GONE_MS, CLOSED));
  }

  #take(bytes: Uint8Array): void {
    if (this.#failure !== null) return;
    let answer: Reply | null = null;
    try {
      for (const reply of this.#replies.read(bytes)) {
        const isGoodbye = reply.code === CLOSING;
        const isAsked = this.#turn === "server" || this.#turn === "content" && reply.code >= 300;
        if (!isAsked && !isGoodbye) throw new SmtpError(TOO_EARLY);
        if (isAsked) answer = reply;
        else this.#goodbye ??= reply;
        this.#turn = "client";
      }
    } catch (error) {
      return this.#fail(error);
    }
    if (answer !== null) this.#reply.resolve(answer);
  }

  /** Returns whether it succeeds, reading will show: a server may reply before it has read everything. */
  #write(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve) => void this.#stream.write(bytes, () => resolve()));
  }

  #fail(reason: unknown): void {
    if (this.#failure !== null) return;
    this.#failure = { reason };
    this.#cancelLimit();
    this.#reply.reject(reason);
    this.#stream.destroy();
    this.#base.destroy();
  }
}

const CLOSED = "connection closed by the server";
const SILENT = "no reply from the server";
const TOO_EARLY = "server replied too early";

type MailFailure = Extract<MailEnd, { readonly sent: false }>;

/**
 * The reason why an email was not sent, in words and in its consequences. A reply of the server decides by its code
 * (RFC 5321, section 4.2.1): 4xx is transient, 5xx is permanent. A failure of the network is transient.
 */
export class SmtpError extends Error {
  override readonly name = "SmtpError";
  /** The code of the server's reply; `null` without one. */
  readonly code: number | null;
  readonly retryable: boolean;

  /** The reason begins with a small letter. */
  constructor(
    reason: string,
    { code = null, retryable = true }: { code?: number | null; retryable?: boolean } = {},
  ) {
    super(reason);
    this.code = code;
    this.retryable = retryable;
  }
}

export function refusal(reason: string): SmtpError {
  return new SmtpError(reason, { retryable: false });
}

export interface MailProgress {
  /** Such as `greeting` or `login`. */
  phase: string;
  /** Whether the last byte of the email may have been sent. */
  wasHandedOver: boolean;
}

/** The reply to any command, or to none, of a server or a proxy that closes (RFC 5321, 3.8 and 4.2.2). */
export const CLOSING = 421;

export function mailFailure(
  error: unknown,
  { phase, wasHandedOver }: MailProgress,
  target: ConnectionTarget,
): MailFailure {
  if (error instanceof SmtpError) {
    const { code, retryable, message: reason } = error;
    // Only 4xx and 5xx reject the email.
    const mayHaveArrived = wasHandedOver && (code === null || code < 400 || code === CLOSING);
    return { sent: false, phase, code, retryable, mayHaveArrived, reason };
  }
  const doing = phase === "connecting" || phase === "TLS" ? phase : "reading";
  const found = explainConnectionError(error, target, doing);
  const retryable = found.phase !== "permission" && found.phase !== "settings";
  const shown = phase === "connecting" ? found.phase : phase;
  const { reason } = found;
  return { sent: false, phase: shown, code: null, retryable, mayHaveArrived: wasHandedOver, reason };
}

// Replies of an SMTP server (RFC 5321, section 4.2), parsed within limits.

export interface Reply {
  /** Three digits; of the last line. */
  readonly code: number;
  /** Without their ends; code and hyphen are part of a line. */
  readonly lines: readonly string[];
}

/** RFC 5321, section 4.5.3.1.5, has 512 octets; some servers send whole stories. */
const LINE_LENGTH_MAX = 4_096;
const LINES_MAX = 500;
const REPLY_LINE = /^([2-5]\d\d)(?:([ -])|$)/;

/** Makes replies of the bytes of a server. Empty lines are skipped. */
class ReplyReader {
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #text = "";
  #lines: string[] = [];
  #lineCount = 0;

  get isWithinReply(): boolean {
    return this.#text !== "" || this.#lines.length > 0;
  }

  /** Returns the replies that are complete. Throws an {@linkcode SmtpError} if a line is none, or too much. */
  read(bytes: Uint8Array): readonly Reply[] {
    const replies: Reply[] = [];
    const parts = (this.#text + this.#decoder.decode(bytes, { stream: true })).split("\n");
    this.#text = parts.pop() ?? "";
    for (const part of parts) {
      const line = part.endsWith("\r") ? part.slice(0, -1) : part;
      refuseTooMuch(line.length, ++this.#lineCount);
      if (line.trim() === "") continue;
      const [, code, separator] = REPLY_LINE.exec(line) ?? [];
      if (code === undefined) throw new SmtpError(`reply is not SMTP: ${oneLine(line)}`);
      this.#lines.push(line);
      if (separator === "-") continue;
      replies.push({ code: Number(code), lines: this.#lines });
      this.#lines = [];
      this.#lineCount = 0;
    }
    refuseTooMuch(this.#text.length, this.#lineCount);
    return replies;
  }
}

function refuseTooMuch(lineLength: number, lineCount: number): void {
  if (lineLength <= LINE_LENGTH_MAX && lineCount <= LINES_MAX) return;
  throw new SmtpError("reply is too long");
}

export function quoteReply({ lines }: Reply): string {
  return oneLine(lines.join(" "));
}
