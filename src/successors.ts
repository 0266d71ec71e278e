import type { ChannelLists, FormerChannel } from "./channel_lists.ts";
import type { Channel } from "./domain/channel.ts";
import type { Check } from "./domain/check.ts";
import type { OutboxRow } from "./domain/outbox.ts";
import { toldKey } from "./outbox_message.ts";

/** A channel that was told of a check's problem, or is about to be. */
export interface Knowing {
  /** The check's name. */
  readonly check: string;
  /** The channel, as the document keys it. */
  readonly channelKey: string;
}

/** A channel in the place of another, as rows name it. */
export type Successor = Pick<OutboxRow, "channelKey" | "channelName">;

/** What takes the place of a channel that a check has no more. */
export interface Successors {
  /** None where the check has no channel; more than one only where it cannot be told which. */
  readonly channels: readonly Successor[];
  /**
   * Whether they are new to the check, so that they take over what the channel was told. Otherwise they are all that the
   * check has now, and each takes only what it does not know.
   */
  readonly areNew: boolean;
}

/** Answers what takes the place of a channel for a check; `null` where the check has that channel, or is not there. */
export type FindSuccessors = (check: string, channelKey: string) => Successors | null;

/** What {@linkcode findSuccessors} goes by. */
export interface SuccessorOptions {
  /** What knows something of checks. */
  readonly known: readonly Knowing[];
  /** What each check had before. */
  readonly former: ChannelLists;
  /** How people call a channel. */
  nameOf(channel: Channel): string;
}

/**
 * Which channels take the place of those that a check has no more: a mail server with another port is another channel,
 * and what still waits for the first, or was told there, is not to be lost with it. It goes to the channels that the
 * check did not have before, one for one in the order of the document: first among those of the same kind, then among
 * what is left. Where there are fewer of them, the last takes the place of several; where there are more, nobody can
 * tell which is meant, and all that are left take the place of the last. Where none is new, and for what the check had
 * no more before, all that the check has do.
 *
 * `former` has what each check had before; where it does not tell, whatever knows nothing of the problem is new. Only
 * checks of which some channel knows something are looked at. Answers with what takes the place of a channel, by
 * {@linkcode toldKey}.
 */
export function findSuccessors(
  checks: readonly Check[],
  { known, former, nameOf }: SuccessorOptions,
): ReadonlyMap<string, Successors> {
  const knowing = Map.groupBy(known, ({ check }) => check);
  const successors = new Map<string, Successors>();
  for (const { name, notifications } of checks) {
    const ofCheck = knowing.get(name);
    if (ofCheck === undefined) continue;
    const keys = new Set(ofCheck.map(({ channelKey }) => channelKey));
    const own = new Map(notifications.map((channel) => [channel.key, channel]));
    const had = former.get(name) ?? [...keys].map((key): FormerChannel => ({ key, kind: null }));
    const gone = had.filter(({ key }) => !own.has(key));
    const fresh = [...own.values()].filter(({ key }) => !had.some((one) => one.key === key));
    const paired = pairChannels(gone, fresh);
    for (const key of new Set([...gone.map((channel) => channel.key), ...keys])) {
      if (own.has(key)) continue;
      const channels = (paired.get(key) ?? [...own.values()]).map((channel) => ({
        channelKey: channel.key,
        channelName: nameOf(channel),
      }));
      successors.set(toldKey(name, key), { channels, areNew: paired.has(key) });
    }
  }
  return successors;
}

/** What takes the place of each that is gone, by its key; of all of them where anything is new. */
function pairChannels(
  gone: readonly FormerChannel[],
  fresh: readonly Channel[],
): ReadonlyMap<string, readonly Channel[]> {
  const paired = new Map<string, readonly Channel[]>();
  const taken = new Set<Channel>();
  const pair = (from: readonly FormerChannel[], to: readonly Channel[]): void => {
    from.slice(0, to.length).forEach(({ key }, index) => {
      // Which of those that are left is meant nobody can tell.
      const chosen = to.slice(index, index === from.length - 1 ? undefined : index + 1);
      paired.set(key, chosen);
      for (const channel of chosen) taken.add(channel);
    });
  };
  for (const kind of new Set(fresh.map((channel) => channel.kind))) {
    pair(gone.filter((channel) => channel.kind === kind), fresh.filter((channel) => channel.kind === kind));
  }
  pair(gone.filter(({ key }) => !paired.has(key)), fresh.filter((channel) => !taken.has(channel)));
  for (const { key, kind } of gone) {
    const last = fresh.findLast((channel) => channel.kind === kind) ?? fresh.at(-1);
    if (!paired.has(key) && last !== undefined) paired.set(key, [last]);
  }
  return paired;
}
