/** Runs spread over time: an interval, and where in it a check runs comes from its name. */
export interface IntervalSchedule {
  /** From one planned run to the next while nothing is being watched; 1000 or more. */
  readonly regularIntervalMs: number;
  /** Applies while something is being watched; equal to the regular one when the config gives none. */
  readonly attentiveIntervalMs: number;
}

/** Runs at the times that a cron expression names. */
export interface CronSchedule {
  /** When it runs, by wall time. */
  readonly times: CronTimes;
  /** While something is being watched it runs so long after each run as well; `null`: at its times alone. */
  readonly attentiveIntervalMs: number | null;
}

export type Schedule = IntervalSchedule | CronSchedule;

/**
 * The times of a cron expression in a time zone; for DST changes see `src/config/cron_times.ts`. Two values with the
 * same fields have the same times.
 */
export interface CronTimes {
  /** As the config has it. */
  readonly expression: string;
  /** A name of the time zone database, such as `Europe/Zurich`. */
  readonly timeZone: string;
  /** The first time later than the given one, milliseconds since 1970; there always is one. */
  after(afterMs: number): number;
}

/** Distinguishes the two kinds of schedules. */
export function isCron(schedule: Schedule): schedule is CronSchedule {
  return "times" in schedule;
}
