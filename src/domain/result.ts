import type { Check, LocationVote } from "./check.ts";
import type { Condition } from "./condition.ts";

/** What a check waits for before it has a condition: results that come soon, or the first run of a job. */
export type Awaited = "checks" | "job";

export interface CheckResult {
  /** The condition of this run alone; thresholds are applied later. */
  readonly condition: Condition;
  /** One line for people; may be empty. */
  readonly output: string;
  /** Further lines; often empty. */
  readonly detail: string;
  /** Plain numbers, such as `{ status: 500 }`; the unit is in the name unless it has none. */
  readonly metrics: Readonly<Record<string, number>>;
  /** A plugin's own text after `|` (Monitoring Plugins guidelines, "Performance data"); often empty. */
  readonly performanceData: string;
  /** The result does not count. One that awaits a job ends a problem older than another check's recovery. @default nothing */
  readonly awaits?: Awaited;
  /** When the last problem ended of a check that a group combines, if the group awaits others; 0: there was none. */
  readonly recoveredAtMs?: number;
  /** The contribution of each location; absent: it did not run at locations. */
  readonly locations?: readonly LocationVote[];
  /** Too few locations have reported lately, so that an earlier `ok` is no longer known. @default false */
  readonly isSilent?: boolean;
}

export function checkResult(
  condition: Condition,
  output: string,
  metrics: CheckResult["metrics"] = {},
): CheckResult {
  return { condition, output, detail: "", metrics, performanceData: "" };
}

export function unknownResult(output: string): CheckResult {
  return checkResult("unknown", output);
}

export interface Result extends CheckResult {
  /** The check as it was when the run began; a reload may have replaced it since. */
  readonly check: Check;
  readonly startedAtMs: number;
  /** The trace of the run, line by line, without secrets; absent: it was not traced. */
  readonly trace?: string;
  /** By the monotonic clock, without the wait for a free place before the run; may have a fraction. */
  readonly durationMs: number;
}

/**
 * The extent of a trace: `brief` only the steps of the run itself; `full` also looks up the IP addresses and the
 * certificate of `https:` targets, over a second connection.
 */
export type TraceDepth = "brief" | "full";
