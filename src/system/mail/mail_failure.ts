/**
 * What went wrong with a mail, in words and in what follows from it. A reply of the server decides by its code (RFC
 * 5321, section 4.2.1): 4xx may pass, 5xx stands until somebody mends something. What the network does may pass.
 */
import type { ConnectionTarget } from "../../domain/connections.ts";
import type { MailEnd } from "../../domain/mail.ts";
import { explainConnectionError } from "../tcp/connection_failure.ts";
import { explainRequestError } from "../http/request_failure.ts";

/** A mail that was not sent. */
export type MailFailure = Extract<MailEnd, { readonly sent: false }>;

/** How far a conversation came. */
export interface Progress {
  /** Such as `greeting` or `login`. */
  readonly phase: string;
  /** Whether the last byte of the mail may have gone out. */
  readonly wasHandedOver: boolean;
}

/** A failure for good that this side has decided. */
export function refusal(phase: string, reason: string): MailFailure {
  return { sent: false, phase, code: null, retryable: false, mayHaveArrived: false, reason };
}

/** Puts an error of connecting into words. */
export function connectFailure(error: unknown, target: ConnectionTarget): MailFailure {
  const { phase, reason } = explainConnectionError(error, target, "connecting");
  const isLasting = phase === "permission";
  return { sent: false, phase, code: null, retryable: !isLasting, mayHaveArrived: false, reason };
}

/** Puts an error that nodemailer gave into words. */
export function sessionFailure(error: unknown, { phase, wasHandedOver }: Progress): MailFailure {
  const facts = factsOf(error);
  const found = COMMAND_PHASES.find(({ pattern }) => pattern.test(facts.command));
  if (facts.responseCode === null) {
    // The same codes tell of an answer that is none.
    const isOwn = (facts.code === "EMESSAGE" || facts.code === "EENVELOPE") && facts.response === "";
    return {
      sent: false,
      phase: found?.phase ?? phase,
      code: null,
      retryable: !isOwn,
      mayHaveArrived: wasHandedOver && !isOwn,
      reason: networkReason(error, found?.phase ?? phase, "connection failed"),
    };
  }
  return {
    sent: false,
    phase: found?.phase ?? phase,
    code: facts.responseCode,
    retryable: facts.responseCode < 500,
    // Only 4xx and 5xx say that it was not taken; 421 may also come from who ends the connection for the server.
    mayHaveArrived: wasHandedOver && (facts.responseCode < 400 || facts.responseCode === CLOSING),
    reason: `server answered ${oneLine(facts.response)}${
      facts.expected === "" ? "" : `, expected ${facts.expected}`
    }`,
  };
}

/** An error for a reply that nodemailer would accept and the protocol does not allow. */
export function unexpectedReply(
  response: string,
  { command, expected }: { readonly command: string; readonly expected: string },
): Error {
  const responseCode = Number(response.slice(0, 3));
  return Object.assign(new Error("Unexpected reply"), { response, responseCode, command, expected });
}

/** "Service not available, closing transmission channel": an answer to whatever was asked (RFC 5321, section 4.2.2). */
const CLOSING = 421;

/** The server's reply that an error stands for, as one line; for a receiver that was refused. */
export function replyOf(error: unknown): string {
  const { response } = factsOf(error);
  return response === "" ? "no reason given" : oneLine(response);
}

const COMMAND_PHASES = [
  { pattern: /^STARTTLS$/, phase: "TLS" },
  { pattern: /^AUTH\b/, phase: "login" },
  { pattern: /^MAIL FROM$/, phase: "sender" },
  { pattern: /^RCPT TO$/, phase: "receivers" },
  { pattern: /^DATA$/, phase: "data" },
] as const;

/** Codes of the system, and of nodemailer's time limits, in words. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNRESET: "connection reset by the server",
  ECONNABORTED: "connection reset by the server",
  EPIPE: "connection closed by the server",
  ENETUNREACH: "network is unreachable",
  EHOSTUNREACH: "no route to the host",
  ETIMEDOUT: "no answer to the connection attempt",
  GREETING_TIMEOUT: "server is connected but sends no greeting",
  UPGRADE_TIMEOUT: "TLS handshake does not end",
  SOCKET_TIMEOUT: "server has fallen silent",
  ECONNECTION: "connection closed by the server",
};

/** What nodemailer says of it, and what the runtime makes of it: the second on Deno 2.7 where TLS lies over a stream. */
const CLOSED_WORDS = [
  "Connection closed unexpectedly",
  "expected i32",
  "Cannot call end after a stream was finished",
] as const;

/** Words of the TLS library, which say little to people. */
const TLS_WORDS =
  /cannot decrypt|received (?:corrupt|fatal|unexpected)|peer (?:misbehaved|is incompatible)|invalid peer certificate/;

/** What the runtime says where it does not know why TLS over a stream could not go on. */
const WORDLESS = /^(?:read|write) UNKNOWN$/;

function networkReason(error: unknown, phase: string, otherwise: string): string {
  const { timeoutType, originalCode, code, message, response } = factsOf(error);
  if (CLOSED_WORDS.some((words) => message.startsWith(words))) return REASONS.ECONNECTION ?? otherwise;
  if (response !== "") return `answer is not SMTP: ${oneLine(response)}`;
  for (const key of [timeoutType, originalCode, code]) {
    const reason = REASONS[key];
    if (reason !== undefined) return reason;
  }
  if (TLS_WORDS.test(message)) {
    return explainRequestError(error, "https://server.invalid", { isBehindHandshake: phase !== "TLS" })
      .reason;
  }
  if (WORDLESS.test(message)) return phase === "TLS" ? "handshake failed" : otherwise;
  return message === "" ? otherwise : oneLine(message);
}

/** What errors of the runtime and of nodemailer carry, as far as they do. */
interface ErrorFacts {
  readonly code: string;
  readonly originalCode: string;
  readonly timeoutType: string;
  readonly command: string;
  readonly response: string;
  /** The reply code that was expected instead; empty where any would have been an error. */
  readonly expected: string;
  readonly responseCode: number | null;
  readonly message: string;
}

function factsOf(error: unknown): ErrorFacts {
  const facts: Readonly<Record<string, unknown>> = typeof error === "object" && error !== null
    ? { ...error }
    : {};
  const text = (name: string): string => typeof facts[name] === "string" ? facts[name] : "";
  return {
    code: text("code"),
    originalCode: text("originalCode"),
    timeoutType: text("timeoutType"),
    command: text("command"),
    response: text("response"),
    expected: text("expected"),
    responseCode: typeof facts.responseCode === "number" ? facts.responseCode : null,
    message: error instanceof Error ? error.message : String(error),
  };
}

const REASON_LENGTH_MAX = 300;

/** A server may say anything, of any length. */
function oneLine(text: string): string {
  const line = text.slice(0, 4096).replace(/[\s\p{Cc}\p{Cf}\p{Cs}]+/gu, " ").trim();
  return line.length > REASON_LENGTH_MAX ? `${line.slice(0, REASON_LENGTH_MAX)}…` : line;
}
