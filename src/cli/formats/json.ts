import { checkFields } from "./check_fields.ts";
import { isoTime, roundedMs } from "../../shared/json_values.ts";
import type { Format, RunSummary } from "./format.ts";
import { jsonDocument } from "../../shared/text.ts";

/** One JSON object for the whole run, printed at its end. Fields are only ever added. */
export const jsonFormat: Format = {
  summary: (summary) => {
    const checks = summary.records.map(checkFields);
    const run = { ...summaryFields(summary), checks, unfinished: summary.unfinished };
    return jsonDocument(run);
  },
};

/** The first fields of a summary. */
export function summaryFields({ condition, reason, startedAtMs, durationMs }: RunSummary): object {
  return {
    condition,
    ...reason !== null && { reason },
    started_at: isoTime(startedAtMs),
    duration_ms: roundedMs(durationMs),
  };
}
