import { isShared, type MemberStatus } from "../domain/membership.ts";
import type { Store } from "../domain/store.ts";

/** Reads the members that run checks, or died; `null` if the state isn't shared. */
export async function readServices(store: Store | null): Promise<readonly MemberStatus[] | null> {
  if (store === null || !isShared(store)) return null;
  // A single run has no config of its own.
  return (await store.members()).filter(({ config }) => config !== "");
}
