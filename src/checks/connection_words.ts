import type { ConnectionFailure, ConnectionPhase } from "../domain/system.ts";

/** Why nothing, or something bad, can be said of a target. */
export interface ConnectionVerdict {
  /** This side is to blame, which tells nothing of the target. */
  readonly isObstacle: boolean;
  /** One line. */
  readonly text: string;
}

/** Puts a failed connection into words, with its phase. */
export function failureVerdict({ phase, reason }: ConnectionFailure): ConnectionVerdict {
  if (phase === "permission") return { isObstacle: true, text: reason };
  if (phase === "machine") return { isObstacle: true, text: `connecting failed: ${reason}` };
  return { isObstacle: false, text: `${phase} failed: ${reason}` };
}

/** Words for a time limit that was reached; a name and a connection take time in one step of the runtime. */
export function timeoutText(timeoutMs: number, phase: ConnectionPhase, host: string): string {
  return `timeout after ${timeoutMs / 1000} s while ${activity(phase, host)}`;
}

function activity(phase: ConnectionPhase, host: string): string {
  if (phase === "connecting") return isAddress(host) ? "connecting" : "resolving the name or connecting";
  return phase === "TLS" ? "shaking hands for TLS" : phase;
}

/** An IPv4 or IPv6 address, which needs no resolving. */
function isAddress(host: string): boolean {
  return host.includes(":") || /^\d+(?:\.\d+){3}$/.test(host);
}
