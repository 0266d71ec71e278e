/** The process that runs the checks, as it persists itself for other commands. */
export interface MonitorRun {
  /** `service`: it runs all the time. `cron`: each call of `check --once --due` reads the config. */
  readonly mode: "service" | "cron";
  /** The process id of a service; `null` if unknown. */
  readonly processId: number | null;
  /** The path of its control socket; `null`: it has none. */
  readonly controlPath: string | null;
  /** When it started; of calls by cron, the first one with this config. Wall time, milliseconds since 1970. */
  readonly startedAtMs: number;
  /** When it was stopped by a signal; `null`: it runs, or it died. */
  readonly stoppedAtMs: number | null;
  /** Absolute path of the config; `null` for standard input. */
  readonly configPath: string | null;
  readonly configHash: string;
  /** When that was loaded; wall time, milliseconds since 1970. */
  readonly configLoadedAtMs: number;
  /** The names of the checks that run, in the config's order. */
  readonly checks: readonly string[];
}
