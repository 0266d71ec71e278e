import { CONDITIONS } from "../../domain/condition.ts";
import { checkFields } from "./check_fields.ts";
import type { Format } from "./format.ts";
import { summaryFields } from "./json.ts";
import { jsonLine } from "../../shared/text.ts";

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
