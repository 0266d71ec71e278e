import type { Condition } from "../../domain/condition.ts";
import type { Result } from "../../domain/result.ts";

export interface RunRecord {
  readonly result: Result;
  /** Consecutive check results of at least this severity; for `ok`: that were `ok`. 1 or more. */
  readonly occurrences: number;
  /** `null`: none, the check is pending. */
  readonly confirmed: Condition | null;
}

export interface RunSummary {
  /** The highest severity; if nothing ran, of the stored conditions; `unknown` without any. */
  readonly condition: Condition;
  /** Why there are neither records nor unfinished checks, such as `no check is active`; `null`: something ran. */
  readonly reason: string | null;
  /** Wall time, milliseconds since 1970. */
  readonly startedAtMs: number;
  /** The duration of the whole run, by the monotonic clock. */
  readonly durationMs: number;
  /** In the config's order. */
  readonly records: readonly RunRecord[];
  /** Names of checks that had no result when the run was interrupted, in the config's order. */
  readonly unfinished: readonly string[];
  readonly inactiveCount: number;
  readonly hostName: string;
}

export interface FormatOptions {
  /** Whether escape sequences may be used. */
  readonly color: boolean;
  /** Width to keep to; `null` when it is not a terminal. */
  readonly columns: number | null;
  /** Returns whether a condition fails the run, after `--fail-on`. */
  fails(condition: Condition): boolean;
}

/** A way to print a run. Texts end with a line feed, or are empty. */
export interface Format {
  /** Called for each result as it comes. @default nothing is printed */
  record?(record: RunRecord, options: FormatOptions): string;
  /** Called once at the end. */
  summary(summary: RunSummary, options: FormatOptions): string;
}
