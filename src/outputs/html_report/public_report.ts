import type { CheckStatus } from "../../alerting/check_status.ts";
import type { ReportSnapshot } from "./snapshot.ts";

/** A status for everybody: without outputs, and without what they are made of. */
export function publicStatus<Status extends CheckStatus>(status: Status): Status {
  const { record } = status;
  const last = record === null || record.last === null
    ? null
    : { ...record.last, output: "", detail: "", performanceData: "", metrics: {} };
  return { ...status, record: record === null ? null : { ...record, last }, waitsFor: [], maintenance: null };
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
    silences: [],
  };
}
