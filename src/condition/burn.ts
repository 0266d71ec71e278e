/**
 * Whether a check uses up its error budget too fast: multiwindow, multi-burn-rate alerts of the Google SRE Workbook,
 * chapter 5, "Alerting on SLOs". By the time for which the target was down, not by counts of results. Pure.
 *
 * The burn rate in a window is the share of it in which the target was down, divided by the share that the objective
 * permits. Time between two results of which one is up and the other down counts half: an outage began or ended there.
 */
import type { Check } from "../domain/check.ts";
import {
  type Burn,
  type BurnAlert,
  type Condition,
  type ConditionState,
  type Downtime,
  timeBetween,
} from "../domain/condition.ts";
import { describeDuration } from "../domain/duration.ts";
import { errorBudgetMs, type Objective } from "../domain/limits.ts";
import { type Schedule, sightOf } from "../domain/schedule.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../shared/time_units.ts";

/** The rates at which it burns too fast, in both windows of each: the short one ends soon after an outage does. */
const LIMITS = [
  { rate: 14.4, longMs: HOUR_MS, shortMs: 5 * MINUTE_MS },
  { rate: 6, longMs: 6 * HOUR_MS, shortMs: 30 * MINUTE_MS },
] as const;

/** The length of the spans to which recent downtime is added up. */
const RECENT_MS = 5 * MINUTE_MS;
const RECENT_MS_MAX = 6 * HOUR_MS;

export interface BurnPolicy {
  readonly objective: Objective;
  readonly schedule: Schedule;
}

type Settings = Pick<Check, "objective" | "schedule">;

/** Returns the settings of a check with an error budget; `null`: it has none, as with an objective of 100 %. */
export function burnPolicyOf({ objective, schedule }: Settings): BurnPolicy | null {
  return objective === undefined || objective.percent >= 100 ? null : { objective, schedule };
}

/** The time between two results that follow each other. */
export interface ObservedGap {
  readonly fromMs: number;
  readonly toMs: number;
  readonly before: Condition;
  readonly after: Condition;
}

/** Returns the burn of an error budget after a result; `undefined`: nothing was down. `null` gap: it was not observed. */
export function burnAfter(
  before: Burn | undefined,
  { objective, schedule }: BurnPolicy,
  { gap, nowMs }: { readonly gap: ObservedGap | null; readonly nowMs: number },
): Burn | undefined {
  const share = gap === null ? 0 : { up: 0, uncertain: 0.5, down: 1 }[timeBetween(gap.before, gap.after)];
  if (before === undefined && share === 0) return undefined;
  const { recent, days, alert } = before ?? NOTHING;
  const burnt: Burn = {
    recent: added(recent, { gap, share, spanMs: RECENT_MS, lastingMs: RECENT_MS_MAX, nowMs }),
    days: added(days, { gap, share, spanMs: DAY_MS, lastingMs: objective.windowMs, nowMs }),
    alert: null,
  };
  if (burnt.days.length === 0) return undefined;
  return { ...burnt, alert: alertAfter(alert, burnt, { objective, schedule, nowMs }) };
}

const NOTHING: Burn = { recent: [], days: [], alert: null };

interface AddOptions {
  readonly gap: ObservedGap | null;
  /** The share of the gap in which the target was down. */
  readonly share: number;
  readonly spanMs: number;
  /** For how long downtime is stored. */
  readonly lastingMs: number;
  readonly nowMs: number;
}

/** Returns the spans with downtime, with that of a gap. Those of the future, after a step of the clock, are dropped. */
function added(
  downtime: readonly Downtime[],
  { gap, share, spanMs, lastingMs, nowMs }: AddOptions,
): readonly Downtime[] {
  const sums = new Map(downtime.map(({ atMs, downMs }) => [atMs, downMs]));
  if (gap !== null && share > 0) {
    const fromMs = Math.max(gap.fromMs, nowMs - lastingMs);
    for (let atMs = Math.floor(fromMs / spanMs) * spanMs; atMs < gap.toMs; atMs += spanMs) {
      const ms = Math.min(gap.toMs, atMs + spanMs) - Math.max(fromMs, atMs);
      sums.set(atMs, (sums.get(atMs) ?? 0) + share * ms);
    }
  }
  return [...sums].filter(([atMs]) => atMs + spanMs > nowMs - lastingMs && atMs <= nowMs)
    .map(([atMs, downMs]) => ({ atMs, downMs }));
}

/** The downtime in a window that ends now. */
function downtimeIn(recent: readonly Downtime[], windowMs: number, nowMs: number): number {
  return recent.reduce((sum, { atMs, downMs }) => {
    const lengthMs = Math.min(atMs + RECENT_MS, nowMs) - atMs;
    const inWindowMs = Math.min(lengthMs, atMs + lengthMs - (nowMs - windowMs));
    return inWindowMs <= 0 ? sum : sum + downMs * inWindowMs / lengthMs;
  }, 0);
}

/**
 * Returns the alert after a result. It begins if both windows burn at a rate, and ends once the long one does not. One that
 * becomes faster is a new one.
 */
function alertAfter(
  before: BurnAlert | null,
  burn: Burn,
  { objective, schedule, nowMs }: BurnPolicy & { readonly nowMs: number },
): BurnAlert | null {
  if (burn.recent.length === 0) return null;
  const found = LIMITS.find(({ rate, longMs, shortMs }) => {
    const isBurning = (windowMs: number): boolean =>
      downtimeIn(burn.recent, windowMs, nowMs) / errorBudgetMs(objective, windowMs) >= rate;
    if (!isBurning(longMs)) return false;
    if (before !== null && before.rate >= rate) return true;
    // A schedule that shows one outage no better than this does not show that it burns.
    return isBurning(shortMs) && downtimeIn(burn.recent, longMs, nowMs) > sightOf(schedule).uncertainMs;
  });
  if (found === undefined) return null;
  return before !== null && before.rate >= found.rate
    ? { ...before, rate: found.rate }
    : { rate: found.rate, sinceMs: nowMs, isTold: false };
}

/** Returns a burn whose alert needs no further notification. */
export function withTold(burn: Burn, alert: BurnAlert): Burn {
  return { ...burn, alert: { ...alert, isTold: true } };
}

/**
 * Describes an alert: `14.4 times too fast (down 2 min of 1 h): 2 h 3 min until the error budget of 99.9% in 30 d is used
 * up`.
 */
export function describeBurn(
  burn: Burn,
  { rate }: Pick<BurnAlert, "rate">,
  { objective, nowMs }: { readonly objective: Objective; readonly nowMs: number },
): string {
  const { longMs } = LIMITS.find((limit) => limit.rate === rate) ?? LIMITS[0];
  const downMs = downtimeIn(burn.recent, longMs, nowMs);
  const times = downMs / errorBudgetMs(objective, longMs);
  const usedMs = burn.days.reduce((sum, one) => sum + one.downMs, 0);
  const leftMs = errorBudgetMs(objective, objective.windowMs) - usedMs;
  const budget = `the error budget of ${objective.percent}% in ${describeDuration(objective.windowMs)}`;
  const until = leftMs <= 0 ? "" : `${describeDuration(leftMs * longMs / downMs)} until `;
  const down = `down ${describeDuration(downMs)} of ${describeDuration(longMs)}`;
  return `${times.toFixed(1)} times too fast (${down}): ${until}${budget} is used up`;
}

/** Describes that a check uses up its error budget too fast; empty: it does not. */
export function describeBurning(
  check: Settings,
  { burn }: Pick<ConditionState, "burn">,
  nowMs: number,
): string {
  const { objective } = burnPolicyOf(check) ?? {};
  if (objective === undefined || burn === undefined || burn.alert === null) return "";
  return `error budget burns ${describeBurn(burn, burn.alert, { objective, nowMs })}`;
}
