import { checkFields } from "./check_fields.ts";
import { isoTime, roundedMs } from "../../shared/json_values.ts";
import type { Format } from "./format.ts";
import { jsonText } from "../../shared/json_text.ts";

/** One JSON object for the whole run, printed at its end. Fields are only ever added. */
export const jsonFormat: Format = {
  record: () => "",
  summary: (summary) => {
    const run = {
      condition: summary.condition,
      ...summary.reason !== null && { reason: summary.reason },
      started_at: isoTime(summary.startedAtMs),
      duration_ms: roundedMs(summary.durationMs),
      checks: summary.records.map(checkFields),
      unfinished: summary.unfinished,
    };
    return `${jsonText(run, { indent: 2 })}\n`;
  },
};
