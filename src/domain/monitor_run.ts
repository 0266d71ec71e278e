import type { Check } from "./check.ts";
import { describeDuration } from "./duration.ts";

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
  /** That it was stopped by a signal, or that a single call found that it died; `null`: it runs, or it died. */
  readonly ended: EndOfRun | null;
  /** When a service without a control socket was alive, each minute; wall time. Absent: it has one. */
  readonly aliveAtMs?: number;
  /** Absolute path of the config; `null` for standard input. */
  readonly configPath: string | null;
  readonly configHash: string;
  /** When that was loaded; wall time, milliseconds since 1970. */
  readonly configLoadedAtMs: number;
  /** The last reload, if it failed, so that an older config runs; `null`: it did not. */
  readonly failedReload: FailedReload | null;
  /** The checks that run, in the config's order. */
  readonly checks: readonly ServedCheck[];
}

/** A check as a process loaded it: what makes a result one of it. */
type ServedCheck = Pick<Check, "name" | "definition" | "locations">;

export interface FailedReload {
  readonly atMs: number;
  /** In one line, with the first error of the config. */
  readonly reason: string;
}

/** The reason why no service runs the checks now, or why their results are not stored. */
export interface NotRunning {
  /** `died`: it ended without being stopped. `hangs`: its process does not respond. `unwritable`: it cannot write its state. */
  readonly state: "stopped" | "died" | "hangs" | "unwritable";
  /** The time of its stop, last heartbeat or last write; wall time, milliseconds since 1970. */
  readonly sinceMs: number;
}

export interface EndOfRun extends NotRunning {
  readonly state: "stopped" | "died";
}

/** Returns the reason why stored results do not count, such as `monitor stopped 2 h ago`. */
export function describeNotRunning({ state, sinceMs }: NotRunning, nowMs: number): string {
  const ago = `${describeDuration(Math.max(0, nowMs - sinceMs))} ago`;
  return {
    stopped: `monitor stopped ${ago}`,
    died: `monitor terminated unexpectedly, last seen ${ago}`,
    hangs: `monitor hangs, last seen ${ago}`,
    unwritable: `monitor cannot write its state, last written ${ago}`,
  }[state];
}
