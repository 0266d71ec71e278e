import type { RequestFailure } from "./system.ts";

/** What was being done in each phase. Before a head there is no body, whatever the runtime's error looks like. */
const ACTIVITIES: Readonly<Record<Exclude<RequestFailure["phase"], "permission" | "settings">, string>> = {
  machine: "connecting",
  resolving: "resolving",
  connecting: "connecting",
  TLS: "TLS",
  head: "reading the response head",
  body: "reading the response head",
};

/** Says in one line why a request got no head, such as `connecting failed: connection refused`. */
export function describeRequestFailure({ phase, reason }: RequestFailure): string {
  if (phase === "permission" || phase === "settings") return reason;
  return `${ACTIVITIES[phase]} failed: ${reason}`;
}
