/** What checks returned in the past, from their journals: at each time the result of the run of that time. */
import { type Check, type CheckResult, checkResult } from "../domain/check.ts";
import type { CheckJournal, JournalRow } from "../domain/check_journal.ts";
import { SECOND_MS } from "../shared/time_units.ts";

/** From a time on, runs return this result. */
interface Segment {
  readonly fromMs: number;
  readonly result: CheckResult;
}

/** A run begins so long before its end at most, apart from its timeout: it may have been late. */
const LATE_MS_MAX = 30 * SECOND_MS;

/** Nothing ran, so nothing is known, and nothing is notified. */
const NOT_OBSERVED: CheckResult = { ...checkResult("unknown", "nothing ran"), awaits: "checks" };

export class Past {
  readonly #rows: ReadonlyMap<string, readonly JournalRow[]>;
  readonly #segments = new Map<string, readonly Segment[]>();

  constructor(journals: readonly CheckJournal[]) {
    this.#rows = new Map(journals.map(({ name, rows }) => [name, rows]));
  }

  /** Whether a check has any result. */
  has(check: string): boolean {
    return this.#rows.has(check);
  }

  /** Returns the result of a run at a time: that of the recorded run which ended next. */
  resultOf(check: Check, atMs: number): CheckResult {
    const segments = this.#segmentsOf(check);
    return segments[countUntil(segments, atMs) - 1]?.result ?? NOT_OBSERVED;
  }

  /** Returns when the result of a check changes next, after a time; `Infinity`: it does not. */
  nextChangeMs(check: Check, afterMs: number): number {
    const segments = this.#segmentsOf(check);
    return segments[countUntil(segments, afterMs)]?.fromMs ?? Infinity;
  }

  #segmentsOf(check: Check): readonly Segment[] {
    return this.#segments.getOrInsertComputed(
      check.name,
      (name) => segmentsOf(this.#rows.get(name) ?? [], check.timeoutMs + LATE_MS_MAX),
    );
  }
}

function segmentsOf(rows: readonly JournalRow[], beginsBeforeMs: number): readonly Segment[] {
  const segments: Segment[] = [];
  let endMs = -Infinity;
  for (const row of rows) {
    // The clock was set back.
    if (row.lastMs <= endMs) continue;
    const isContinued = endMs !== -Infinity && row.gap === "none" && !row.isInterrupted;
    const fromMs = isContinued ? endMs + 1 : Math.max(endMs + 1, row.firstMs - beginsBeforeMs);
    if (!isContinued && fromMs > endMs + 1) add(segments, { fromMs: endMs + 1, result: NOT_OBSERVED });
    const { condition, output, awaits } = row;
    add(segments, {
      fromMs,
      result: { ...checkResult(condition, output), ...awaits !== null && { awaits } },
    });
    endMs = row.lastMs;
  }
  add(segments, { fromMs: endMs + 1, result: NOT_OBSERVED });
  return segments;
}

function add(segments: Segment[], { fromMs, result }: Segment): void {
  const last = segments.at(-1)?.result;
  const isSame = last?.condition === result.condition && last.output === result.output &&
    last.awaits === result.awaits;
  if (!isSame) segments.push({ fromMs, result });
}

/** Returns how many segments begin until a time, that included. */
function countUntil(segments: readonly Segment[], atMs: number): number {
  let [low, high] = [0, segments.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((segments[middle]?.fromMs ?? Infinity) <= atMs) low = middle + 1;
    else high = middle;
  }
  return low;
}
