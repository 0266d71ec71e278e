/** The errors and warnings of a summary whose keys are valid one by one. */
import type { Check } from "../domain/check.ts";
import { exactDuration } from "../domain/duration.ts";
import { SUMMARY_NAME, type SummarySettings } from "../domain/summary_settings.ts";
import { DAY_MS } from "../shared/time_units.ts";
import { type Problem, quoteValue } from "./problem.ts";

/** Daily sums are kept for 100 days. */
const KEPT_MS = 100 * DAY_MS;

/** Finds a check with the name under which a summary is queued. */
export function findSummaryProblems(
  summary: SummarySettings | null,
  checks: readonly Check[],
): readonly Problem[] {
  if (summary === null || checks.every(({ name }) => name !== SUMMARY_NAME)) return [];
  return [{
    path: ["checks", SUMMARY_NAME],
    at: "name",
    message: `${quoteValue(SUMMARY_NAME)} is the name of the summary, expected another name for this check`,
  }];
}

/** Warns of a period without history, and of tags that no check has. */
export function warnOfSummary(
  { periodMs = 0, tags = [] }: SummarySettings,
  checks: readonly Check[],
): readonly Problem[] {
  const known = new Set(checks.flatMap((check) => check.tags));
  return [
    ...periodMs <= KEPT_MS ? [] : [{
      path: ["summary", "period"],
      message: `is ${exactDuration(periodMs)}, and history is kept for ${exactDuration(KEPT_MS)} only`,
    }],
    ...tags.flatMap((tag, index) =>
      known.has(tag)
        ? []
        : [{ path: ["summary", "tags", index], message: `no check has the tag ${quoteValue(tag)}` }]
    ),
  ];
}
