/**
 * The notifications of a check that a channel gets: the filters of the channel, or of its use by the check. Pure.
 *
 * Three of them decide whether a notification is due. `conditions` maps the condition, see {@linkcode conditionFor}.
 * `after` postpones a problem, and `hours` does so or drops it (`outside_hours`); a recovery passes both. The
 * fourth, `events`, drops due notifications, so that a channel without recoveries gets the next
 * problem.
 */
import type { ChannelFilters } from "../domain/channel.ts";
import { type Condition, type ConditionState, severity, SHOWN_CONDITIONS } from "../domain/condition.ts";
import { isStandalone, type Notification } from "../domain/outbox.ts";
import { isInWindow, openWindow } from "./maintenance_windows.ts";

export interface FilterOptions {
  readonly nowMs: number;
  readonly isAcknowledged: boolean;
}

/**
 * Returns a condition as it counts for a channel. One that is not listed is `ok`, except that it does not end a problem
 * that the channel was notified of if it is worse than that, or `unknown`: then it counts like that problem.
 */
export function conditionFor(
  { conditions }: ChannelFilters,
  condition: Condition,
  notified: Condition = "ok",
): Condition {
  if (conditions === undefined || conditions.includes(condition)) return condition;
  const isBetter = condition !== "unknown" && severity(condition) < severity(notified);
  return isBetter ? "ok" : notified;
}

/** Returns whether problems and changes are left out at this time. */
export function isOutsideHours({ hours }: ChannelFilters, nowMs: number): boolean {
  return hours !== undefined && !isInWindow(hours, nowMs);
}

/** Returns until when problems are not left out, if they are not at this time; `Infinity`: not within a month. */
export function hoursEndMs({ hours = [] }: ChannelFilters, nowMs: number): number {
  return openWindow(hours, nowMs)?.untilMs ?? Infinity;
}

/** Returns whether a problem has not lasted long enough for a channel, or is acknowledged. */
export function isPostponed(
  filters: ChannelFilters,
  state: ConditionState,
  { nowMs, isAcknowledged }: FilterOptions,
): boolean {
  const { afterMs } = filters;
  if (afterMs === undefined) return false;
  const leftMs = dueAtMs(filters, state, nowMs) - nowMs;
  // If the clock was set back by more than that, it is unknown how long the problem has lasted.
  return isAcknowledged || leftMs > 0 && leftMs <= 2 * afterMs;
}

/** Returns whether a problem that is not sent now may be sent without another result. */
export function mayComeLater({ afterMs, hours, outsideHours }: ChannelFilters): boolean {
  return afterMs !== undefined || hours !== undefined && outsideHours !== "never";
}

/** When a problem has lasted long enough. For a channel of some conditions, it begins with the last other one's end. */
export function dueAtMs(
  { conditions, afterMs = 0 }: ChannelFilters,
  { problemBeganAtMs, leftAtMs }: ConditionState,
  nowMs: number,
): number {
  if (conditions === undefined) return (problemBeganAtMs ?? nowMs) + afterMs;
  const others = SHOWN_CONDITIONS.filter((condition) =>
    condition === "pending" || !conditions.includes(condition)
  );
  return Math.max(...others.map((condition) => leftAtMs[condition] ?? -Infinity)) + afterMs;
}

/**
 * Returns the last notified conditions of a channel as the condition machine uses them: the confirmed condition if
 * nothing is due. None without a confirmed condition, and if a problem is postponed, or was dropped when it was decided.
 */
export function knownTo(
  filters: ChannelFilters,
  conditions: readonly Condition[],
  state: ConditionState,
  options: FilterOptions,
): readonly Condition[] {
  const { nowMs } = options;
  const { confirmed } = state;
  if (confirmed === null) return [];
  return conditions.flatMap((condition) => {
    const wanted = conditionFor(filters, confirmed, condition);
    if (condition === wanted) return [confirmed];
    if (wanted === "ok") return [condition];
    if (condition === "ok" && isPostponed(filters, state, options)) return [];
    if (isOutsideHours(filters, nowMs)) return [];
    if (filters.outsideHours !== "never") return [condition];
    const decidedAtMs = Math.max(
      // A reminder, or an escalation to another channel, does not make dropped notifications due.
      state.notifiedSinceMs ?? nowMs,
      Math.min(dueAtMs(filters, state, nowMs), nowMs),
    );
    return isOutsideHours(filters, decidedAtMs) ? [] : [condition];
  });
}

/** Returns whether no notification of a problem is due to a channel: it was sent already, postponed or filtered. */
export function isLeftOut(
  filters: ChannelFilters,
  conditions: readonly Condition[],
  state: ConditionState,
  options: FilterOptions,
): boolean {
  return knownTo(filters, conditions, state, options).every((condition) => condition === state.confirmed);
}

/**
 * Returns whether a channel does not get a notification that is due. Of a problem that recovered unsent, either event
 * counts.
 */
export function isExcluded(
  { events }: ChannelFilters,
  { notification, missedProblem }: {
    readonly notification: Pick<Notification, "event">;
    readonly missedProblem: Pick<Notification, "event"> | null;
  },
): boolean {
  if (events === undefined) return false;
  const passes = ({ event }: Pick<Notification, "event">): boolean =>
    isStandalone(event) || events.includes(event);
  return !passes(notification) && !(missedProblem !== null && passes(missedProblem));
}
