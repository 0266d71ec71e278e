import type { PageGroup } from "../../domain/generated/config.ts";
import type { PageCheck } from "./snapshot.ts";

interface Grouped {
  /** `null`: the checks that are in no group. */
  readonly group: PageGroup | null;
  readonly members: readonly PageCheck[];
}

/**
 * Returns the groups that have checks, each check in the first one that matches it. A group without tags and names has
 * those that are in no other one; without such a group, they are last.
 */
export function groupChecks(checks: readonly PageCheck[], groups: readonly PageGroup[]): readonly Grouped[] {
  const sets = groups.map((group) => ({ group, names: new Set(group.checks), tags: new Set(group.tags) }));
  const rest = sets.find(({ names, tags }) => names.size + tags.size === 0)?.group ?? null;
  const found = Map.groupBy(
    checks,
    ({ check: { name, tags } }) =>
      sets.find((set) => set.names.has(name) || tags.some((tag) => set.tags.has(tag)))?.group ?? rest,
  );
  return [...groups, null].flatMap((group) => {
    const members = found.get(group);
    return members === undefined ? [] : [{ group, members }];
  });
}
