import { isShared, type MemberStatus } from "../domain/membership.ts";
import type { ChangePlace, ConditionChange, JobLog, Store } from "../domain/store.ts";
import type { StateRepository } from "./state_repository.ts";

/** Reads the members that run checks, or died; `null` if the state isn't shared. */
export async function readServices(store: Store | null): Promise<readonly MemberStatus[] | null> {
  if (store === null || !isShared(store)) return null;
  // A single run has no config of its own.
  return (await store.members()).filter(({ config }) => config !== "");
}

const PAGE = 100;

/** Reads the changes of a check in a span, the newest first, page by page: there may be a megabyte of them. */
export async function* allChanges(
  store: Pick<Store, "changes">,
  name: string,
  { sinceMs, untilMs }: { readonly sinceMs: number; readonly untilMs: number } = {
    sinceMs: -Infinity,
    untilMs: Infinity,
  },
): AsyncGenerator<ConditionChange> {
  let from: ChangePlace = { atMs: untilMs, skip: 0 };
  for (;;) {
    const page = await store.changes(name, { sinceMs, limit: PAGE, from });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    const { atMs } = last;
    const skipped = page.filter((change) => change.atMs === atMs).length;
    from = { atMs, skip: skipped + (atMs === from.atMs ? from.skip : 0) };
  }
}

/** Reads jobs from the store of a repository, also after that was replaced. */
export function jobLogOf(repository: Pick<StateRepository, "store">): JobLog {
  return { recall: (name, nowMs) => repository.store.job(name, nowMs) };
}
