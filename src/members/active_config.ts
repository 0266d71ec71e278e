import type { MemberHeartbeat } from "../domain/membership.ts";

/**
 * Returns the hash of the active config: the one of most live members. A tie keeps the present one. For a member that
 * has just joined, the present one is that which most others consider active.
 */
export function activeConfig(
  live: readonly Pick<MemberHeartbeat, "config" | "active">[],
  present: string | null,
): string | null {
  const leading = mostCommon(live.map(({ config }) => config));
  const [first = null] = leading;
  if (leading.length <= 1) return first;
  if (present !== null && leading.includes(present)) return present;
  const believed = mostCommon(live.map(({ active }) => active).filter((hash) => leading.includes(hash)));
  return believed[0] ?? first;
}

/** The most common values, in order, so that all members see the same first one. */
function mostCommon(values: readonly string[]): readonly string[] {
  const counts = Map.groupBy(values, (value) => value);
  const most = Math.max(0, ...[...counts.values()].map(({ length }) => length));
  return [...counts].filter(([, { length }]) => length === most).map(([value]) => value).sort();
}
