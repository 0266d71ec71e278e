/**
 * The reason why an email was not sent, in words and in its consequences. A reply of the server decides by its code
 * (RFC 5321, section 4.2.1): 4xx is transient, 5xx is permanent. A failure of the network is transient.
 */
import type { ConnectionTarget } from "../../domain/connections.ts";
import type { MailEnd } from "../../domain/mail.ts";
import { explainConnectionError } from "../tcp/connection_failure.ts";

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

/** A permanent failure that this side has decided. */
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

/**
 * "Service not available, closing transmission channel": the reply to any command, or to none (RFC 5321, sections 3.8
 * and 4.2.2). It may come from a proxy.
 */
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
