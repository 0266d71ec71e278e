/** Reads the past runs of checks from their journals, with the silences and acknowledgements of that time. */
import { type CheckResult, checkResult } from "../domain/check.ts";
import type { CheckJournal, JournalRow } from "../domain/store.ts";
import type { Silence } from "../domain/outbox.ts";
import { isAfterGapAt, journalToleranceMs, timeOf } from "../state/journal.ts";
import type { RecordedRuns } from "./rehearsed_service.ts";
import type { RunSpan, SkippedRuns } from "./skipped_runs.ts";

export interface PastRun {
  /** When it ended; wall time, milliseconds since 1970. */
  readonly atMs: number;
  readonly result: CheckResult;
  /** These two are as in `ObservedResult`. */
  readonly isAfterGap: boolean;
  readonly isInterrupted: boolean;
}

export interface PastOptions {
  readonly journals: readonly CheckJournal[];
  /**
   * The dependencies of each check: a decision without a result may have waited for their runs. Without them, such
   * decisions are skipped. @default none
   */
  readonly dependencies?: ReadonlyMap<string, readonly string[]>;
  /** All silences, also ended ones. @default none */
  readonly silences?: readonly Silence[];
}

export class Past implements RecordedRuns {
  readonly hasReviews: boolean;
  readonly silences: readonly Silence[];
  /** Rows by check; a row of no runs is a decision without a result. */
  readonly #rows: ReadonlyMap<string, readonly JournalRow[]>;

  constructor({ journals, dependencies, silences = [] }: PastOptions) {
    this.hasReviews = dependencies !== undefined;
    const ordered = journals.map(({ name, rows }) => ({
      name,
      rows: inOrder(dependencies === undefined ? rows.filter(({ runs }) => runs > 0) : rows),
    }));
    const awaited = Map.groupBy(
      ordered.flatMap(({ name, rows }) =>
        rows.filter(({ runs }) => runs === 0).flatMap(({ firstMs }) =>
          (dependencies?.get(name) ?? []).map((dependency) => ({ dependency, firstMs }))
        )
      ),
      ({ dependency }) => dependency,
    );
    this.#rows = new Map(ordered.map(({ name, rows }) => {
      const times = (awaited.get(name) ?? []).map(({ firstMs }) => firstMs);
      return [name, rows.flatMap((row) => splitAt(row, times))];
    }));
    this.silences = silences.toSorted((one, other) => one.fromMs - other.fromMs);
  }

  has(check: string): boolean {
    return this.#rows.has(check);
  }

  /** Returns the time from which no earlier problem affects its channels: its very first run, or its first `ok`. */
  knownFromMs(check: string): number {
    const rows = this.#rowsOf(check);
    const isWhole = rows[0] !== undefined && rows[0].gap !== "none";
    if (isWhole) return -Infinity;
    return rows.find(({ condition, runs }) => condition === "ok" && runs > 0)?.lastMs ?? Infinity;
  }

  get lastMs(): number {
    return Math.max(...[...this.#rows.values()].map((rows) => rows.at(-1)?.lastMs ?? -Infinity));
  }

  runAfter(check: string, afterMs: number): PastRun | null {
    const [row] = this.#rowsAfter(check, afterMs);
    if (row === undefined) return null;
    const index = countUntil(row, afterMs);
    const { condition, output, awaits, isLate } = row;
    return {
      atMs: timeOf(row, index),
      result: {
        ...checkResult(condition, output),
        ...awaits !== null && { awaits },
        ...isLate && { isLate },
      },
      isAfterGap: isAfterGapAt(row, index),
      isInterrupted: row.isInterrupted && index === 0,
    };
  }

  isReview(check: string, atMs: number): boolean {
    const [row] = this.#rowsAfter(check, atMs - 1);
    return row?.runs === 0 && row.firstMs === atMs;
  }

  /** Returns the interval of the runs until a time; `Infinity` if there are too few runs. */
  intervalUntil(check: string, atMs: number): number {
    const row = this.#rowsOf(check).findLast(({ firstMs, runs }) => runs > 0 && firstMs <= atMs);
    return row === undefined || row.runs < REGULAR_RUNS ? Infinity : row.intervalMs;
  }

  nextChangeMs(check: string, atMs: number): number {
    const [row, next] = this.#rowsAfter(check, atMs - 1);
    if (row === undefined) return Infinity;
    return row.gap === "each" ? this.runAfter(check, atMs)?.atMs ?? Infinity : next?.firstMs ?? Infinity;
  }

  runsBefore(check: string, { fromMs, beforeMs, isIncluded = false }: RunSpan): SkippedRuns {
    const [row] = this.#rowsAfter(check, fromMs - 1);
    const lastMs = isIncluded ? beforeMs : Math.ceil(beforeMs) - 1;
    const first = row === undefined ? 0 : countUntil(row, fromMs - 1);
    const end = row === undefined ? 0 : countUntil(row, lastMs);
    if (row === undefined || end <= first) return { count: 0, lastMs: fromMs, nextMs: fromMs };
    const endMs = timeOf(row, end - 1);
    return { count: end - first, lastMs: endMs, nextMs: this.runAfter(check, endMs)?.atMs ?? Infinity };
  }

  #rowsOf(check: string): readonly JournalRow[] {
    return this.#rows.get(check) ?? [];
  }

  /** Returns the row with the first run after a time, and the next row. */
  #rowsAfter(check: string, afterMs: number): readonly JournalRow[] {
    const rows = this.#rowsOf(check);
    let [low, high] = [0, rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((rows[middle]?.lastMs ?? Infinity) <= afterMs) low = middle + 1;
      else high = middle;
    }
    return rows.slice(low, low + 2);
  }
}

const REGULAR_RUNS = 3;

/** Returns rows without those of a clock that was set back. A later row of the same millisecond moves to the next one. */
function inOrder(rows: readonly JournalRow[]): readonly JournalRow[] {
  let endMs = -Infinity;
  return rows.flatMap((row) => {
    const firstMs = row.firstMs === endMs ? endMs + 1 : row.firstMs;
    if (firstMs <= endMs) return [];
    endMs = Math.max(firstMs, row.lastMs);
    return [{ ...row, firstMs, lastMs: endMs }];
  });
}

/** Splits a row: its runs at the exact times begin new rows. */
function splitAt(row: JournalRow, times: readonly number[]): readonly JournalRow[] {
  const parts: JournalRow[] = [];
  let rest = row;
  for (const atMs of times.filter((ms) => row.firstMs < ms && ms < row.lastMs).sort((a, b) => a - b)) {
    const index = Math.round((atMs - rest.firstMs) / rest.intervalMs);
    const isRun = index > 0 && index < rest.runs - 1 &&
      Math.abs(timeOf(rest, index) - atMs) <= journalToleranceMs(rest);
    if (!isRun) continue;
    const gap = rest.gap === "each" ? "each" : "none";
    parts.push(withRuns({ ...rest, lastMs: timeOf(rest, index - 1) }, index));
    rest = withRuns({ ...rest, firstMs: atMs, gap, isInterrupted: false }, rest.runs - index);
  }
  return [...parts, rest];
}

function withRuns(row: JournalRow, runs: number): JournalRow {
  return { ...row, runs, intervalMs: runs === 1 ? 0 : (row.lastMs - row.firstMs) / (runs - 1) };
}

/** Returns the number of runs of a row until a time, inclusive. */
function countUntil(row: JournalRow, untilMs: number): number {
  if (untilMs < row.firstMs) return 0;
  if (untilMs >= row.lastMs) return row.runs;
  let count = Math.floor((untilMs - row.firstMs) / row.intervalMs) + 1;
  while (count > 0 && timeOf(row, count - 1) > untilMs) count--;
  while (count < row.runs && timeOf(row, count) <= untilMs) count++;
  return count;
}
