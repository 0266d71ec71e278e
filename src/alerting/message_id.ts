import { hashId } from "../shared/hash.ts";

/**
 * The id that a message is sent under: that of its notification, or one made from the ids of all of them. So the same
 * notifications have the same id whoever sends them, and other notifications another one, even where nothing could be noted of a
 * message that has arrived: a receiver that drops duplicates drops nothing else.
 */
export function messageIdOf(notificationIds: readonly string[]): string {
  const [first = "", ...others] = notificationIds;
  return others.length === 0 ? first : hashId(JSON.stringify(notificationIds));
}
