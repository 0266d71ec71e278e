/**
 * The notifications of a channel that was edited, at a reload. A channel without a name has only a key that is made
 * from its content; so a channel at the same index of a check's list, of the same kind, whose old key no check uses any
 * more, is taken for the same one. Pure: the caller applies it.
 */
import type { Channel } from "../domain/channel.ts";
import type { Check } from "../domain/check.ts";
import {
  type DeliveryMarker,
  type Notification,
  type OutboxChange,
  PLAIN_NOTIFICATION,
  type QueuedNotification,
} from "../domain/outbox.ts";
import { markerKey, messageKey } from "./outbox_changes.ts";
import { type LastNotified, newQueued } from "./queued_notifications.ts";

/** A check, or the summary under its name, with its channels. */
export type ChannelUser = Pick<Check, "name" | "notifications"> & Partial<Check>;

/** The channel in the place of another, as queued notifications name it. */
type NewChannel = Pick<QueuedNotification, "channelKey" | "channelName">;

/** By the check and its old channel, see {@linkcode markerKey}. */
export type Rekeyed = ReadonlyMap<string, NewChannel>;

/**
 * Returns the channels that were edited between two configs. `notices` are no checks: each of them may be notified of
 * through every channel.
 */
export function findRekeyed(
  before: readonly ChannelUser[],
  after: readonly ChannelUser[],
  { nameOf, notices = [] }: { nameOf(channel: Channel): string; readonly notices?: readonly string[] },
): Rekeyed {
  const lists = new Map(before.map(({ name, notifications }) => [name, notifications]));
  const used = new Set(after.flatMap(({ notifications }) => notifications.map(({ key }) => key)));
  const rekeyed = new Map<string, NewChannel>();
  for (const { name, notifications } of after) {
    const list = lists.get(name) ?? [];
    for (const [index, channel] of notifications.entries()) {
      const old = list[index];
      if (old === undefined || old.kind !== channel.kind || used.has(old.key)) continue;
      // A name shows which channel is the same.
      if (old.name !== undefined || channel.name !== undefined) continue;
      // A channel that the check already had keeps its own markers.
      if (list.some(({ key }) => key === channel.key)) continue;
      // Only the first of two channels that became the same.
      if (notifications.findIndex(({ key }) => key === channel.key) < index) continue;
      const target = { channelKey: channel.key, channelName: nameOf(channel) };
      for (const one of [name, ...notices]) {
        const key = markerKey(one, old.key);
        if (!rekeyed.has(key)) rekeyed.set(key, target);
      }
    }
  }
  return rekeyed;
}

/**
 * Returns the queued notifications that get another channel. A message that may have arrived keeps its id if all of it
 * goes to one channel that accepts it as one message, so that the receiver can drop the duplicate.
 */
export function rekeyQueued(
  queued: readonly QueuedNotification[],
  rekeyed: Rekeyed,
  batches: (channelKey: string) => boolean,
): readonly { readonly old: QueuedNotification; readonly moved: QueuedNotification }[] {
  const targetOf = ({ notification, channelKey }: QueuedNotification): NewChannel | undefined =>
    rekeyed.get(markerKey(notification.check, channelKey));
  const messages = Map.groupBy(queued, messageKey);
  const staysWhole = (one: QueuedNotification, { channelKey }: NewChannel): boolean => {
    const message = messages.get(messageKey(one)) ?? [];
    const checks = new Set(message.map(({ notification }) => notification.check));
    return message.every((part) => targetOf(part)?.channelKey === channelKey) &&
      (checks.size === 1 || batches(channelKey));
  };
  return queued.flatMap((old) => {
    const target = targetOf(old);
    if (target === undefined) return [];
    const messageId = staysWhole(old, target) ? old.messageId : null;
    const { notification, missedProblem, summarized, sequence, nextAttemptAtMs: nowMs } = old;
    // A failure under the old key does not concern the new one.
    const moved = newQueued(notification, { ...target, sequence, nowMs });
    return [{ old, moved: { ...moved, missedProblem, summarized, messageId } }];
  });
}

/**
 * Returns the changes of delivery markers by a reload. Those of edited channels get the new key. Those of which the
 * check no longer has the channel become uncertain, since the channel gets no recovery; obsolete ones are deleted.
 */
export function moveMarkers(
  markers: readonly DeliveryMarker[],
  rekeyed: Rekeyed,
  { isUnwanted, isObsolete }: {
    isUnwanted(marker: DeliveryMarker): boolean;
    isObsolete(marker: DeliveryMarker): boolean;
  },
): Pick<OutboxChange, "markers" | "cleared"> {
  const cleared: DeliveryMarker[] = [];
  const moved: DeliveryMarker[] = [];
  for (const marker of markers) {
    const target = rekeyed.get(markerKey(marker.check, marker.channelKey));
    if (target !== undefined) {
      cleared.push(marker);
      moved.push({ ...marker, channelKey: target.channelKey });
    } else if (isUnwanted(marker)) {
      if (isObsolete(marker)) cleared.push(marker);
      else if (marker.certain) moved.push({ ...marker, certain: false });
    }
  }
  return { markers: moved, cleared };
}

// The end of a problem of a check that the config no longer runs. A person who was notified of it would wait for a
// recovery that never comes, and an incident would stay open. It is a recovery whose condition is `unknown`, which
// no other one has: the problem may well go on.

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
