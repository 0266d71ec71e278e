import type { Check } from "../domain/check.ts";
import { describeDuration, exactDuration } from "../domain/duration.ts";
import { isCron, type Schedule } from "../domain/schedule.ts";
import { DAY_MS, HOUR_MS } from "../shared/time_units.ts";
import { type Problem, PROBLEMS_MAX } from "./problem.ts";

/** Finds checks whose `threshold` is never reached, since `within` is smaller. */
export function findThresholdProblems(checks: readonly Check[]): readonly Problem[] {
  return checks.filter(({ threshold, within }) => within !== undefined && within < threshold)
    .slice(0, PROBLEMS_MAX)
    .map(({ name, threshold, within }) => ({
      path: ["checks", name],
      at: "name",
      message: `"within" is ${within}, expected at least the "threshold" of ${threshold}`,
    }));
}

/** Warns of checks whose problems are notified very late, since few runs have to confirm them. */
export function warnOfLateNotifications(checks: readonly Check[]): readonly Problem[] {
  return checks.filter(({ active, notifications }) => active && notifications.length > 0)
    .flatMap(({ name, threshold, schedule }) => {
      const lateMs = threshold === 1 ? 0 : confirmedAfterMs(schedule, threshold);
      if (!isLate(lateMs, schedule)) return [];
      const fix = SHORTER_MS.find((ms) => (threshold - 1) * ms <= Math.min(lateMs / threshold, DAY_MS) / 6);
      return [{
        path: ["checks", name],
        at: "name" as const,
        message:
          `a problem is notified ${describeDuration(lateMs)} after its first failure, since "threshold" is ` +
          `${threshold}; add "attentive_interval": "${exactDuration(fix ?? 1000)}" to its schedule`,
      }];
    }).slice(0, PROBLEMS_MAX);
}

/** Returns the usual time from a first failing result to the one that confirms it: nights and weekends are meant. */
function confirmedAfterMs(schedule: Schedule, threshold: number): number {
  const { attentiveIntervalMs } = schedule;
  if (!isCron(schedule) || attentiveIntervalMs !== null) return (threshold - 1) * (attentiveIntervalMs ?? 0);
  const times: number[] = [];
  for (let atMs = ANY_TIME_MS; times.length < threshold + TIMES_READ;) {
    times.push(atMs = schedule.times.after(atMs));
  }
  const spans = times.slice(threshold - 1).map((atMs, index) => atMs - (times[index] ?? atMs));
  return spans.sort((one, other) => one - other)[Math.floor(spans.length / 2)] ?? 0;
}

/** The pattern of a cron schedule is read from this time on; so many times have several weeks. */
const ANY_TIME_MS = Date.UTC(2025, 0, 1);
const TIMES_READ = 40;

/** Later than a day, or than several of the check's own intervals and an hour. */
function isLate(lateMs: number, schedule: Schedule): boolean {
  if (lateMs >= DAY_MS) return true;
  return !isCron(schedule) && lateMs > Math.max(HOUR_MS, INTERVALS_MAX * schedule.regularIntervalMs);
}

const INTERVALS_MAX = 5;

/** Intervals to propose, the longest first. */
const SHORTER_MS = [60, 30, 10, 5, 1].map((minutes) => minutes * 60_000).concat(10_000);
