/**
 * The reason why an email was not sent, in words and in its consequences. A reply of the server decides by its code
 * (RFC 5321, section 4.2.1): 4xx is transient, 5xx is permanent. A failure of the network is transient.
 */
import type { ConnectionTarget } from "../../domain/connections.ts";
import type { MailEnd } from "../../domain/mail.ts";
import { explainConnectionError } from "../tcp/connection_failure.ts";
import { oneLine } from "../../shared/text.ts";

type MailFailure = Extract<MailEnd, { readonly sent: false }>;

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

/** How far a conversation came. */
export interface MailProgress {
  /** Such as `greeting` or `login`. */
  phase: string;
  /** Whether the last byte of the email may have been sent. */
  wasHandedOver: boolean;
}

/** The reply to any command, or to none, of a server or a proxy that closes (RFC 5321, 3.8 and 4.2.2). */
export const CLOSING = 421;

/** Makes a failure of whatever a conversation was rejected with. */
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
export class ReplyReader {
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
