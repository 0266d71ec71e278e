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
