import { messageOf } from "../../shared/describe_error.ts";
import { hostAndPort } from "../../domain/runtime_permissions.ts";
import type { ConnectionFailure, ConnectionPhase, ConnectionTarget } from "../../domain/connections.ts";
import { explainRequestError } from "../http/request_failure.ts";
import { StartTlsRefusal } from "../tls/start_tls.ts";
import { explainTrustError } from "../tls/trust.ts";

export function explainConnectionError(
  error: unknown,
  { host, port, socket }: ConnectionTarget,
  phase: ConnectionPhase,
): ConnectionFailure {
  const code = codeOf(error);
  if (error instanceof Deno.errors.NotCapable && socket !== undefined) {
    const access = error.message.includes("write access") ? "write" : "read";
    return {
      phase: "permission",
      reason: `needs ${access} access to "${socket}": grant --allow-${access}=${socket}`,
    };
  }
  if (error instanceof Deno.errors.NotCapable || code === "EPERM") {
    const grant = hostAndPort(host, port);
    return { phase: "permission", reason: `needs network access to "${grant}": grant --allow-net=${grant}` };
  }
  const trust = explainTrustError(error);
  if (trust !== null) return { phase: "settings", reason: trust };
  if (error instanceof StartTlsRefusal) return { phase, reason: error.message };
  const text = `${messageOf(error)} ${code}`;
  for (const rule of RULES) {
    if (!rule.pattern.test(text)) continue;
    const { reason } = rule;
    return {
      phase: rule.phase ?? phase,
      reason: typeof reason === "string" ? reason : phase === "TLS" ? reason.inHandshake : reason.otherwise,
    };
  }
  const isBehindHandshake = phase === "sending" || phase === "reading";
  return {
    phase,
    reason: explainRequestError(error, "https://server.invalid", { isBehindHandshake }).reason,
  };
}

/** The meaning of one kind of error text, with its phase if known. The first that matches decides. */
interface Rule {
  readonly pattern: RegExp;
  readonly phase?: ConnectionFailure["phase"];
  readonly reason: string | { readonly inHandshake: string; readonly otherwise: string };
}

const RULES: readonly Rule[] = [
  {
    pattern: /Too many open files|EMFILE|os error 10024\b/,
    phase: "machine",
    reason: "too many open files on this machine",
  },
  {
    pattern: /Temporary failure in name resolution|EAI_AGAIN/,
    phase: "resolving",
    reason: "no response from a name server",
  },
  {
    pattern: /failed to lookup address|No such host is known|No address associated|ENOTFOUND/,
    phase: "resolving",
    reason: "name does not resolve",
  },
  { pattern: /No such file or directory/, reason: "socket does not exist" },
  { pattern: /Permission denied/, phase: "machine", reason: "permission denied" },
  { pattern: /Connection refused|ECONNREFUSED|os error 10061\b/, reason: "connection refused" },
  {
    pattern: /Connection reset by peer|ECONNRESET|os error 10054\b/,
    reason: "connection reset by the server",
  },
  { pattern: /Broken pipe|EPIPE/, reason: "connection closed by the server" },
  { pattern: /Network is unreachable|ENETUNREACH|os error 10051\b/, reason: "network is unreachable" },
  { pattern: /No route to host|EHOSTUNREACH|os error 10065\b/, reason: "no route to the host" },
  {
    pattern: /Connection timed out|ETIMEDOUT|os error 10060\b/,
    reason: "no response to the connection attempt",
  },
  {
    pattern: /unexpected end of file|peer closed connection without sending/,
    reason: {
      inHandshake: "connection closed during the handshake",
      otherwise: "connection closed by the server",
    },
  },
];

function codeOf(error: unknown): string {
  if (typeof error !== "object" || error === null || !("code" in error)) return "";
  return String(error.code);
}
