import { messageOf } from "../../shared/describe_error.ts";
import { hostAndPort } from "../../domain/runtime_permissions.ts";
import type { ConnectionFailure, ConnectionPhase, ConnectionTarget } from "../../domain/connections.ts";
import { explainRequestError, missingNetwork } from "../http/request_failure.ts";
import { StartTlsRefusal } from "../tls/start_tls.ts";
import { explainTrustError } from "../tls/trust.ts";
import { NO_NAME_SERVER } from "../../shared/failure_words.ts";

export function explainConnectionError(
  error: unknown,
  { host, port, socket }: ConnectionTarget,
  phase: ConnectionPhase,
): ConnectionFailure {
  const code = codeOf(error);
  if (error instanceof Deno.errors.NotCapable && socket !== undefined) {
    const access = error.message.includes("write access") ? "write" : "read";
    const reason = `needs ${access} access to "${socket}": grant --allow-${access}=${socket}`;
    return { phase: "permission", reason };
  }
  if (error instanceof Deno.errors.NotCapable || code === "EPERM") {
    const [, datagrams] = /^UDP (.*)$/.exec(messageOf(error)) ?? [];
    return { phase: "permission", reason: missingNetwork(datagrams ?? hostAndPort(host, port)) };
  }
  const trust = explainTrustError(error);
  if (trust !== null) return { phase: "settings", reason: trust };
  if (error instanceof StartTlsRefusal) return { phase, reason: error.message };
  const text = `${messageOf(error)} ${code}`;
  if (phase === "TLS" && ENDED.test(text)) return { phase, reason: "connection closed during the handshake" };
  const rule = RULES.find(([, pattern]) => pattern.test(text));
  if (rule !== undefined) return { phase: rule[0] ?? phase, reason: rule[2] };
  const isBehindHandshake = phase === "sending" || phase === "reading";
  const { reason } = explainRequestError(error, "https://server.invalid", { isBehindHandshake });
  return { phase, reason };
}

const ENDED = /unexpected end of file|peer closed connection without sending/;

/** The meaning of one kind of error text, with its phase if known. The first that matches decides. */
type Rule = readonly [phase: ConnectionFailure["phase"] | null, pattern: RegExp, reason: string];

const RULES: readonly Rule[] = [
  ["machine", /Too many open files|EMFILE|os error 10024\b/, "too many open files on this machine"],
  ["resolving", /Temporary failure in name resolution|EAI_AGAIN/, NO_NAME_SERVER],
  [
    "resolving",
    /failed to lookup address|No such host is known|No address associated|ENOTFOUND/,
    "name does not resolve",
  ],
  [null, /No such file or directory/, "socket does not exist"],
  ["machine", /Permission denied/, "permission denied"],
  [null, /Connection refused|ECONNREFUSED|os error 10061\b/, "connection refused"],
  // `node:tls` over a socket reports a reset in the last words.
  [
    null,
    /Connection reset by peer|ECONNRESET|os error 10054\b|write UNKNOWN/,
    "connection reset by the server",
  ],
  [null, /Broken pipe|EPIPE/, "connection closed by the server"],
  [null, /Network is unreachable|ENETUNREACH|os error 10051\b/, "network is unreachable"],
  [null, /No route to host|EHOSTUNREACH|os error 10065\b/, "no route to the host"],
  [null, /Connection timed out|ETIMEDOUT|os error 10060\b/, "no response to the connection attempt"],
  [null, ENDED, "connection closed by the server"],
];

function codeOf(error: unknown): string {
  if (typeof error !== "object" || error === null || !("code" in error)) return "";
  return String(error.code);
}
