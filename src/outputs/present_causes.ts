/** The common causes of problems, as stored records show them now. */
import { describeCause } from "../channels/describe_item.ts";
import type { Check } from "../domain/check.ts";
import type { CheckRecord } from "../domain/store.ts";
import { type CausesOptions, findCauses, type FoundCause } from "../engine/causes.ts";
import type { CheckStatus } from "../engine/check_status.ts";
import { holdingDependencies } from "../engine/suppression.ts";
import { isoTime } from "../shared/json_values.ts";
import { AttributeIndex, newRecord } from "../state/record_cache.ts";

type RecordOf = (name: string) => CheckRecord | null;

/** Returns the active checks, without those that the present service does not run: they suppress nothing. */
export function runningChecks(checks: readonly Check[], recordOf: RecordOf): ReadonlyMap<string, Check> {
  const running = checks.filter(({ name, active }) => active && recordOf(name)?.nextRunAtMs !== null);
  return new Map(running.map((check) => [check.name, check]));
}

/** Returns what the causes of running checks are found by. */
export function recordedCauses(
  running: ReadonlyMap<string, Check>,
  recordOf: RecordOf,
  nowMs: number,
): CausesOptions {
  const recordFor = (name: string): CheckRecord => recordOf(name) ?? newRecord(name, nowMs);
  const stateOf = (name: string): CheckRecord["condition"] => recordFor(name).condition;
  const index = new AttributeIndex();
  for (const name of running.keys()) index.replace(name, undefined, recordOf(name)?.last?.attributes);
  return {
    running,
    recordOf: recordFor,
    isHeld: (check) => holdingDependencies(check, { running, stateOf, nowMs }).length > 0,
    checksWith: (attribute) => index.checksWith(attribute),
    suspectingWith: (attribute) => index.suspectingWith(attribute),
    suspecting: index.suspecting,
  };
}

/** Returns the causes of shown checks whose conditions are known now. */
export function presentCauses(
  options: CausesOptions,
  statusOf: (name: string) => Pick<CheckStatus, "state"> | undefined,
): readonly FoundCause[] {
  return [...new Set(findCauses(options).values())]
    .filter(({ names }) => names.some((name) => statusOf(name)?.state === "current"));
}

export function foundCauseFields({ text, sinceMs, names }: FoundCause): unknown {
  return { text, since: isoTime(sinceMs), checks: names };
}

/** As in `cause: 3 checks fail since 2026-03-02 22:00:01 UTC: all connect to 192.0.2.7, …: api, docs, shop`. */
export function describeFoundCause(cause: FoundCause, timeZone: string): string {
  return `cause: ${describeCause(cause, timeZone)}: ${cause.names.join(", ")}`;
}
