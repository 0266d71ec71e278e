/**
 * The time of a period, split by what the runs of a check returned, for availability as an interval.
 *
 * What counts are the results themselves, before any threshold, each at the time at which its run ended. Between two
 * results that follow each other the target was up if both are, down if both are `critical`; otherwise that is uncertain,
 * since an outage began or ended there, or a result is `unknown`. All other time is not observed, with its cause. So the
 * share of uptime in the observed time is known up to the uncertain time, except for outages that no run saw.
 */
import type { JournalRow } from "../domain/store.ts";
import { timeBetween } from "../domain/condition.ts";
import { isAfterGapAt } from "./journal.ts";

/** A period, split; the times are milliseconds, and their sum is its length. */
export interface SplitTime {
  /** How many outages the runs saw outside of maintenance windows. */
  readonly outages: number;
  readonly upMs: number;
  readonly downMs: number;
  /** Observed: up or down. */
  readonly uncertainMs: number;
  /** Results did not count, because this machine had no network. */
  readonly ownNetworkMs: number;
  /** The service was stopped, or the system suspended; or the check was edited, until it ran again. */
  readonly monitorOffMs: number;
  /** In maintenance windows, whatever the runs returned. */
  readonly maintenanceMs: number;
  /** All other time: before the first run, after the last one, and while the check was overdue. */
  readonly notObservedMs: number;
}

/** A time with its begin, without its end; wall time, milliseconds since 1970. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

interface SplitOptions {
  readonly sinceMs: number;
  readonly untilMs: number;
  /** Maintenance windows, in any order; they may overlap. */
  readonly maintenance: readonly Span[];
  /** Whether results that do not count are those without a network of this machine. */
  readonly usesNetwork: boolean;
  /** How far apart two runs may be that show the time between them, however late the second one was. */
  readonly observedGapMs: number;
  /** Until when the service ran that ran the check last; `null`: it runs, or there is none. */
  readonly ranUntilMs: number | null;
}

type Part = Exclude<keyof SplitTime, "outages" | "maintenanceMs" | "notObservedMs">;

/** Splits a period by the journal of a check. The rows may be of a longer time: the one before the period has its begin. */
export function splitTime(rows: readonly JournalRow[], options: SplitOptions): SplitTime {
  const { sinceMs, untilMs } = options;
  const windows = merged(options.maintenance, options);
  const sums: Record<Part, number> = { upMs: 0, downMs: 0, uncertainMs: 0, ownNetworkMs: 0, monitorOffMs: 0 };
  // After a step of the clock, times come again: each counts once.
  let coveredMs = sinceMs;
  let next = 0;
  for (const { fromMs, toMs, part } of segmentsOf(rows, options)) {
    const from = Math.max(fromMs, coveredMs);
    const to = Math.min(toMs, untilMs);
    if (to <= from) continue;
    coveredMs = to;
    if (part === null) continue;
    while ((windows[next]?.toMs ?? Infinity) <= from) next++;
    let ms = to - from;
    for (let index = next; (windows[index]?.fromMs ?? Infinity) < to; index++) {
      const window = windows[index];
      if (window !== undefined) ms -= Math.min(window.toMs, to) - Math.max(window.fromMs, from);
    }
    sums[part] += ms;
  }
  const maintenanceMs = windows.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);
  const known = Object.values(sums).reduce((sum, ms) => sum + ms, maintenanceMs);
  return {
    outages: countOutages(rows, { ...options, maintenance: windows }),
    ...sums,
    maintenanceMs,
    notObservedMs: Math.max(0, untilMs - sinceMs - known),
  };
}

/** Counts the results in a row that are `critical`, without those in maintenance windows and before or after the period. */
function countOutages(
  rows: readonly JournalRow[],
  { sinceMs, untilMs, maintenance }: Pick<SplitOptions, "sinceMs" | "untilMs" | "maintenance">,
): number {
  const counted = rows.filter(({ runs, awaits, firstMs, lastMs }) =>
    runs > 0 && awaits === null && lastMs > sinceMs && firstMs <= untilMs &&
    !maintenance.some(({ fromMs, toMs }) => fromMs <= firstMs && lastMs < toMs)
  );
  return counted.filter(({ condition }, index) =>
    condition === "critical" && counted[index - 1]?.condition !== "critical"
  ).length;
}

function* segmentsOf(
  rows: readonly JournalRow[],
  { untilMs, usesNetwork, ranUntilMs, observedGapMs }: SplitOptions,
): Generator<Span & { readonly part: Part | null }> {
  let before: JournalRow | null = null;
  for (const row of rows) {
    if (row.runs === 0) continue;
    if (before !== null) {
      const isObserved = row.gap === "none" || row.firstMs - before.lastMs <= observedGapMs;
      const part = isObserved ? partOf(before, row, usesNetwork) : null;
      yield { fromMs: before.lastMs, toMs: row.firstMs, part: row.isInterrupted ? "monitorOffMs" : part };
    }
    const isObserved = !isAfterGapAt(row, 1) || row.lastMs - row.firstMs <= (row.runs - 1) * observedGapMs;
    yield { fromMs: row.firstMs, toMs: row.lastMs, part: isObserved ? partOf(row, row, usesNetwork) : null };
    before = row;
  }
  if (before === null || ranUntilMs === null || before.lastMs > ranUntilMs) return;
  yield { fromMs: before.lastMs, toMs: untilMs, part: "monitorOffMs" };
}

function partOf(before: JournalRow, after: JournalRow, usesNetwork: boolean): Part | null {
  const awaits = [before.awaits, after.awaits].filter((one) => one !== null);
  if (awaits.length > 0) return usesNetwork && awaits.includes("checks") ? "ownNetworkMs" : null;
  return `${timeBetween(before.condition, after.condition)}Ms` as const;
}

/** Returns the times that are in some spans and in a period, the first one first. */
function merged(
  spans: readonly Span[],
  { sinceMs, untilMs }: Pick<SplitOptions, "sinceMs" | "untilMs">,
): readonly Span[] {
  const result: Span[] = [];
  const cut = spans.map(({ fromMs, toMs }) => ({
    fromMs: Math.max(fromMs, sinceMs),
    toMs: Math.min(toMs, untilMs),
  }));
  for (const span of cut.toSorted((one, other) => one.fromMs - other.fromMs)) {
    const last = result.at(-1);
    if (span.toMs <= span.fromMs) continue;
    if (last === undefined || span.fromMs > last.toMs) result.push(span);
    else result[result.length - 1] = { ...last, toMs: Math.max(last.toMs, span.toMs) };
  }
  return result;
}
