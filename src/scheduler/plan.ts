/**
 * The times of runs. Pure: all times are in milliseconds of any clock of the caller.
 *
 * The regular runs of a check are at a fixed offset in its interval that is derived from its name (splay). So checks
 * with one interval are spread, a few together, and a restart, a reload or another way of driving them changes
 * nothing.
 */

import { hash32 } from "../shared/hash.ts";

/**
 * Phases are so far apart, so that checks of the same moment are begun together: to wake up for each alone costs as
 * much as a fifth of a request over loopback.
 */
const SPLAY_STEP_MS = 20;

/** A planned time that is so little ahead counts as come: a tenth of the interval, 30 s at most. */
const TOLERANCE_SHARE = 0.1;
const TOLERANCE_MS_MAX = 30_000;

/** A check that never ran starts within a tenth of its interval, 10 s at most. */
const FIRST_SHARE = 0.1;
const FIRST_MS_MAX = 10_000;

/** Overdue runs at the start run within half of that, at most 3 s. */
const OVERDUE_SHARE = 0.05;
const OVERDUE_MS_MAX = 3_000;

/** A regular plan is one and a half intervals ahead at most, counted from a run that may have come early itself. */
const AHEAD_INTERVALS_MAX = 2;

/** Where in its interval a check runs: 0 or more, below 1. */
export function splayOf(name: string): number {
  return hash32(name) / 2 ** 32;
}

export function nextAtOffset(afterMs: number, intervalMs: number, splay: number): number {
  const offset = Math.floor(splay * intervalMs / SPLAY_STEP_MS) * SPLAY_STEP_MS;
  return (Math.floor((afterMs - offset) / intervalMs) + 1) * intervalMs + offset;
}

/** When a run is planned, and how many runs were left out before it. */
export interface Plan {
  /** Always later than the `nowMs` it was planned at. */
  readonly atMs: number;
  /** Runs whose time has passed and that are skipped; 0 or more. */
  readonly missed: number;
}

interface PlanOptions {
  /** When the last run was planned. */
  readonly plannedMs: number;
  /** Now: runs planned before it are skipped, never caught up with. */
  readonly nowMs: number;
  readonly regularIntervalMs: number;
  /** The interval that applies while the check is failing; `null` while it is not. */
  readonly attentiveIntervalMs: number | null;
  /** The offset of {@linkcode splayOf} for the check's name. */
  readonly splay: number;
}

/**
 * Plans the run after a run. Fixed rate: it follows from the planned time, not from when the run really began or
 * ended. While a check is attentive its runs follow one another by the attentive interval; the first regular one
 * afterwards is back at the offset.
 */
export function planNext(options: PlanOptions): Plan {
  const { plannedMs, nowMs, regularIntervalMs, attentiveIntervalMs, splay } = options;
  const intervalMs = attentiveIntervalMs ?? regularIntervalMs;
  const nextMs = attentiveIntervalMs === null
    // From a time off the offset: at least half an interval later, so that two runs are never back to back.
    ? nextAtOffset(plannedMs + regularIntervalMs / 2, regularIntervalMs, splay)
    : plannedMs + attentiveIntervalMs;
  if (nextMs > nowMs) return { atMs: nextMs, missed: 0 };
  const missed = Math.floor((nowMs - nextMs) / intervalMs) + 1;
  return { atMs: nextMs + missed * intervalMs, missed };
}

interface FirstPlanOptions {
  /** The next run by the stored state; `null` if it never ran. */
  readonly keptMs: number | null;
  /** The returned time is never before this. */
  readonly nowMs: number;
  readonly intervalMs: number;
  /** The offset of {@linkcode splayOf} for the check's name. */
  readonly splay: number;
  /** Whether a check that never ran is to let those go first that are overdue. @default false */
  readonly isBehindOverdue?: boolean;
}

/** The first run after a start: overdue ones first, then those that never ran, the others when they were planned. */
export function planFirst(options: FirstPlanOptions): number {
  const { keptMs, nowMs, intervalMs, splay, isBehindOverdue = false } = options;
  if (keptMs === null) {
    const withinMs = Math.min(intervalMs * FIRST_SHARE, FIRST_MS_MAX);
    return nowMs + Math.round((isBehindOverdue ? (1 + splay) / 2 : splay) * withinMs);
  }
  if (isTooFarAhead(keptMs, nowMs, intervalMs)) return nextAtOffset(nowMs, intervalMs, splay);
  if (keptMs > nowMs) return keptMs;
  return nowMs + Math.round(splay * Math.min(intervalMs * OVERDUE_SHARE, OVERDUE_MS_MAX));
}

/** Returns whether a run that is planned for a time may begin now, when cron drives the runs. */
export function isDue(plannedMs: number, nowMs: number, intervalMs: number): boolean {
  return plannedMs - nowMs <= Math.min(intervalMs * TOLERANCE_SHARE, TOLERANCE_MS_MAX);
}

/**
 * Returns whether a run is planned further ahead than its interval can have put it: the plan is from before a shorter
 * interval, or from before the clock was set back.
 */
export function isTooFarAhead(plannedMs: number, nowMs: number, intervalMs: number): boolean {
  return plannedMs - nowMs > AHEAD_INTERVALS_MAX * intervalMs;
}
