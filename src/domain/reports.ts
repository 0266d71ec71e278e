/** Results that one monitor (an agent) reports to another one. */
import type { Awaited, Result } from "./check.ts";

/** The result of a run as it is reported. */
export interface ReportedRun
  extends Pick<Result, "condition" | "output" | "detail" | "performanceData" | "metrics" | "durationMs"> {
  /** The name of the check at the agent, and where it is reported to. */
  readonly check: string;
  /** How long after its planned time it began; `null` if it was not planned. */
  readonly lateMs: number | null;
  /** The time from the end of the run to the next one, as planned. */
  readonly nextRunInMs: number;
  /** The time from the end of the run until the next result is overdue at the agent. */
  readonly overdueInMs: number;
  /** The result does not count; absent: it does. */
  readonly awaits?: Awaited;
  /** Nothing ran at the agent before it, or the check was edited there. @default false */
  readonly isInterrupted?: boolean;
}

/** What a result has of its texts at most, in bytes of UTF-8. */
export const REPORTED_BYTES_MAX = { output: 8_192, detail: 32_768 };

/** A run that is to be reported, as it is recorded. */
export interface NewReport {
  readonly run: ReportedRun;
  /** When it ended, by the wall clock of the agent; milliseconds since 1970. */
  readonly endedAtMs: number;
  /** The process that recorded it, and when by its monotonic clock. */
  readonly process: string;
  readonly monotonicMs: number;
}

export interface StoredReport extends NewReport {
  /** Grows with each report of a state; unique among them. */
  readonly sequence: number;
}

/** What the state of an agent knows about its reports, apart from those that are waiting. */
export interface Reporting {
  /** Identifies the sequence numbers of the state. */
  readonly stream: string;
  /** The greatest sequence that was received there, or dropped as rejected; 0: none. */
  readonly received: number;
  /** How many reports were dropped, because too many were waiting, or each was rejected as malformed or too large. */
  readonly dropped: number;
  /** The checks that were rejected there at the last exchange. */
  readonly rejected: readonly string[];
  /** When the last exchange succeeded, wall time; `null`: none did. */
  readonly sentAtMs: number | null;
  /** Why the last exchange failed; `null`: it succeeded. */
  readonly failure: string | null;
}

interface WaitingReports {
  /** The oldest ones first. */
  readonly reports: readonly StoredReport[];
  /** How many there are in all. */
  readonly waiting: number;
}

/** The reports of a state until they are received. Each is stored by `save`, with the update that it is of. */
export interface ReportStore {
  /** Returns the oldest reports that are waiting. */
  reports(limit: number): Promise<WaitingReports>;
  /** `null`: nothing was ever reported. */
  reporting(): Promise<Reporting | null>;
  /** Replaces what is known, and deletes the reports up to `received`. Persisted once this resolves. */
  keepReporting(reporting: Reporting): Promise<void>;
  /** Drops the oldest reports beyond a number; returns how many. */
  dropReports(countMax: number): Promise<number>;
}

/** A result as the other monitor receives it. */
export interface ReportedResult extends ReportedRun {
  readonly sequence: number;
  /** How long ago the run ended, when it was sent. */
  readonly ageMs: number;
}

/** A request of an agent; without results, it says that the agent is there. */
export interface ReportBatch {
  readonly version: 1;
  readonly stream: string;
  /** The process that sends it; another one after a restart. */
  readonly process: string;
  /** How many further results are waiting at the agent. */
  readonly waiting: number;
  /** How many were dropped there in all. */
  readonly dropped: number;
  /** By sequence, the smallest first. */
  readonly results: readonly ReportedResult[];
}

/** The response: the agent forgets what was received. */
export interface ReportReply {
  /** The greatest sequence of the request; 0 without results. */
  readonly received: number;
  /** The checks of the request that it must not report, or that are not in the config: their results are ignored. */
  readonly rejected: readonly string[];
}
