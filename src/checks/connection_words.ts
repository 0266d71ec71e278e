import { hostAndPort } from "../domain/runtime_permissions.ts";
import type { ConnectionFailure, ConnectionPhase, ConnectionTarget } from "../domain/connections.ts";

interface ConnectionVerdict {
  readonly isObstacle: boolean;
  readonly text: string;
}

/** Describes a failed connection: the phase, host and port, and the reason. */
export function failureVerdict(
  { phase, reason }: ConnectionFailure,
  target: ConnectionTarget,
): ConnectionVerdict {
  if (phase === "permission" || phase === "settings") return { isObstacle: true, text: reason };
  if (phase === "machine") {
    return { isObstacle: true, text: `${activity("connecting", target)} failed: ${reason}` };
  }
  const doing = phase === "resolving" ? `resolving ${target.host}` : activity(phase, target);
  return { isObstacle: false, text: `${doing} failed: ${reason}` };
}

/** Describes a timeout; a name and a connection take time in one step of the runtime. */
export function timeoutText(timeoutMs: number, phase: ConnectionPhase, target: ConnectionTarget): string {
  const isName = phase === "connecting" && !isAddress(target.host) && target.address === undefined &&
    target.socket === undefined;
  const when = phase === "TLS" ? "during the" : isName ? "while resolving the name or" : "while";
  return `timeout after ${timeoutMs / 1000} s ${when} ${activity(phase, target)}`;
}

function activity(phase: ConnectionPhase, { host, port, address, socket }: ConnectionTarget): string {
  const place = socket ?? hostAndPort(address?.address ?? host, port);
  return {
    connecting: `connecting to ${place}`,
    "STARTTLS": `requesting STARTTLS from ${place}`,
    TLS: `TLS handshake with ${place}`,
    sending: `sending to ${place}`,
    reading: `reading from ${place}`,
  }[phase];
}

/** Returns whether a host is an IPv4 or IPv6 address, which is not resolved. */
function isAddress(host: string): boolean {
  return host.includes(":") || /^\d+(?:\.\d+){3}$/.test(host);
}
