import type { MemberHeartbeat } from "../domain/membership.ts";

/**
 * Returns the hash of the active config: the one of most live members. With a tie, the one that most of them consider
 * active, and else the first one: so all members choose the same. One that has just joined considers none active.
 */
export function activeConfig(live: readonly Pick<MemberHeartbeat, "config" | "active">[]): string | null {
  const leading = mostCommon(live.map(({ config }) => config));
  const [first = null] = leading;
  const believed = mostCommon(live.map(({ active }) => active).filter((hash) => leading.includes(hash)));
  return believed[0] ?? first;
}

/** The most common values, in order, so that all members see the same first one. */
function mostCommon(values: readonly string[]): readonly string[] {
  const counts = Map.groupBy(values, (value) => value);
  const most = Math.max(0, ...[...counts.values()].map(({ length }) => length));
  return [...counts].filter(([, { length }]) => length === most).map(([value]) => value).sort();
}
