/**
 * The ids of notifications in a shared state. Before a record is saved, its version identifies the one it replaces.
 * So another process that makes the same decision from the same record, since the first one died or could not save,
 * derives the same id, and a receiver drops the duplicate.
 */
import { hashId } from "../shared/hash.ts";
import type { NotificationFacts } from "../domain/outbox.ts";

interface NotificationIdOptions {
  /** The stored version of a check's record with its last result; `null` if nothing is stored of it. */
  versionOf(check: string): number | null;
  randomId(): string;
}

/** Returns the function that makes an id. Of one version, it makes other ids for later notifications. */
export function createNotificationIds(
  { versionOf, randomId }: NotificationIdOptions,
): (facts: NotificationFacts) => string {
  const last = new Map<string, { readonly version: number; readonly count: number }>();
  return ({ check, condition }) => {
    const version = versionOf(check);
    // Another installation may begin with the same check.
    if (version === null) return randomId();
    const before = last.get(check);
    const count = before?.version === version ? before.count + 1 : 1;
    last.set(check, { version, count });
    return hashId(JSON.stringify([check, version, count, condition]));
  };
}
