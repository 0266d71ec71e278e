import { checkFields } from "./check_fields.ts";
import { isoTime, roundedMs } from "../../shared/json_values.ts";
import { countConditions } from "./counts.ts";
import type { Format } from "./format.ts";
import { jsonText } from "../../shared/json_text.ts";

/** One JSON object a line: a `result` for each check as it finishes, and a `summary` at the end. */
export const ndjsonFormat: Format = {
  record: (record) => line({ event: "result", ...checkFields(record) }),
  summary: (summary) =>
    line({
      event: "summary",
      condition: summary.condition,
      ...summary.reason !== null && { reason: summary.reason },
      started_at: isoTime(summary.startedAtMs),
      duration_ms: roundedMs(summary.durationMs),
      counts: countConditions(summary.records),
      unfinished: summary.unfinished,
    }),
};

function line(event: object): string {
  return `${jsonText(event, { indent: 0 })}\n`;
}
