import { type Condition, highestSeverity, type ShownCondition } from "../../domain/condition.ts";
import type { CheckRecord, ConditionChange } from "../../domain/store.ts";
import type { SummarySettings } from "../../domain/channel.ts";
import { DAY_MS, HOUR_MS } from "../../shared/time_units.ts";

/** A change without its trace, which is much longer than the rest. */
export type ShortChange = Omit<ConditionChange, "trace">;

/** The changes of a check, as far as they decide about a period. */
export interface ChangeHistory {
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
export function isDown(condition: ShownCondition): condition is "critical" | "unknown" {
  return condition === "critical" || condition === "unknown";
}

/** A time without interruption in which a check was down: confirmed as `critical` or `unknown`. */
export interface OutageSpan {
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

type Times = SummarySettings["times"];

/** Times that come once in 28 years are found, 29 February on a certain weekday among them. */
const SEARCHED_MS = 2 ** 18 * HOUR_MS;

/** Returns the last time of an expression that is not later than another; `null`: none in many years. */
export function lastTime(times: Times, untilMs: number): number | null {
  for (let backMs = HOUR_MS; backMs <= SEARCHED_MS; backMs *= 2) {
    let last: number | null = null;
    for (let atMs = times.after(untilMs - backMs); atMs <= untilMs; atMs = times.after(atMs)) last = atMs;
    if (last !== null) return last;
  }
  return null;
}

/**
 * Returns the period of the summary of a scheduled time: the configured one, by default since the scheduled time before.
 * A week with a DST change counts as one week, so that no hour is left out or counted twice.
 */
export function periodOf({ times, periodMs }: SummarySettings, scheduledMs: number): Period {
  const beforeMs = lastTime(times, scheduledMs - 1);
  if (periodMs === undefined) return { sinceMs: beforeMs ?? scheduledMs - 7 * DAY_MS, untilMs: scheduledMs };
  const sinceMs = scheduledMs - periodMs;
  const isChange = beforeMs !== null && periodMs >= DAY_MS && Math.abs(beforeMs - sinceMs) <= HOUR_MS;
  return { sinceMs: isChange ? beforeMs : sinceMs, untilMs: scheduledMs };
}

/** Returns the period of a summary that is made at any time: as long as that of the last scheduled one. */
export function periodUntil(settings: SummarySettings, nowMs: number): Period {
  const { sinceMs, untilMs } = periodOf(settings, lastTime(settings.times, nowMs) ?? nowMs);
  return { sinceMs: nowMs - (untilMs - sinceMs), untilMs: nowMs };
}
