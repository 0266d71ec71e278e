import type { ChannelCount, QueuedNotification } from "../domain/outbox.ts";

/** Returns the counts that notifications of one channel add; nothing if there are none. */
export function countOf(
  [first]: readonly QueuedNotification[],
  numbers: Partial<ChannelCount> & Pick<ChannelCount, "countedAtMs">,
): readonly ChannelCount[] {
  if (first === undefined) return [];
  const { channelKey, channelName } = first;
  const none = { sent: 0, failedAttempts: 0, dropped: 0, summarized: 0, limitUse: null };
  return [{ channelKey, channelName, ...none, ...numbers }];
}
