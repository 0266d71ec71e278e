import type { ConnectionFailure, RequestFailure } from "../domain/connections.ts";
import { hostAndPortOf } from "../domain/runtime_permissions.ts";

type Phase = (ConnectionFailure | RequestFailure)["phase"];

/** The activity of each phase. Before a head there is no body, whatever the runtime's error suggests. */
const ACTIVITIES: Readonly<Record<Exclude<Phase, "permission" | "settings">, string>> = {
  machine: "connecting to",
  resolving: "resolving",
  connecting: "connecting to",
  STARTTLS: "requesting STARTTLS from",
  TLS: "TLS handshake with",
  sending: "sending to",
  reading: "reading from",
  head: "reading the response head from",
  body: "reading the response head from",
};

/** Returns whether a failure is of this machine or its config, and reveals nothing about the target. */
export function isOwnFailure({ phase }: { readonly phase: string }): boolean {
  return phase === "permission" || phase === "settings" || phase === "machine";
}

/** The reason if a name could not be resolved since no name server responded. */
export const NO_NAME_SERVER = "no response from a name server";

/** Returns whether the other side responded, if only by a refusal: so its host is up. */
export function hasAnswered(
  { phase, reason }: Pick<ConnectionFailure, "reason"> & { readonly phase: Phase },
): boolean {
  return phase !== "resolving" && phase !== "connecting" && phase !== "machine" ||
    reason === "connection refused" || reason === "connection reset by the server";
}

export function activity(phase: keyof typeof ACTIVITIES, place: string): string {
  return `${ACTIVITIES[phase]} ${place}`;
}

/** Describes a failure at a place in one line, such as `connecting to example.org:443 failed: connection refused`. */
export function describeFailureAt(
  place: string,
  { phase, reason }: { readonly phase: Phase; readonly reason: string },
): string {
  return phase === "permission" || phase === "settings"
    ? reason
    : `${activity(phase, place)} failed: ${reason}`;
}

export function describeRequestFailure(failure: RequestFailure, target: string): string {
  const place = failure.phase === "resolving" ? new URL(target).hostname : hostAndPortOf(target);
  return describeFailureAt(failure.place ?? place, failure);
}
