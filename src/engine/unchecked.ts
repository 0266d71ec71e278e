/**
 * The end of a problem of a check that the config no longer runs. Whoever was notified of it would wait for a recovery
 * that never comes, and an incident would stay open. It is a recovery whose condition is `unknown`, which no other one
 * has: the problem may well go on.
 */
import { type Notification, PLAIN_NOTIFICATION } from "../domain/outbox.ts";
import { type LastNotified } from "./queued_notifications.ts";
import type { ChannelUser } from "./rekey.ts";

/** Returns why a config does not run a check, by the checks that it has; `null`: it does. */
export function whyUnchecked(check: string, users: ReadonlyMap<string, ChannelUser>): string | null {
  const user = users.get(check);
  if (user === undefined) return "removed from the config";
  return user.active === false ? "inactive in the config" : null;
}

interface UncheckedOptions extends Pick<Notification, "id" | "title" | "hostName" | "problemBeganAtMs"> {
  readonly why: string;
  readonly last: LastNotified;
  readonly nowMs: number;
}

/** Returns the notification; `null`: the channel waits for none. */
export function uncheckedOf(
  check: string,
  { why, last: { conditions: [previous = "ok"] }, nowMs, ...facts }: UncheckedOptions,
): Notification | null {
  if (previous === "ok") return null;
  return {
    ...PLAIN_NOTIFICATION,
    ...facts,
    check,
    event: "recovery",
    condition: "unknown",
    previous,
    output: `no longer checked: ${why}, was ${previous}`,
    decidedAtMs: nowMs,
    occurrences: 0,
    nextRunAtMs: nowMs,
  };
}
