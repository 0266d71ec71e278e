/** The result of a check that runs at several locations: pure. */
import { type Condition, CONDITIONS, severity } from "../domain/condition.ts";
import type { LocationVote } from "../domain/check.ts";

interface Agreement {
  readonly condition: Condition;
  /** One line that names every location. */
  readonly output: string;
  /** The first location with that condition; `null`: too few results count. */
  readonly decisive: LocationVote | null;
}

/**
 * Returns the highest severity that at least `agree` locations reached, and `unknown` if fewer results count. The order
 * of the votes does not matter. One location with `agree` 1 decides alone.
 */
export function agreeOn(votes: readonly LocationVote[], agree: number): Agreement {
  const sorted = votes.toSorted((one, other) => one.location < other.location ? -1 : 1);
  const bySeverity = sorted.filter(({ condition }) => condition !== null)
    .toSorted((one, other) => severityOf(other) - severityOf(one));
  const decided = bySeverity[agree - 1];
  if (decided === undefined) {
    const output = `results from ${bySeverity.length} of ${votes.length} locations, ${agree} required`;
    return { condition: "unknown", output: `${output}: ${describe(sorted)}`, decisive: null };
  }
  const { condition } = decided;
  const decisive = bySeverity.find((vote) => vote.condition === condition) ?? decided;
  const named = votes.length === 1 ? decisive.output : `${decisive.location}: ${decisive.output}`;
  const reason = decisive.output === "" ? "" : ` (${named})`;
  return { condition: condition ?? "unknown", output: `${describe(sorted)}${reason}`, decisive };
}

/** Returns whether no location has reported since the last result of its check. */
export function isUnreported(
  { locations: votes }: { readonly locations?: readonly LocationVote[] },
  last: { readonly locations?: readonly LocationVote[] } | null,
): boolean {
  if (votes === undefined) return false;
  const before = new Map(last?.locations?.map(({ location, run }) => [location, run]));
  return votes.every(({ location, run, durationMs }) =>
    run === undefined ? durationMs === null : run === before.get(location)
  );
}

function severityOf({ condition }: LocationVote): number {
  return condition === null ? -1 : severity(condition);
}

/** Such as "critical from fra, nyc; ok from sgp"; those that do not count last, with the reason. */
function describe(votes: readonly LocationVote[]): string {
  const counted = CONDITIONS.toReversed().flatMap((condition) => {
    const names = votes.filter((vote) => vote.condition === condition).map(({ location }) => location);
    return names.length === 0 ? [] : [`${condition} from ${names.join(", ")}`];
  });
  const others = Map.groupBy(votes.filter(({ condition }) => condition === null), ({ output }) => output);
  const missing = [...others].map(([reason, some]) =>
    `not counted: ${some.map(({ location }) => location).join(", ")} (${reason})`
  );
  return [...counted, ...missing].join("; ");
}

/** Describes the result of a location, such as "fra: critical, connection refused". */
export function describeVote({ location, condition, output }: LocationVote): string {
  return `${location}: ${condition ?? "not counted"}${output === "" ? "" : `, ${output}`}`;
}
