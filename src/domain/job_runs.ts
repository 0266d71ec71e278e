/** The types of jobs: tasks that something else starts, and that record their own runs. */

export interface JobEnd {
  readonly atMs: number;
  /** By the monotonic clock; `null` if it was not measured. */
  readonly durationMs: number | null;
  /** `noted`: it was recorded without a command that `monitor beat` ran. */
  readonly how: "exited" | "signalled" | "not_started" | "noted";
  /** As a shell gives it; 0 is a success, anything else a failure. */
  readonly exitCode: number;
  /** The signal, such as `SIGKILL`, or why the command could not be started; empty for the others. */
  readonly reason: string;
  /** The last lines of its output, with secrets redacted; may be empty. */
  readonly output: string;
}

export interface JobRun {
  /** Unique; distinguishes runs that overlap. */
  readonly id: string;
  readonly startedAtMs: number;
  /** `null` while it runs, or if it died without a check-in. */
  readonly end: JobEnd | null;
}

export interface EndedJobRun extends JobRun {
  readonly end: JobEnd;
}

export interface JobFacts {
  /** When the job was first recorded or asked for; wall time, milliseconds since 1970, never later than now. */
  readonly sinceMs: number;
  /** The run whose end was noted last; `null` before the first. */
  readonly last: EndedJobRun | null;
  /** Runs without an end that began after each run that has one, the oldest first. */
  readonly inProgress: readonly JobRun[];
}

export interface JobLog {
  /** Returns the facts of a job, recorded by any process. Throws a {@linkcode StoreError} if they can't be read. */
  recall(name: string, nowMs: number): Promise<JobFacts>;
}
