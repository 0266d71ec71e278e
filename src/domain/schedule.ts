/** Runs spread over time: an interval, and where in it a check runs comes from its name. */
export interface IntervalSchedule {
  /** The time from one planned run to the next while the check is not failing; 1000 or more. */
  readonly regularIntervalMs: number;
  /** Applies while the check is failing; equal to the regular one if the config sets none. */
  readonly attentiveIntervalMs: number;
}

export interface CronSchedule {
  readonly times: CronTimes;
  /** While the check is failing it also runs so long after each run; `null`: at its times alone. */
  readonly attentiveIntervalMs: number | null;
}

export type Schedule = IntervalSchedule | CronSchedule;

/** The times of a cron expression. Two values with the same fields have the same times. */
export interface CronTimes {
  /** As the config has it. */
  readonly expression: string;
  /** A name of the time zone database, such as `Europe/Zurich`. */
  readonly timeZone: string;
  /** The first time later than the given one, milliseconds since 1970; there always is one. */
  after(afterMs: number): number;
}

export function isCron(schedule: Schedule): schedule is CronSchedule {
  return "times" in schedule;
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
