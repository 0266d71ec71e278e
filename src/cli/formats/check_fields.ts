import type { CheckKind } from "../../domain/check.ts";
import type { Condition } from "../../domain/condition.ts";
import { type LocationFields, locationFields } from "../../outputs/json/location_fields.ts";
import { isoTime, roundedMs } from "../../shared/json_values.ts";
import type { SchedulerEvent } from "../../scheduler/scheduler.ts";
import type { RunRecord } from "./format.ts";

/** A completed check in `json` and `ndjson`. Fields are only ever added, in a fixed order. */
export interface CheckFields {
  readonly name: string;
  /** The free text label, or `null` without one. */
  readonly title: string | null;
  readonly kind: CheckKind;
  readonly condition: Condition;
  /** One line for people; may be empty. */
  readonly output: string;
  /** Further lines; often empty. */
  readonly detail: string;
  /** ISO 8601, UTC, with milliseconds. */
  readonly started_at: string;
  readonly duration_ms: number;
  /** Plain numbers by name; the unit is in the name unless it has none. */
  readonly metrics: Readonly<Record<string, number>>;
  /** The plugin's own text after `|`; often empty. */
  readonly performance_data: string;
  /** Consecutive check results of at least this severity; for `ok`: that were `ok`. */
  readonly occurrences: number;
  /** How many results in a row raise the confirmed condition. */
  readonly threshold: number;
  /** `null`: none, the check is pending. */
  readonly confirmed: Condition | null;
  readonly tags: readonly string[];
  /** The result at each location; absent if the check did not run at locations. */
  readonly locations?: readonly LocationFields[];
}

/** Returns the fields that `json` and `ndjson` print for a completed check. */
export function checkFields(record: RunRecord): CheckFields {
  const { result, occurrences, confirmed } = record;
  return {
    name: result.check.name,
    title: result.check.title ?? null,
    kind: result.check.kind,
    condition: result.condition,
    output: result.output,
    detail: result.detail,
    started_at: isoTime(result.startedAtMs),
    duration_ms: roundedMs(result.durationMs),
    metrics: finiteOnly(result.metrics),
    performance_data: result.performanceData,
    occurrences,
    threshold: result.check.threshold,
    confirmed,
    tags: result.check.tags,
    ...locationFields(result.locations),
  };
}

/** Returns the run of an event of the scheduler. */
export function recordOf({ result, entry }: Extract<SchedulerEvent, { event: "result" }>): RunRecord {
  return { result, occurrences: entry.occurrences, confirmed: entry.record.condition.confirmed };
}

/** JSON has no word for NaN and infinities, and `null` would break the promise of plain numbers. */
function finiteOnly(metrics: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(metrics).filter(([, value]) => Number.isFinite(value)));
}
