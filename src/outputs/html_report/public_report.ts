import type { CheckStatus } from "../../alerting/check_status.ts";
import type { KeptResult } from "../../domain/store.ts";
import type { ReportSnapshot } from "./snapshot.ts";

/** A status for everybody: without outputs, what they are made of, and why nothing is sent. */
export function publicStatus<Status extends CheckStatus>(status: Status): Status {
  const { record } = status;
  return {
    ...status,
    record: record === null
      ? null
      : { ...record, last: record.last === null ? null : publicResult(record.last) },
    waitsFor: [],
    isSilenced: false,
    maintenance: null,
  };
}

/** Lists what is shown, so that what is added to results stays hidden. */
function publicResult({ condition, startedAtMs, durationMs, lateMs }: KeptResult): KeptResult {
  return {
    condition,
    startedAtMs,
    durationMs,
    lateMs,
    output: "",
    detail: "",
    performanceData: "",
    metrics: {},
  };
}

/** A page for everybody: without outputs, notifications and silences, the host and the config. */
export function publicReport(snapshot: ReportSnapshot): ReportSnapshot {
  return {
    ...snapshot,
    hostName: "",
    configLabel: "",
    checks: snapshot.checks.map((check) => ({
      ...publicStatus(check),
      changes: check.changes.map((change) => ({ ...change, output: "" })),
    })),
    rows: [],
    members: null,
    silences: [],
  };
}
