/** What a state knows about its reports to another monitor, and about the agents that report to it. */
import type { LoadedConfig } from "../config/load.ts";
import { isAgentCheck } from "../domain/check.ts";
import type { Condition } from "../domain/condition.ts";
import { describeDuration } from "../domain/duration.ts";
import type { Reporting } from "../domain/reports.ts";
import type { Store } from "../domain/store.ts";
import type { CheckStatus } from "../engine/check_status.ts";
import { isoTimeOrNull } from "../shared/json_values.ts";
import { counted, firstItems, quote } from "../shared/text.ts";

export interface ReportingStatus extends Reporting {
  readonly waiting: number;
}

/** `null`: nothing was ever reported. */
export async function readReporting(
  store: Pick<Store, "reporting" | "reports">,
): Promise<ReportingStatus | null> {
  const reporting = await store.reporting();
  return reporting === null ? null : { ...reporting, waiting: (await store.reports(0)).waiting };
}

const NAMES_SHOWN = 5;

/** Such as `reports to another monitor: last one 12 s ago, 3 results waiting`. */
export function describeReporting(
  { waiting, dropped, rejected, sentAtMs, failure }: ReportingStatus,
  nowMs: number,
): string {
  const last = sentAtMs === null
    ? "none yet"
    : `last one ${describeDuration(Math.max(0, nowMs - sentAtMs))} ago`;
  const facts = [
    last,
    ...waiting === 0 ? [] : [`${counted(waiting, "result")} waiting`],
    ...dropped === 0 ? [] : [`${counted(dropped, "result")} dropped`],
    ...rejected.length === 0
      ? []
      : [`ignored there: ${firstItems(rejected.map(quote), NAMES_SHOWN).join(", ")}`],
  ];
  return `reports to another monitor: ${facts.join(", ")}${failure === null ? "" : `; ${failure}`}`;
}

/**
 * Returns what the reports to another monitor add to the conditions of the checks: a warning if the last one failed.
 *
 * @param config `null` while it has errors
 */
export function reportingConditions(
  reporting: ReportingStatus | null,
  config: Pick<LoadedConfig, "reportTo"> | null,
): readonly Condition[] {
  return config?.reportTo === null || (reporting?.failure ?? null) === null ? [] : ["warning"];
}

export function reportingFields(reporting: ReportingStatus | null): unknown {
  if (reporting === null) return null;
  const { waiting, dropped, rejected, sentAtMs, failure } = reporting;
  return { waiting, dropped, rejected, last_report_at: isoTimeOrNull(sentAtMs), failure };
}

/** The agents among some checks, with what the check about each has found. */
export function agentFields(statuses: readonly CheckStatus[]): readonly unknown[] {
  return statuses.filter(({ check }) => isAgentCheck(check)).map(({ check, condition, record }) => {
    const { waiting_results, dropped_results, rejected_checks } = record?.last?.metrics ?? {};
    return {
      name: check.agent,
      check: check.name,
      condition,
      last_report_at: isoTimeOrNull(lastContactMs(record?.last?.memory)),
      waiting: waiting_results ?? null,
      dropped: dropped_results ?? null,
      ignored_checks: rejected_checks ?? null,
    };
  });
}

/** When an agent reported last, from what the check about it stored. */
export function lastContactMs(memory: string | undefined): number | null {
  const atMs = Number(memory ?? NaN);
  return Number.isFinite(atMs) ? atMs : null;
}
