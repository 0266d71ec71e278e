/**
 * Distributes work over members by rendezvous hashing (Thaler and Ravishankar): each name belongs to the host with
 * the highest score for it. So only the names of a host that leaves are moved, and they return with it.
 */
import { type Dependency, dependencyNames } from "../domain/check.ts";
import { hash32, mix32 } from "../shared/hash.ts";

/** Returns the host that a name belongs to; `null` without hosts. */
export function hostOf(name: string, hosts: readonly string[]): string | null {
  return createPlacement(hosts)(name);
}

/** The same for many names: each costs a few operations for each host. */
export function createPlacement(hosts: readonly string[]): (name: string) => string | null {
  const sorted = hosts.toSorted();
  const hashes = Int32Array.from(sorted, (host) => hash32(host));
  return (name) => {
    const nameHash = hash32(name);
    let best = -1;
    let bestScore = -1;
    for (let index = 0; index < hashes.length; index++) {
      const score = mix32(nameHash ^ (hashes[index] ?? 0));
      // Of the same score, the last host.
      if (score < bestScore) continue;
      best = index;
      bestScore = score;
    }
    return sorted[best] ?? null;
  };
}

/** The fields that decide the host of a check. */
export interface PlacedCheck {
  readonly name: string;
  readonly dependsOn: readonly Dependency[];
}

/**
 * Returns the name by which each check is assigned: that of its root dependency. So a check and its parents run on
 * the same member. Of several dependencies the first one counts.
 */
export function placesOf(checks: readonly PlacedCheck[]): ReadonlyMap<string, string> {
  const byName = new Map(checks.map((check) => [check.name, check]));
  const places = new Map<string, string>();
  const placeOf = (check: PlacedCheck): string => {
    const known = places.get(check.name);
    if (known !== undefined) return known;
    // Against a circle, although the config has none.
    places.set(check.name, check.name);
    const parent = byName.get(dependencyNames(check)[0] ?? "");
    const place = parent === undefined ? check.name : placeOf(parent);
    places.set(check.name, place);
    return place;
  };
  checks.forEach(placeOf);
  return places;
}
