/** The part of the store for jobs, in memory. */
import type { EndedJobRun, JobFacts, JobRun } from "../../src/domain/job_runs.ts";
import { copyJobEnd, copyJobRun } from "./copies.ts";
import { JOB_RUNS_MAX, type RetentionLimits } from "../../src/state/retention.ts";

/** Implements the methods of the store that are named at each; here they are synchronous. */
export interface MemoryJobs {
  /** `job()`. */
  read(name: string, nowMs: number): JobFacts;
  /** `keepJobRun()`. */
  keep(name: string, run: JobRun, nowMs: number): void;
  /** Forgets jobs of no check that nothing was heard of for long. */
  prune(limits: RetentionLimits, isKept: (check: string) => boolean): void;
}

interface KeptJob {
  sinceMs: number;
  /** In the order in which they began. */
  runs: readonly JobRun[];
  last: EndedJobRun | null;
}

/** Creates one without jobs. */
export function createMemoryJobs(): MemoryJobs {
  const jobs = new Map<string, KeptJob>();
  const note = (name: string, nowMs: number): KeptJob => {
    const job = jobs.get(name) ?? { sinceMs: nowMs, runs: [], last: null };
    job.sinceMs = Math.min(job.sinceMs, nowMs);
    jobs.set(name, job);
    return job;
  };
  return {
    read: (name, nowMs) => {
      const { sinceMs, runs, last } = note(name, nowMs);
      const lastEnded = runs.findLastIndex(({ end }) => end !== null);
      return {
        sinceMs,
        last: last === null ? null : { ...copyJobRun(last), end: copyJobEnd(last.end) },
        inProgress: runs.slice(lastEnded + 1).map(copyJobRun),
      };
    },
    keep: (name, given, nowMs) => {
      const job = note(name, nowMs);
      const run = copyJobRun(given);
      const isKnown = job.runs.some(({ id }) => id === run.id);
      if (isKnown && run.end === null) return;
      const runs = isKnown ? job.runs.map((kept) => kept.id === run.id ? run : kept) : [...job.runs, run];
      if (run.end !== null) job.last = { ...run, end: run.end };
      const newest = new Set(runs.slice(-JOB_RUNS_MAX));
      job.runs = runs.filter((kept) => newest.has(kept) || kept.id === job.last?.id);
    },
    prune: ({ seenMs }, isKept) => {
      for (const [name, { sinceMs, runs }] of jobs) {
        const isHeard = sinceMs >= seenMs || runs.some(({ startedAtMs }) => startedAtMs >= seenMs);
        if (!isHeard && !isKept(name)) jobs.delete(name);
      }
    },
  };
}
