import { SUMMARY_NAME, type SummarySettings } from "../domain/channel.ts";
import type { Check } from "../domain/check.ts";
import { describeDuration, exactDuration } from "../domain/duration.ts";
import { type CronTimes, isCron, type Schedule } from "../domain/schedule.ts";
import { DAY_MS, HOUR_MS } from "../shared/time_units.ts";
import { type ConfigPath, type Problem, PROBLEMS_MAX, quoteValue } from "./problem.ts";
import { isObject } from "./schema_view.ts";
import type { JsonObject } from "./syntax.ts";
import type { Listen } from "../domain/generated/config.ts";
import { isLoopback, parseListenAddress } from "../shared/ip_address.ts";

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
  const afterMs = confirmationTimes();
  return checks.filter(({ active, notifications }) => active && notifications.length > 0)
    .flatMap(({ name, threshold, schedule }) => {
      const lateMs = threshold === 1 ? 0 : afterMs(schedule, threshold);
      if (!isLate(lateMs, schedule)) return [];
      const fix = SHORTER_MS.find((ms) => (threshold - 1) * ms <= Math.min(lateMs / threshold, DAY_MS) / 6);
      const message =
        `a problem is notified ${describeDuration(lateMs)} after its first failure, since "threshold" is ` +
        `${threshold}; add "attentive_interval": "${exactDuration(fix ?? 1000)}" to its schedule`;
      return [{ path: ["checks", name], at: "name" as const, message }];
    }).slice(0, PROBLEMS_MAX);
}

/** From a first failing result to the one that confirms it; 0 after a hundred combinations with cron schedules. */
function confirmationTimes(): (schedule: Schedule, threshold: number) => number {
  const known = new Map<string, number>();
  return (schedule, threshold) => {
    const { attentiveIntervalMs } = schedule;
    if (!isCron(schedule) || attentiveIntervalMs !== null) {
      return (threshold - 1) * (attentiveIntervalMs ?? 0);
    }
    const { expression, timeZone } = schedule.times;
    const key = JSON.stringify([expression, timeZone, threshold]);
    return known.getOrInsertComputed(
      key,
      () => known.size < COMBINATIONS_MAX ? cronTimeOf(schedule.times, threshold) : 0,
    );
  };
}

/**
 * Measures from a Wednesday on, so that a few runs include no night or weekend, in which the schedule omits runs on
 * purpose. More runs include them: four at 9 o'clock on weekdays take five days.
 */
function cronTimeOf(times: CronTimes, threshold: number): number {
  const firstMs = times.after(WEDNESDAY_MS);
  const count = Math.min(threshold, RUNS_READ) - 1;
  let atMs = firstMs;
  for (let run = 0; run < count; run++) atMs = times.after(atMs);
  return (atMs - firstMs) * (threshold - 1) / count;
}

const WEDNESDAY_MS = Date.UTC(2025, 0, 1);
/** Further runs are assumed to be as far apart as these are on average. */
const RUNS_READ = 10;
/** Some cron expressions take milliseconds to read. */
const COMBINATIONS_MAX = 100;

/** Later than a day, or than several of the check's own intervals and an hour. */
function isLate(lateMs: number, schedule: Schedule): boolean {
  if (lateMs >= DAY_MS) return true;
  return !isCron(schedule) && lateMs > Math.max(HOUR_MS, INTERVALS_MAX * schedule.regularIntervalMs);
}

const INTERVALS_MAX = 5;

/** Intervals to propose, the longest first. */
const SHORTER_MS = [60, 30, 10, 5, 1].map((minutes) => minutes * 60_000).concat(10_000);

export function findListenProblems(listen: Listen | null): readonly Problem[] {
  if (listen === null) return [];
  const exposure = describeExposure(listen);
  const hint = 'set "token", or "public" with tags';
  const exposed = exposure === null ? [] : [{ path: ["listen", "address"], message: exposure, hint }];
  if (!listen.actions || listen.token !== undefined) return exposed;
  const message = "requires a token to sign in with";
  return [...exposed, { path: ["listen", "actions"], message, hint: 'set "token"' }];
}

/** Describes why an endpoint is exposed; `null`: it has a token, or only this machine can connect. */
export function describeExposure(listen: Pick<Listen, "address" | "token" | "public">): string | null {
  const address = parseListenAddress(listen.address);
  const isGuarded = listen.token !== undefined || listen.public !== undefined;
  if (address === null || isLoopback(address.host) || isGuarded) return null;
  return `${quoteValue(listen.address)} is not a loopback address, so others could see every check`;
}

export function warnOfUnusedTags(
  lists: readonly { readonly path: ConfigPath; readonly tags: readonly string[] | undefined }[],
  checks: readonly Check[],
): readonly Problem[] {
  const known = new Set(checks.flatMap(({ tags }) => tags));
  return lists.flatMap(({ path, tags = [] }) =>
    tags.flatMap((tag, index) =>
      known.has(tag) ? [] : [{ path: [...path, index], message: `no check has the tag ${quoteValue(tag)}` }]
    )
  );
}

/** Daily sums are kept for 100 days. */
const KEPT_MS = 100 * DAY_MS;

/** Finds a check with the name under which a summary is queued. */
export function findSummaryProblems(
  summary: SummarySettings | null,
  checks: readonly Check[],
): readonly Problem[] {
  if (summary === null || checks.every(({ name }) => name !== SUMMARY_NAME)) return [];
  return [{
    path: ["checks", SUMMARY_NAME],
    at: "name",
    message: `${quoteValue(SUMMARY_NAME)} is the name of the summary, expected another name for this check`,
  }];
}

/** Finds rehearsals whose link would lead nowhere. */
export function findRehearsalProblems(
  checks: readonly Check[],
  { listen, page }: JsonObject,
): readonly Problem[] {
  const missing = [
    ...isObject(listen) ? [] : [{
      message: 'a rehearsal requires "listen": it serves the link that confirms',
      hint: 'add "listen": { "address": "127.0.0.1:9090" }',
    }],
    ...isObject(page) && "url" in page ? [] : [{
      message: 'a rehearsal requires "page.url": the link begins with it',
      hint: 'add "page": { "url": "https://status.example.org/" }',
    }],
  ];
  return checks.filter(({ rehearsed }) => rehearsed !== undefined)
    .flatMap(({ name }) => missing.map((problem) => ({ path: ["checks", name, "kind"], ...problem })));
}

export function warnOfSummary({ periodMs = 0 }: SummarySettings): readonly Problem[] {
  return periodMs <= KEPT_MS ? [] : [{
    path: ["summary", "period"],
    message: `is ${exactDuration(periodMs)}, and history is kept for ${exactDuration(KEPT_MS)} only`,
  }];
}
