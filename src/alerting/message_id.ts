/**
 * The id that a message is sent under: that of its notification, or one made from the ids of all of them. So the same
 * notifications have the same id whoever sends them, and other notifications another one, even where nothing could be noted of a
 * message that has arrived: a receiver that drops twins drops nothing else.
 */
export function messageIdOf(notificationIds: readonly string[]): string {
  const [first = "", ...others] = notificationIds;
  if (others.length === 0) return first;
  let hash = OFFSET_BASIS;
  for (const byte of new TextEncoder().encode(JSON.stringify(notificationIds))) {
    hash = BigInt.asUintN(128, (hash ^ BigInt(byte)) * PRIME);
  }
  const digits = hash.toString(16).padStart(32, "0");
  return [0, 8, 12, 16, 20].map((start, index, starts) => digits.slice(start, starts[index + 1])).join("-");
}

/** FNV-1a of 128 bits (Fowler, Noll, Vo): nobody chooses the ids, so it takes no more to keep messages apart. */
const OFFSET_BASIS = 0x6c62272e07bb014262b821756295c58dn;
const PRIME = 0x1000000000000000000013bn;
