import { type Condition, highestSeverity, type ShownCondition } from "../../domain/condition.ts";
import type { CheckRecord, ConditionChange } from "../../domain/store.ts";
import type { Outage } from "./summary.ts";

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

export type OutageSpan = Omit<Outage, "name" | "title" | "hasGap">;

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
    } else open = open === null ? toOutage(change) : worsened(open, change.to);
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

interface Begin extends Pick<ShortChange, "atMs" | "output"> {
  readonly to: ShownCondition;
}

/** Returns the change that led to the condition at the begin. */
function stateAtBegin({ record, changes, earlier }: ChangeHistory, sinceMs: number): Begin {
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

function worsened(outage: OutageSpan, to: Condition): OutageSpan {
  return { ...outage, condition: highestSeverity([outage.condition, to]) };
}
