import { hostAndPort } from "../domain/runtime_permissions.ts";
import { activity, describeFailureAt, isOwnFailure } from "../shared/failure_words.ts";
import type { ConnectionFailure, ConnectionPhase, ConnectionTarget } from "../domain/connections.ts";

export interface ConnectionVerdict {
  readonly isObstacle: boolean;
  readonly text: string;
}

export function failureVerdict(
  failure: ConnectionFailure,
  target: ConnectionTarget,
): ConnectionVerdict {
  const place = failure.phase === "resolving" ? target.host : placeOf(target);
  return { isObstacle: isOwnFailure(failure), text: describeFailureAt(place, failure) };
}

/** Describes a timeout; a name and a connection take time in one step of the runtime. */
export function timeoutText(timeoutMs: number, phase: ConnectionPhase, target: ConnectionTarget): string {
  const isName = phase === "connecting" && !isAddress(target.host) && target.address === undefined &&
    target.socket === undefined;
  const when = phase === "TLS" ? "during the" : isName ? "while resolving the name or" : "while";
  return `timeout after ${timeoutMs / 1000} s ${when} ${activity(phase, placeOf(target))}`;
}

function placeOf({ host, port, address, socket }: ConnectionTarget): string {
  return socket ?? hostAndPort(address?.address ?? host, port);
}

/** Returns whether a host is an IPv4 or IPv6 address, which is not resolved. */
function isAddress(host: string): boolean {
  return host.includes(":") || /^\d+(?:\.\d+){3}$/.test(host);
}
