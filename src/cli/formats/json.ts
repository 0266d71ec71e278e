import { CONDITIONS } from "../../domain/condition.ts";
import { locationFields } from "../../outputs/json/monitor_fields.ts";
import type { SchedulerEvent } from "../../scheduler/scheduler.ts";
import { isoTime, roundedMs } from "../../shared/json_values.ts";
import { jsonDocument, jsonLine } from "../../shared/text.ts";
import type { Format, RunRecord, RunSummary } from "./format.ts";

/** One JSON object for the whole run, printed at its end. Fields are only ever added. */
export const jsonFormat: Format = {
  summary: (summary) => {
    const { records, unfinished } = summary;
    return jsonDocument({ ...summaryFields(summary), checks: records.map(checkFields), unfinished });
  },
};

function summaryFields({ condition, reason, startedAtMs, durationMs }: RunSummary): object {
  return {
    condition,
    ...reason !== null && { reason },
    started_at: isoTime(startedAtMs),
    duration_ms: roundedMs(durationMs),
  };
}

/** One JSON object a line: a `result` for each check as it finishes, and a `summary` at the end. */
export const ndjsonFormat: Format = {
  record: (record) => jsonLine({ event: "result", ...checkFields(record) }),
  summary: (summary) => {
    const counts = CONDITIONS.map((condition) => [
      condition,
      summary.records.filter(({ result }) => result.condition === condition).length,
    ]);
    return jsonLine({
      event: "summary",
      ...summaryFields(summary),
      counts: Object.fromEntries(counts),
      unfinished: summary.unfinished,
    });
  },
};

export type CheckFields = Readonly<ReturnType<typeof fieldsOf>>;

export function checkFields(record: RunRecord): CheckFields {
  return fieldsOf(record);
}

/** A completed check in `json` and `ndjson`. Fields are only ever added, in a fixed order. */
function fieldsOf({ result, occurrences, confirmed }: RunRecord) {
  const { check: { name, title = null, kind, threshold, tags }, condition, output, detail } = result;
  return {
    ...{ name, title, kind, condition, output, detail },
    started_at: isoTime(result.startedAtMs),
    duration_ms: roundedMs(result.durationMs),
    // JSON has no word for NaN and infinities, and `null` would break the promise of plain numbers.
    metrics: Object.fromEntries(Object.entries(result.metrics).filter(([, value]) => Number.isFinite(value))),
    performance_data: result.performanceData,
    ...{ occurrences, threshold, confirmed, tags },
    ...locationFields(result.locations),
  };
}

export function recordOf({ result, entry }: Extract<SchedulerEvent, { event: "result" }>): RunRecord {
  return { result, occurrences: entry.occurrences, confirmed: entry.record.condition.confirmed };
}
