/** What checks returned in the past, run by run, from their journals; and what people did about it. */
import { type CheckResult, checkResult } from "../domain/check.ts";
import type { CheckJournal, JournalRow } from "../domain/check_journal.ts";
import type { Silence } from "../domain/outbox.ts";
import type { ConditionChange } from "../domain/store.ts";
import { isAfterGapAt, journalToleranceMs, timeOf } from "../state/journal.ts";
import type { RecordedRuns } from "./rehearsed_service.ts";
import type { RunSpan, SkippedRuns } from "./skipped_runs.ts";

/** A run that was recorded. */
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
  /** They have the exact times of runs within rows. @default none */
  readonly changes?: readonly Pick<ConditionChange, "name" | "atMs">[];
  /** Whatever applied at any time. @default none */
  readonly silences?: readonly Silence[];
}

export class Past implements RecordedRuns {
  readonly silences: readonly Silence[];
  readonly #rows: ReadonlyMap<string, readonly JournalRow[]>;

  constructor({ journals, changes = [], silences = [] }: PastOptions) {
    const timesOf = Map.groupBy(changes, ({ name }) => name);
    this.#rows = new Map(journals.map(({ name, rows }) => {
      const times = (timesOf.get(name) ?? []).map(({ atMs }) => Math.floor(atMs));
      return [name, inOrder(rows).flatMap((row) => splitAt(row, times))];
    }));
    this.silences = silences.toSorted((one, other) => one.fromMs - other.fromMs);
  }

  has(check: string): boolean {
    return this.#rows.has(check);
  }

  /** From when on its channels are known to know of no earlier problem: its first run of all, or the first that was ok. */
  knownFromMs(check: string): number {
    const rows = this.#rowsOf(check);
    const isWhole = rows[0] !== undefined && rows[0].gap !== "none";
    return isWhole ? -Infinity : rows.find(({ condition }) => condition === "ok")?.lastMs ?? Infinity;
  }

  /** When the last of all runs ended. */
  get lastMs(): number {
    return Math.max(...[...this.#rows.values()].map((rows) => rows.at(-1)?.lastMs ?? -Infinity));
  }

  runAfter(check: string, afterMs: number): PastRun | null {
    const [row] = this.#rowsAfter(check, afterMs);
    if (row === undefined) return null;
    const index = countUntil(row, afterMs);
    const { condition, output, awaits } = row;
    return {
      atMs: timeOf(row, index),
      result: { ...checkResult(condition, output), ...awaits !== null && { awaits } },
      isAfterGap: isAfterGapAt(row, index),
      isInterrupted: row.isInterrupted && index === 0,
    };
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

  /** The row with the first run after a time, and the row that follows. */
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

/** Returns rows without those of a clock that was set back. */
function inOrder(rows: readonly JournalRow[]): readonly JournalRow[] {
  let endMs = -Infinity;
  return rows.filter(({ firstMs, lastMs }) => {
    if (firstMs <= endMs) return false;
    endMs = lastMs;
    return true;
  });
}

/** Returns the rows of one whose runs at some exact times begin new rows. */
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

/** Returns how many runs of a row came until a time, that included. */
function countUntil(row: JournalRow, untilMs: number): number {
  if (untilMs < row.firstMs) return 0;
  if (untilMs >= row.lastMs) return row.runs;
  let count = Math.floor((untilMs - row.firstMs) / row.intervalMs) + 1;
  while (count > 0 && timeOf(row, count - 1) > untilMs) count--;
  while (count < row.runs && timeOf(row, count) <= untilMs) count++;
  return count;
}
