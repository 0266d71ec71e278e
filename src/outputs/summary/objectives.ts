import type { ConditionCounts } from "../../domain/condition.ts";
import { describeDuration } from "../../domain/duration.ts";
import type { Objective } from "../../domain/limits.ts";
import { availabilityOf, percent } from "../../state/availability.ts";

/** An objective is decided once so much of its time was observed. */
const DECIDED_SHARE = 0.1;

export function downMsOf({ critical, unknown }: ConditionCounts): number {
  return critical + unknown;
}

export interface ObjectiveResult extends Objective {
  /** `null` without data. */
  readonly availability: number | null;
  readonly usedMs: number;
  readonly budgetMs: number;
  /** `null`: too little was observed. */
  readonly isMissed: boolean | null;
}

/** An objective, compared with the time that ends with the period. */
export function toObjective(objective: Objective, lastedMs: ConditionCounts): ObjectiveResult {
  const { observedMs, availability } = availabilityOf(lastedMs);
  const usedMs = downMsOf(lastedMs);
  // Rounded, so that 100 - 99.9 is 0.1.
  const budgetMs = Math.round(observedMs * Number((100 - objective.percent).toFixed(9)) / 100);
  const isMissed = observedMs < DECIDED_SHARE * objective.windowMs ? null : usedMs > budgetMs;
  return { ...objective, availability, usedMs, budgetMs, isMissed };
}

export function describeObjective(objective: ObjectiveResult): string {
  const { percent: wanted, windowMs, availability, budgetMs, usedMs, isMissed } = objective;
  const target = `${wanted}% in ${describeDuration(windowMs)}`;
  if (availability === null) return `${target}: no data`;
  const budget = `${describeDuration(usedMs)} of ${describeDuration(budgetMs)} error budget used`;
  if (isMissed === null) return `${target}: too little of it was observed`;
  return isMissed
    ? `${target} missed with ${percent(availability, PLACES)}: ${budget}`
    : `${target} met: ${budget}, ${describeDuration(budgetMs - usedMs)} left`;
}

const PLACES = { places: 3 };
