import { hostAndPortOf } from "../domain/runtime_permissions.ts";
import type { RequestFailure } from "../domain/requests.ts";

/** The activity of each phase. Before a head there is no body, whatever the runtime's error suggests. */
const ACTIVITIES: Readonly<Record<Exclude<RequestFailure["phase"], "permission" | "settings">, string>> = {
  machine: "connecting to",
  resolving: "resolving",
  connecting: "connecting to",
  TLS: "TLS handshake with",
  head: "reading the response head from",
  body: "reading the response head from",
};

/**
 * Describes in one line why a request got no response head, such as
 * `connecting to example.org:443 failed: connection refused`.
 */
export function describeRequestFailure(
  { phase, reason, place }: RequestFailure,
  target: string,
): string {
  if (phase === "permission" || phase === "settings") return reason;
  return `${ACTIVITIES[phase]} ${place ?? placeOf(phase, target)} failed: ${reason}`;
}

function placeOf(phase: RequestFailure["phase"], target: string): string {
  return phase === "resolving" ? new URL(target).hostname : hostAndPortOf(target);
}
