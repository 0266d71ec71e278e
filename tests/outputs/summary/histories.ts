import type { ConditionCounts } from "../../../src/domain/condition.ts";
import type { CheckHistory } from "../../../src/outputs/summary/summarize.ts";
import { DAY_MS } from "../../../src/shared/time_units.ts";
import { NOW_MS, recordOf } from "../../state/records.ts";

export const NO_TIME: ConditionCounts = { ok: 0, unknown: 0, warning: 0, critical: 0 };

/** A week up to {@linkcode NOW_MS}. */
export const WEEK = { sinceMs: NOW_MS - 7 * DAY_MS, untilMs: NOW_MS };

/** A check that was up all week. */
export function historyOf(name: string, fields: Partial<CheckHistory> = {}): CheckHistory {
  const record = recordOf(name);
  return {
    name,
    title: null,
    isJob: false,
    present: { condition: "ok", state: "current", last: "ok", reason: "" },
    objective: null,
    record: { ...record, condition: { ...record.condition, confirmed: "ok" } },
    changes: [],
    earlier: null,
    sums: { runs: 10_080, durationTotalMs: 10_080 * 40, lastedMs: { ...NO_TIME, ok: 7 * DAY_MS } },
    before: { runs: 10_080, durationTotalMs: 10_080 * 20 },
    objectiveLastedMs: NO_TIME,
    durationMaxMs: null,
    ...fields,
  };
}
