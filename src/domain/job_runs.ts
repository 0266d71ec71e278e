/** The types of jobs: tasks that something else starts, and that record their own runs. */

/** How a run of a job ended. */
export interface JobEnd {
  /** Wall time, milliseconds since 1970. */
  readonly atMs: number;
  /** By the monotonic clock; `null` where nobody measured it. */
  readonly durationMs: number | null;
  /** `noted`: somebody said so, without a command that could be watched. */
  readonly how: "exited" | "signalled" | "not_started" | "noted";
  /** As a shell gives it; 0 is a success, anything else a failure. */
  readonly exitCode: number;
  /** The signal, such as `SIGKILL`, or why the command could not be started; empty for the others. */
  readonly reason: string;
  /** The last lines that it printed, without secrets that are known; may be empty. */
  readonly output: string;
}

export interface JobRun {
  /** Unique; tells runs apart that overlap. */
  readonly id: string;
  /** Wall time, milliseconds since 1970. */
  readonly startedAtMs: number;
  /** `null` while it runs, and for ever where it died without a word. */
  readonly end: JobEnd | null;
}

export interface EndedJobRun extends JobRun {
  readonly end: JobEnd;
}

export interface JobFacts {
  /** When anything was first heard or asked of it; wall time, milliseconds since 1970, never later than now. */
  readonly sinceMs: number;
  /** The run whose end was noted last; `null` before the first. */
  readonly last: EndedJobRun | null;
  /**
   * Runs without an end that were begun after each run that has one: a later run that ended takes the place of an
   * earlier one that did not. The oldest first.
   */
  readonly inProgress: readonly JobRun[];
}

/** Where a check looks for what jobs said of themselves. */
export interface JobLog {
  /**
   * What is known of a job now, whichever process noted it.
   *
   * @throws {StoreError} If that cannot be read.
   */
  recall(name: string, nowMs: number): Promise<JobFacts>;
}
