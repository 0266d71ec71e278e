import type { Condition } from "./condition.ts";
import type { Awaited } from "./check.ts";

/** A result as its check's condition machine received it. */
export interface JournalRun {
  /** When the run ended; wall time, milliseconds since 1970. The journal has whole ones. */
  readonly endedAtMs: number;
  readonly condition: Condition;
  /** The result did not count; see `CheckResult`. `null`: it did. */
  readonly awaits: Awaited | null;
  /** Whether an agent reported it, so late that it counts for the history alone; it awaits nothing then. */
  readonly isLate: boolean;
  /** Whether the condition was no longer known before it: the check was overdue, edited, or never ran. */
  readonly isAfterGap: boolean;
  /** Whether nothing ran meanwhile (stop, suspension), or the check was edited. */
  readonly isInterrupted: boolean;
  /** Whether it caused a decision: it begins a row, so that its time and that of the run before it are exact. */
  readonly isDecisive: boolean;
  /** One line without secrets; the journal has none of an `ok`, else the first 256 bytes. */
  readonly output: string;
}

/**
 * Consecutive results of a check that are alike, at a regular interval, within a day. The first and the last time are
 * exact; those in between are regular, within the tolerance of `src/state/journal.ts`. Between two rows nothing ran.
 */
export interface JournalRow extends Pick<JournalRun, "condition" | "awaits" | "isLate"> {
  readonly firstMs: number;
  /** The same as `firstMs` of one run; never before it. */
  readonly lastMs: number;
  /** 0: a notification was decided without a result, at `firstMs`; the other fields are unused. */
  readonly runs: number;
  /** The mean time from one run to the next; 0 with one run. */
  readonly intervalMs: number;
  /** Which of its runs came after a gap (`isAfterGap`): calls that are always late have one before each. */
  readonly gap: "none" | "first" | "each";
  /** Whether nothing ran before the first one, or the check was edited (`isInterrupted`). */
  readonly isInterrupted: boolean;
  /** That of the first run; the others differ in numbers at most. */
  readonly output: string;
}

/** Rows that left the record of their check, packed by `src/state/journal.ts`. */
export interface JournalBlock {
  /** The latest time in it. */
  readonly lastMs: number;
  readonly rows: Uint8Array;
}

export interface CheckJournal {
  readonly name: string;
  /** In the order in which they were recorded, which is that of their times unless the clock was set back. */
  readonly rows: readonly JournalRow[];
}
