/** What the roll-ups of a check say of a span of time: how often it ran, how long, and how long it was well. */
import { CONDITIONS } from "./domain/condition.ts";
import type { ConditionCounts } from "./domain/condition_state.ts";
import type { CheckRecord, Rollup } from "./domain/store.ts";

/** The sums of a span. */
export interface SpanSummary {
  /** How many runs counted. */
  readonly runs: number;
  /** How many runs observed each condition. */
  readonly observed: ConditionCounts;
  /** How long each condition was the settled one. */
  readonly lastedMs: ConditionCounts;
  /** The share of the watched time in which `ok` was settled, 0 to 1; `null` when nobody looked. */
  readonly availability: number | null;
  /** `null` without a run. */
  readonly durationMeanMs: number | null;
  /** `null` without a run. */
  readonly durationMaxMs: number | null;
}

/** A span of time. */
export interface Span {
  /** Wall time, milliseconds since 1970. */
  readonly sinceMs: number;
  /** Not before that. */
  readonly untilMs: number;
}

/**
 * The sums of the roll-ups that end after a time and do not begin after another. The oldest may begin before the
 * first: a roll-up is not divided.
 */
export function summarise(rollups: readonly Rollup[], { sinceMs, untilMs }: Span): SpanSummary {
  const chosen = rollups.filter(({ startMs, spanMs }) => startMs + spanMs > sinceMs && startMs <= untilMs);
  const sum = (pick: (rollup: Rollup) => number): number =>
    chosen.reduce((subtotal, rollup) => subtotal + pick(rollup), 0);
  const perCondition = (pick: (rollup: Rollup) => ConditionCounts): ConditionCounts => ({
    ok: sum((rollup) => pick(rollup).ok),
    unknown: sum((rollup) => pick(rollup).unknown),
    warning: sum((rollup) => pick(rollup).warning),
    critical: sum((rollup) => pick(rollup).critical),
  });
  const observed = perCondition((rollup) => rollup.observed);
  const lastedMs = perCondition((rollup) => rollup.lastedMs);
  const runs = total(observed);
  return {
    runs,
    observed,
    lastedMs,
    availability: availabilityOf(lastedMs),
    durationMeanMs: runs === 0 ? null : sum((rollup) => rollup.durationTotalMs) / runs,
    durationMaxMs: runs === 0
      ? null
      : chosen.reduce((most, rollup) => Math.max(most, rollup.durationMaxMs), 0),
  };
}

/**
 * Adds the time since the last look, for which what is settled still counts; two intervals at most, since beyond that
 * nobody looked.
 */
export function addPresent(
  lastedMs: ConditionCounts,
  record: CheckRecord | null,
  nowMs: number,
): ConditionCounts {
  if (record === null || record.condition.observedAtMs === null) return lastedMs;
  const { settled, observedAtMs } = record.condition;
  const sinceMs = Math.max(0, Math.min(nowMs - observedAtMs, 2 * record.intervalMs));
  return { ...lastedMs, [settled]: lastedMs[settled] + sinceMs };
}

/** The share of the watched time in which `ok` was settled; `null` when nobody looked. */
export function availabilityOf(lastedMs: ConditionCounts): number | null {
  const watchedMs = total(lastedMs);
  return watchedMs === 0 ? null : lastedMs.ok / watchedMs;
}

/** A share of 1 with so many places. Never rounded up to 100 %: that means without any fault. */
export function percent(share: number, { places }: { readonly places: number }): string {
  if (share === 1) return "100%";
  const unit = 10 ** places;
  return `${(Math.floor(share * (100 * unit)) / unit).toFixed(places)}%`;
}

function total(counts: ConditionCounts): number {
  return CONDITIONS.reduce((subtotal, condition) => subtotal + counts[condition], 0);
}
