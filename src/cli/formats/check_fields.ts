import { locationFields } from "../../outputs/json/location_fields.ts";
import { isoTime, roundedMs } from "../../shared/json_values.ts";
import type { SchedulerEvent } from "../../scheduler/scheduler.ts";
import type { RunRecord } from "./format.ts";

/** A completed check in `json` and `ndjson`. */
export type CheckFields = Readonly<ReturnType<typeof fieldsOf>>;

export function checkFields(record: RunRecord): CheckFields {
  return fieldsOf(record);
}

/** Fields are only ever added, in a fixed order. */
function fieldsOf({ result, occurrences, confirmed }: RunRecord) {
  const { check } = result;
  return {
    name: check.name,
    title: check.title ?? null,
    kind: check.kind,
    condition: result.condition,
    output: result.output,
    detail: result.detail,
    started_at: isoTime(result.startedAtMs),
    duration_ms: roundedMs(result.durationMs),
    metrics: finiteOnly(result.metrics),
    performance_data: result.performanceData,
    occurrences,
    threshold: check.threshold,
    confirmed,
    tags: check.tags,
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
