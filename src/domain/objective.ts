/** What an objective permits, and what a schedule can show of it. Pure. */
import type { Condition } from "./condition.ts";
import type { Objective } from "./limits.ts";
import { type CronSchedule, type CronTimes, isCron, type Schedule } from "./schedule.ts";

/** Returns the error budget: the downtime that an objective permits in a time. Rounded, so that 100 - 99.9 is 0.1. */
export function errorBudgetMs({ percent }: Pick<Objective, "percent">, ms: number): number {
  return Math.round(ms * Number((100 - percent).toFixed(9)) / 100);
}

/**
 * Returns what is known of the time between two results that follow each other. An outage began and ended at an unknown
 * time between them, and of a check that is `unknown` it is not known whether the target was up. A warning is no outage.
 */
export function timeBetween(before: Condition, after: Condition): "up" | "down" | "uncertain" {
  if (isUp(before) && isUp(after)) return "up";
  return before === "critical" && after === "critical" ? "down" : "uncertain";
}

function isUp(condition: Condition): boolean {
  return condition === "ok" || condition === "warning";
}

interface Sight {
  /** The longest time between two runs while the check is not failing: a shorter outage may be missed. */
  readonly missedMs: number;
  /** How uncertain the length of an outage is: from the last run before it to its first, and from its last to the next. */
  readonly uncertainMs: number;
}

/** Returns what a schedule shows of an outage. */
export function sightOf(schedule: Schedule): Sight {
  const missedMs = isCron(schedule) ? longestPause(schedule) : schedule.regularIntervalMs;
  return { missedMs, uncertainMs: missedMs + (schedule.attentiveIntervalMs ?? missedMs) };
}

/**
 * Returns how far apart two runs may be that show the time between them: until a check would be overdue that is not
 * failing. One that is failing may ask for runs more often than cron calls the program, and is observed all the same.
 */
export function observedGapMs(schedule: Schedule): number {
  return 3 * sightOf(schedule).missedMs;
}

/** The longest pauses of cron expressions: each run of a check that burns its error budget asks for it. */
const pauses = new WeakMap<CronTimes, number>();

/** Returns the longest time between two of many times of a cron expression. */
function longestPause({ times }: CronSchedule): number {
  const known = pauses.get(times);
  if (known !== undefined) return known;
  let longestMs = 0;
  let atMs = times.after(0);
  for (let count = 0; count < TIMES_COMPARED; count++) {
    const nextMs = times.after(atMs);
    longestMs = Math.max(longestMs, nextMs - atMs);
    atMs = nextMs;
  }
  pauses.set(times, longestMs);
  return longestMs;
}

const TIMES_COMPARED = 300;
