import type { ChangePlace, ConditionChange, Store } from "../domain/store.ts";

/** How many changes are in memory at a time. */
const PAGE = 100;

/** Reads all changes of a check, the newest first, page by page: there may be a megabyte of them. */
export async function* allChanges(
  store: Pick<Store, "changes">,
  name: string,
): AsyncGenerator<ConditionChange> {
  let from: ChangePlace = { atMs: Infinity, skip: 0 };
  for (;;) {
    const page = await store.changes(name, { sinceMs: -Infinity, limit: PAGE, from });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    const { atMs } = last;
    const skipped = page.filter((change) => change.atMs === atMs).length;
    from = { atMs, skip: skipped + (atMs === from.atMs ? from.skip : 0) };
  }
}
