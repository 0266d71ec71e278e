/**
 * Dependencies that explain the outages of the past. Pure.
 *
 * A check is suggested to depend on another one if it failed in each outage of that one, at least some times, and if
 * that one failed first, or is the ping of the same host.
 */
import { type Check, combinedChecks, dependencyNames } from "../domain/check.ts";
import type { ConditionChange } from "../domain/store.ts";
import { MINUTE_MS } from "../shared/time_units.ts";

/** An outage from the confirmed failure to its end; wall time, milliseconds since 1970. */
export interface Outage {
  readonly fromMs: number;
  /** `null`: it goes on. */
  readonly untilMs: number | null;
}

export interface SuggestedDependency {
  readonly check: string;
  readonly parent: string;
  /** The outages of the parent, each with that of the check, the oldest first. */
  readonly shared: readonly { readonly parent: Outage; readonly check: Outage }[];
  readonly reason: "failed first" | "is a ping of the same host";
}

/** An outage of a check that begins so long before or after that of another one has the same cause. */
const WINDOW_MS = 5 * MINUTE_MS;

/** Returns the outages of a check from its changes, in any order. */
export function outagesOf(changes: readonly ConditionChange[]): readonly Outage[] {
  const outages: Outage[] = [];
  let fromMs: number | null = null;
  for (const { atMs, to } of changes.toSorted((one, other) => one.atMs - other.atMs)) {
    // While nothing is known, an outage may go on.
    if (to === "critical" || to === "warning") fromMs ??= atMs;
    else if (to === "ok" && fromMs !== null) {
      outages.push({ fromMs, untilMs: atMs });
      fromMs = null;
    }
  }
  return fromMs === null ? outages : [...outages, { fromMs, untilMs: null }];
}

interface SuggestOptions {
  readonly checks: readonly Check[];
  outagesOf(check: string): readonly Outage[];
  /** The fewest outages that are no coincidence. */
  readonly times: number;
}

/** Returns dependencies that the config lacks, by the names of the checks. None of them makes a circle. */
export function suggestDependencies(
  { checks, outagesOf, times }: SuggestOptions,
): readonly SuggestedDependency[] {
  const byName = checks.toSorted((one, other) => one.name < other.name ? -1 : 1);
  const known = new Map(
    checks.map((check) => [check.name, new Set([...dependencyNames(check), ...combinedChecks(check)])]),
  );
  const found = byName.flatMap((parent) => {
    const outages = outagesOf(parent.name);
    if (outages.length < times) return [];
    return byName.filter((check) => check !== parent && combinedChecks(check).length === 0)
      .flatMap((check) => suggestionOf(check, parent, { own: outagesOf(check.name), outages }) ?? []);
  });
  // The most evidence first.
  found.sort((one, other) => other.shared.length - one.shared.length);
  const accepted: SuggestedDependency[] = [];
  for (const one of found) {
    if (reaches(one.check, one.parent, known) || reaches(one.parent, one.check, known)) continue;
    known.get(one.check)?.add(one.parent);
    accepted.push(one);
  }
  return accepted
    .filter(({ check, parent }) => !isIndirect(check, parent, known))
    .sort((one, other) =>
      one.check < other.check ? -1 : one.check > other.check ? 1 : one.parent < other.parent ? -1 : 1
    );
}

function suggestionOf(
  check: Check,
  parent: Check,
  { own, outages }: { readonly own: readonly Outage[]; readonly outages: readonly Outage[] },
): SuggestedDependency | null {
  const shared: { readonly parent: Outage; readonly check: Outage }[] = [];
  for (const outage of outages) {
    const same = own.find(({ fromMs, untilMs }) =>
      Math.abs(fromMs - outage.fromMs) <= WINDOW_MS && (untilMs === null || untilMs >= outage.fromMs)
    );
    if (same === undefined) return null;
    shared.push({ parent: outage, check: same });
  }
  const reason = isPingOf(parent, check)
    ? "is a ping of the same host"
    : !isPingOf(check, parent) && shared.every((one) => one.parent.fromMs < one.check.fromMs)
    ? "failed first"
    : null;
  return reason === null ? null : { check: check.name, parent: parent.name, shared, reason };
}

function isPingOf(parent: Check, check: Check): boolean {
  if (parent.kind !== "ping" || check.kind === "ping" || check.target === undefined) return false;
  const host = parent.parameters.host.toLowerCase();
  const { target } = check;
  const found = URL.parse(target)?.hostname || target.replace(/:\d+$/, "");
  return found.toLowerCase() === host;
}

type Known = ReadonlyMap<string, ReadonlySet<string>>;

/** Returns whether a check depends on another one, also by way of others. */
function reaches(from: string, to: string, known: Known): boolean {
  const found = new Set([from]);
  for (const one of found) for (const parent of known.get(one) ?? []) found.add(parent);
  return found.has(to);
}

/** Returns whether another dependency of a check already depends on one. */
function isIndirect(check: string, parent: string, known: Known): boolean {
  return [...known.get(check) ?? []].some((other) => other !== parent && reaches(other, parent, known));
}
