import type { Channel } from "./domain/channel.ts";
import type { Check } from "./domain/check.ts";
import { toldKey } from "./outbox_message.ts";

/** A channel that was told of a check's problem, or is about to be. */
export interface Knowing {
  /** The check's name. */
  readonly check: string;
  /** The channel, as the document keys it. */
  readonly channelKey: string;
}

/**
 * Which channels take the place of those that a check has no more: a mail server with another port is another channel,
 * and what still waits for the first, or was told there, is not to be lost with it. It goes to the channels of the check
 * that know nothing of its problem yet, one for one in the order of the document, and where there are fewer, to the last.
 *
 * Answers with what takes the place of a channel, by {@linkcode toldKey}; what is not there has no successor.
 */
export function findSuccessors(
  checks: readonly Check[],
  known: readonly Knowing[],
): ReadonlyMap<string, Channel> {
  const keysOf = new Map<string, Set<string>>();
  for (const { check, channelKey } of known) {
    const keys = keysOf.get(check);
    if (keys === undefined) keysOf.set(check, new Set([channelKey]));
    else keys.add(channelKey);
  }
  const successors = new Map<string, Channel>();
  for (const { name, notifications } of checks) {
    const keys = keysOf.get(name);
    if (keys === undefined) continue;
    const own = new Map(notifications.map((channel) => [channel.key, channel]));
    const fresh = [...own.values()].filter(({ key }) => !keys.has(key));
    const gone = [...keys].filter((key) => !own.has(key));
    gone.forEach((key, index) => {
      const channel = fresh[Math.min(index, fresh.length - 1)];
      if (channel !== undefined) successors.set(toldKey(name, key), channel);
    });
  }
  return successors;
}
