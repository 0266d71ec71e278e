/** Creates a summary of the stored history. Pure. */
import type { KnownCondition, SentRehearsal } from "../../domain/check_kind.ts";
import {
  type Condition,
  type ConditionCounts,
  highestSeverity,
  type ShownCondition,
} from "../../domain/condition.ts";
import { downMsOf, type ObjectiveResult } from "./objectives.ts";
import type { Cause, LoggedDelivery, QueuedNotification } from "../../domain/outbox.ts";
import type { CheckRecord, ConditionChange, RollupSum } from "../../domain/store.ts";
import type { MonitorStatus } from "../json/monitor_fields.ts";
import { percentilesOf } from "../../shared/histograms.ts";
import { DAY_MS, HOUR_MS } from "../../shared/time_units.ts";
import { availabilityOf } from "../../state/availability.ts";

/** The first items of a list, at most 100, and how many there are. */
export interface Bounded<T> {
  readonly items: readonly T[];
  readonly count: number;
}

/** A check as people call it; its title is `null` without one. */
export type NamedCheck = Readonly<{ name: string; title: string | null }>;

/** `hasGap`: nothing ran in a part of it, such as while the monitor was stopped. */
export type Outage = NamedCheck & OutageSpan & { readonly hasGap: boolean };

export type CheckAvailability = Readonly<ReturnType<typeof toAvailability>>;
export type SlowCheck = Readonly<ReturnType<typeof toSlow>>;
export type Undelivered = Readonly<ReturnType<typeof undeliveredOf>[number]>;

/** The events of the checks in a period. Times are wall time, milliseconds since 1970. */
export type Summary = Readonly<ReturnType<typeof sumUp>>;

export type RunSums = Pick<RollupSum, "runs" | "durationTotalMs" | "durationMaxMs" | "durations">;

/** The stored history of one active check. */
export interface CheckHistory extends NamedCheck, ChangeHistory {
  /** What is known about it at the end; the reason is empty if its condition counts, or there is none. */
  readonly present: KnownCondition & { readonly reason: string };
  /** Whether it is about a job that checks in. */
  readonly isJob: boolean;
  /** In the time of the objective, which ends with the period; `null`: it has none. */
  readonly objective: ObjectiveResult | null;
  /** When its channel was last proven; `null`: it rehearses none. */
  readonly rehearsal: Pick<SentRehearsal, "provenAtMs"> | null;
  readonly sums: RunSums & { readonly lastedMs: ConditionCounts };
  /** Of the period before, which is as long. */
  readonly before: RunSums;
}

export interface SummaryInput extends Period {
  readonly timeZone: string;
  readonly hostName: string;
  /** The process that runs the checks, and lines about it. @default the one that makes the summary */
  readonly monitor?: MonitorStatus | null;
  readonly notes?: readonly string[];
  /** Checks of the state that left the config; `null`: it never ran. @default none */
  readonly removed?: readonly (NamedCheck & { readonly lastRunAtMs: number | null })[];
  readonly checks: readonly CheckHistory[];
  /** Queued notifications that are pending or were dropped. */
  readonly queued: readonly QueuedNotification[];
  /** What was sent with a common cause. @default nothing */
  readonly caused?: readonly Pick<LoggedDelivery, "cause">[];
}

/** Maximum number of items in a list. */
const ITEMS_MAX = 100;
const SLOWEST_MAX = 5;
/** Faster runs are not slow. */
const SLOW_MS = 1;
/** A check that changed so often in a period is listed as one that flaps. */
const CHANGES_MIN = 10;
/** A period with less data than this share is not called whole. */
export const WHOLE_SHARE = 0.9;
const EXPIRING_MS = 30 * DAY_MS;

export function summarize(input: SummaryInput): Summary {
  return sumUp(input);
}

function sumUp(
  { checks, queued, caused = [], monitor = null, notes = [], removed = [], ...facts }: SummaryInput,
) {
  const { sinceMs, untilMs } = facts;
  const outages = checks.flatMap((check) => {
    const spans = outagesOf(check, facts);
    const hasGap = haveGap(spans, { sinceMs, downMs: downMsOf(check.sums.lastedMs) });
    return spans.map((span) => ({ ...nameOf(check), isJob: check.isJob, ...span, hasGap }));
  }).sort((one, other) =>
    Number(isStillDown(other)) - Number(isStillDown(one)) ||
    (other.toMs - other.fromMs) - (one.toMs - one.fromMs) || one.fromMs - other.fromMs
  );
  const availability = checks.map(toAvailability);
  const wholeMs = WHOLE_SHARE * (untilMs - sinceMs);
  // Overdue, not run since they were edited, or no service runs them.
  const unknown = checks.filter(({ present: { state } }) => state !== "current" && state !== "never_ran");
  const objectives = availability.flatMap(({ objective }) => objective ?? []);
  const of = (jobs: boolean): Bounded<Outage> =>
    bounded(outages.filter(({ isJob }) => isJob === jobs).map(({ isJob: _, ...outage }) => outage));
  return {
    ...facts,
    /** The process that runs the checks; `null`: it makes the summary, or none is recorded. */
    monitor,
    notes,
    /** Active ones. */
    checks: checks.length,
    downChecks: new Set(outages.map(({ name }) => name)).size,
    stillDown: outages.filter(isStillDown).length,
    // A job that never ran is pending, too, but has not failed.
    pendingChecks:
      checks.filter(({ record }) =>
        record !== null && record.condition.confirmed === null && record.condition.atLeast.unknown > 0
      ).length,
    unknownChecks: unknown.length,
    /** The unknown ones without those that no service runs, which one of the notes covers. */
    stale: bounded(
      unknown.filter(({ present }) => present.state !== "not_running")
        .map(({ present: { state, reason }, ...check }) => ({ ...nameOf(check), state, reason })),
    ),
    removed: bounded(removed),
    /** The longest time for which a check has data. */
    observedMs: availability.reduce((longest, { observedMs }) => Math.max(longest, observedMs), 0),
    /** Of all checks together. */
    downMs: availability.reduce((sum, { downMs }) => sum + downMs, 0),
    warningChecks: checks.filter(({ sums }) => sums.lastedMs.warning > 0).length,
    objectives: objectives.length,
    missedObjectives: objectives.filter(isMissed).length,
    outages: of(false),
    jobs: of(true),
    /** The oldest first. */
    causes: bounded(causesOf(caused)),
    /** Missed objectives first, then the lowest. */
    availability: bounded(
      availability.filter(({ objective, downMs }) => downMs > 0 || (objective?.availability ?? null) !== null)
        .sort((one, other) =>
          Number(isMissed(other.objective)) - Number(isMissed(one.objective)) ||
          (one.availability ?? 1) - (other.availability ?? 1)
        ),
    ),
    slowest: slowestOf(checks),
    flapping: bounded(
      checks.map((check) => ({
        ...nameOf(check),
        changes: check.changes.filter(({ atMs }) => atMs <= untilMs).length,
        isFlapping: (check.record?.condition.flappingSinceMs ?? null) !== null,
      })).filter(({ changes, isFlapping }) => isFlapping || changes >= CHANGES_MIN),
    ),
    rehearsals: bounded(
      checks.flatMap(({ rehearsal, present: { condition }, ...check }) =>
        rehearsal === null ? [] : [{ ...nameOf(check), ...rehearsal, isProven: condition === "ok" }]
      ),
    ),
    certificates: bounded(
      checks.flatMap((check) => expiryOf(check, untilMs))
        .sort((one, other) => one.expiresAtMs - other.expiresAtMs),
    ),
    withoutData: bounded(
      checks.filter(({ sums }) => availabilityOf(sums.lastedMs).observedMs === 0).map((check) => ({
        ...nameOf(check),
        runs: check.sums.runs,
        reason: whyNoData(check),
      })),
    ),
    partlyObserved: availability.filter(({ observedMs }) => observedMs > 0 && observedMs < wholeMs).length,
    undelivered: bounded(undeliveredOf(queued, sinceMs)),
  };
}

/** Returns each common cause once, with all of its checks. */
function causesOf(caused: readonly Pick<LoggedDelivery, "cause">[]): readonly Cause[] {
  const causes = new Map<string, Cause>();
  for (const { cause } of caused) {
    if (cause === null) continue;
    const key = `${cause.sinceMs} ${cause.text}`;
    if (cause.checks > (causes.get(key)?.checks ?? 0)) causes.set(key, cause);
  }
  return [...causes.values()].sort((one, other) => one.sinceMs - other.sinceMs);
}

/** Returns whether less downtime of a check was observed than its outages took. */
function haveGap(
  spans: readonly OutageSpan[],
  { sinceMs, downMs }: { readonly sinceMs: number; readonly downMs: number },
): boolean {
  const tookMs = spans.reduce((sum, { fromMs, toMs }) => sum + toMs - Math.max(fromMs, sinceMs), 0);
  return tookMs - downMs > UNOBSERVED_SHARE * tookMs + HOUR_MS;
}

/** Sums are kept by the hour, so an hour of a period may be missing. */
const UNOBSERVED_SHARE = 0.1;

/** Returns the checks with the highest p95 of durations, else mean. */
function slowestOf(checks: readonly CheckHistory[]): readonly SlowCheck[] {
  return checks.map(toSlow).filter((slow) => usualMs(slow) >= SLOW_MS)
    .sort((one, other) => usualMs(other) - usualMs(one)).slice(0, SLOWEST_MAX);
}

/** The number that a slow check is compared by: its p95, or the mean while that is not known. */
function usualMs({ percentiles, meanMs }: Pick<SlowCheck, "percentiles" | "meanMs">): number {
  return percentiles?.p95 ?? meanMs;
}

function meanOf({ runs, durationTotalMs }: RunSums): number {
  return runs === 0 ? 0 : durationTotalMs / runs;
}

function bounded<T>(items: readonly T[]): Bounded<T> {
  return { items: items.slice(0, ITEMS_MAX), count: items.length };
}

export function nameOf({ name, title }: NamedCheck): NamedCheck {
  return { name, title };
}

function isStillDown({ end }: OutageSpan): boolean {
  return end === "still_down";
}

function toAvailability(check: CheckHistory) {
  const { observedMs, availability } = availabilityOf(check.sums.lastedMs);
  return {
    ...nameOf(check),
    availability,
    observedMs,
    downMs: downMsOf(check.sums.lastedMs),
    objective: check.objective,
  };
}

export function isMissed(objective: ObjectiveResult | null): boolean {
  return objective?.verdict === "missed";
}

function toSlow(check: CheckHistory) {
  return {
    ...nameOf(check),
    meanMs: meanOf(check.sums),
    percentiles: percentilesOf(check.sums),
    maxMs: check.sums.durationMaxMs,
    previousMeanMs: check.before.runs === 0 ? null : meanOf(check.before),
    previousP95Ms: percentilesOf(check.before)?.p95 ?? null,
  };
}

function expiryOf(check: CheckHistory, untilMs: number) {
  const { last = null } = check.record ?? {};
  const leftSeconds = last?.metrics["certificate_left_seconds"];
  if (last === null || leftSeconds === undefined) return [];
  const expiresAtMs = last.startedAtMs + leftSeconds * 1000;
  return expiresAtMs > untilMs + EXPIRING_MS ? [] : [{ ...nameOf(check), expiresAtMs }];
}

function whyNoData({ present: { condition, state, reason }, sums }: CheckHistory): string {
  if (state === "never_ran") return "never ran";
  if (reason !== "") return reason;
  if (condition === "pending") return condition;
  return sums.runs === 0 ? "no run in this period" : "no time between two runs observed";
}

function undeliveredOf(queued: readonly QueuedNotification[], sinceMs: number) {
  const failed = queued.filter(({ state, lastFailure, nextAttemptAtMs }) =>
    state === "dropped" ? nextAttemptAtMs > sinceMs : lastFailure !== null
  );
  return [...Map.groupBy(failed, ({ channelName }) => channelName)].map(([channel, rows]) => {
    const dropped = rows.filter(({ state }) => state === "dropped").length;
    return { channel, dropped, pending: rows.length - dropped, reason: rows.at(-1)?.lastFailure ?? "" };
  });
}

/** A change without its trace, which is much longer than the rest. */
export type ShortChange = Omit<ConditionChange, "trace">;

/** The changes of a check, as far as they decide about a period. */
interface ChangeHistory {
  /** The present record; `null`: the check never ran. */
  readonly record: CheckRecord | null;
  /** The changes after the begin of the period, later ones included; the newest first. */
  readonly changes: readonly ShortChange[];
  /** The last change before; `null`: none is known. */
  readonly earlier: ShortChange | null;
}

/** A period: times later than its begin, up to its end. */
export interface Period {
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** Returns whether a confirmed condition is downtime: a warning is none, and `unknown` is no uptime. */
function isDown(condition: ShownCondition): condition is "critical" | "unknown" {
  return condition === "critical" || condition === "unknown";
}

/** A time without interruption in which a check was down: confirmed as `critical` or `unknown`. */
interface OutageSpan {
  /** The highest severity in it. */
  readonly condition: Condition;
  /** May be before the period. */
  readonly fromMs: number;
  /** When it recovered, when it was last observed, or the end of the period. */
  readonly toMs: number;
  /** How it is at the end of the period; `unobserved`: the check is overdue then. */
  readonly end: "recovered" | "still_down" | "unobserved";
  /** Of the result that began it; one line, may be empty. */
  readonly output: string;
}

/** Returns the outages of a check in a period, the oldest first. */
export function outagesOf(history: ChangeHistory, { sinceMs, untilMs }: Period): readonly OutageSpan[] {
  const outages: OutageSpan[] = [];
  const first = stateAtBegin(history, sinceMs);
  let open = isDown(first.to) ? toOutage({ ...first, to: first.to }) : null;
  for (const change of history.changes.toReversed()) {
    if (change.atMs > untilMs) break;
    if (!isDown(change.to)) {
      if (open !== null) outages.push({ ...open, toMs: change.atMs });
      open = null;
    } else {
      open = open === null
        ? toOutage(change)
        : { ...open, condition: highestSeverity([open.condition, change.to]) };
    }
  }
  if (open === null) return outages;
  const observedMs = lastObservedMs(history, untilMs);
  if (observedMs === null) return [...outages, { ...open, toMs: untilMs, end: "still_down" }];
  const toMs = Math.max(open.fromMs, observedMs);
  return toMs <= sinceMs ? outages : [...outages, { ...open, toMs, end: "unobserved" }];
}

/** Returns when a check that is overdue by a time was last observed; `null`: it is not overdue. */
function lastObservedMs({ record }: ChangeHistory, timeMs: number): number | null {
  const overdueAtMs = record?.overdueAtMs ?? Infinity;
  return timeMs > overdueAtMs ? record?.condition.observedAtMs ?? null : null;
}

/** Returns the change that led to the condition at the begin. */
function stateAtBegin(
  { record, changes, earlier }: ChangeHistory,
  sinceMs: number,
): Pick<ShortChange, "atMs" | "output"> & { readonly to: ShownCondition } {
  if (earlier !== null) return earlier;
  const next = changes.at(-1);
  if (next !== undefined) return { atMs: sinceMs, to: next.from, output: "" };
  if (record === null) return { atMs: sinceMs, to: "pending", output: "" };
  const { confirmed, confirmedSinceMs } = record.condition;
  return { atMs: confirmedSinceMs ?? sinceMs, to: confirmed ?? "pending", output: record.last?.output ?? "" };
}

function toOutage({ atMs, to, output }: Pick<ShortChange, "atMs" | "to" | "output">): OutageSpan {
  return { condition: to, fromMs: atMs, toMs: atMs, end: "recovered", output };
}
