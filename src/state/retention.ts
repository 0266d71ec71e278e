import { DAY_MS } from "../shared/time_units.ts";

export const CHANGES_MAX = 1000;

/** How many bytes of a change's output are kept at most: with {@linkcode CHANGES_MAX} a megabyte a check. */
export const CHANGE_OUTPUT_BYTES_MAX = 1024;
/** How much of a change's trace is kept: with all of its changes, a check stays below some megabytes. */
export const CHANGE_TRACE_BYTES_MAX = 4096;

/** How many runs of one check are kept with their time, condition and duration. */
export const RECENT_RUNS_MAX = 50;

/** How many blocks of a check's journal are kept at most: a megabyte. */
export const JOURNAL_BLOCKS_MAX = 4_000;

/** How many logged deliveries are kept at most: about 35 megabytes. */
export const DELIVERIES_MAX = 100_000;

/** How many runs of one job are kept at most, in addition to the one that ended last. */
export const JOB_RUNS_MAX = 20;

/** Data older than these limits is deleted, or aggregated; wall time, milliseconds since 1970. */
export interface RetentionLimits {
  /** A check last seen before this is forgotten with all that is kept of it; a job of no check last heard of, too. */
  readonly seenMs: number;
  readonly changeMs: number;
  /** The end of a block of a journal, or a logged delivery. */
  readonly journalMs: number;
  readonly rollupEndMs: number;
  readonly dailyMs: number;
  /** Dropped notifications that last failed, or were planned, before this are deleted. */
  readonly droppedMs: number;
  readonly silenceEndMs: number;
  /** The counts of a channel that was last counted before this are forgotten. */
  readonly countedMs: number;
}

/** The retention times, counted from now; `journalMs` is that of results. Days are merged whole, so each day has one form. */
export function limitsAt(nowMs: number, journalMs: number | null = null): RetentionLimits {
  return {
    seenMs: nowMs - 30 * DAY_MS,
    changeMs: nowMs - 400 * DAY_MS,
    journalMs: nowMs - (journalMs ?? 90 * DAY_MS),
    rollupEndMs: nowMs - 100 * DAY_MS,
    dailyMs: startOf(nowMs - 8 * DAY_MS, DAY_MS),
    droppedMs: nowMs - 7 * DAY_MS,
    silenceEndMs: nowMs - (journalMs ?? 90 * DAY_MS),
    countedMs: nowMs - 400 * DAY_MS,
  };
}

/** Two readings of the wall clock for deletions; milliseconds since 1970. */
export interface ClockReadings {
  /** The time that counts: a later reading, at least a day after it, has confirmed it, unless it is the first of all. */
  readonly earlierMs: number;
  /** The last reading that was a day after the one before, or that went back behind it. */
  readonly laterMs: number;
}

/**
 * Adds a reading of the clock. One reading that is far ahead confirms nothing, so nothing is deleted by it: a wrong
 * clock has to stay wrong for a day, without a right reading in between.
 */
export function addReading(before: ClockReadings | null, nowMs: number): ClockReadings {
  if (before === null) return { earlierMs: nowMs, laterMs: nowMs };
  const { earlierMs, laterMs } = before;
  if (nowMs < laterMs) return { earlierMs: Math.min(earlierMs, nowMs), laterMs: nowMs };
  return nowMs - laterMs < DAY_MS ? before : { earlierMs: laterMs, laterMs: nowMs };
}

/** The start of the hour or day, in UTC, that a time is in. */
export function startOf(timeMs: number, spanMs: number): number {
  return Math.floor(timeMs / spanMs) * spanMs;
}
