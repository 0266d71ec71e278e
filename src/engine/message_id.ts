import { hashId } from "../shared/hash.ts";

/**
 * Returns the id of a message: that of its notification, or one derived from the ids of all of them. So the same
 * notifications have the same id in every process, and other notifications another one, even if the delivery of a
 * message could not be persisted: a receiver that drops duplicates drops nothing else.
 */
export function messageIdOf(notificationIds: readonly string[]): string {
  const [first = "", ...others] = notificationIds;
  return others.length === 0 ? first : hashId(JSON.stringify(notificationIds));
}
