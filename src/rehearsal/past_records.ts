/**
 * The records of checks as they were at a time in the past: each result of their journals is decided on again, with the
 * silences of that time, and with what the channels had really been sent by then.
 */
import { isExcluded } from "../engine/channel_filters.ts";
import { decide, type Decided } from "../engine/decide.ts";
import type { PastOutbox } from "../engine/past_outbox.ts";
import { NOT_SENT } from "../engine/why.ts";
import { type Check, checkResult } from "../domain/check.ts";
import type { CheckJournal, JournalRow } from "../domain/check_journal.ts";
import type { Silence } from "../domain/outbox.ts";
import type { CheckRecord, ConditionChange } from "../domain/store.ts";
import { isAfterGapAt, journalToleranceMs, timeOf } from "../state/journal.ts";
import { newRecord } from "../state/record_cache.ts";
import { nextRunAfter, withOverdue } from "../scheduler/next_run.ts";
import { afterSkipped, quietUntilMs } from "./skipped_runs.ts";

export interface PastOptions {
  /** Those of the check and of those that it depends on. */
  readonly journals: readonly CheckJournal[];
  /** Of the check: they have the exact times of the runs that confirmed something. */
  readonly changes: readonly Pick<ConditionChange, "atMs">[];
  /** Those that applied at any time. */
  readonly silences: readonly Silence[];
  /** Those that run, by name. */
  readonly running: ReadonlyMap<string, Check>;
  /** Of the check; moves on with its results. */
  readonly outbox: PastOutbox;
}

/** Moves on in time only. */
export class PastRecords {
  readonly #check: Check;
  readonly #options: PastOptions;
  /** By name. */
  readonly #tapes = new Map<string, Tape>();

  constructor(check: Check, options: PastOptions) {
    this.#check = check;
    this.#options = options;
    for (const { name, rows } of options.journals) {
      const exact = name === check.name ? exactTimes(rows, options.changes) : NO_TIMES;
      this.#tapes.set(name, { rows, exact, row: 0, run: 0, record: null });
    }
  }

  /** Returns the record of the check, or of one that it depends on, at a time; `null`: it never ran until then. */
  recordAt(name: string, atMs: number): CheckRecord | null {
    const tape = this.#tapes.get(name);
    const found = name === this.#check.name ? this.#check : this.#options.running.get(name);
    // They are not explained.
    const check = found === undefined ? undefined : { ...found, reminders: false as const };
    if (tape === undefined || check === undefined) return null;
    for (let nowMs = nextMs(tape); nowMs <= atMs; nowMs = nextMs(tape)) {
      this.#take(tape, check, { nowMs, untilMs: atMs });
    }
    return tape.record;
  }

  /** Decides on the next result, and adds those after it, until a time, that only come again. */
  #take(tape: Tape, check: Check, { nowMs, untilMs }: { readonly nowMs: number; readonly untilMs: number }) {
    const row = tape.rows[tape.row];
    if (row === undefined) return;
    const entry = this.#decide(tape, check, { row, nowMs });
    tape.record = entry.record;
    step(tape);
    if (row.gap === "each" || row.awaits !== null || check.dependsOn.length > 0 && row.condition !== "ok") {
      return;
    }
    const { silences } = this.#options;
    const quietMs = Math.min(quietUntilMs(check, entry, { silences, nowMs }), untilMs + 1);
    let [count, lastMs] = [0, nowMs];
    while (tape.rows[tape.row] === row && nextMs(tape) < quietMs) {
      lastMs = nextMs(tape);
      count++;
      step(tape);
    }
    if (count === 0) return;
    const { condition: state } = tape.record;
    const { atMs } = nextRunAfter(check, { state, plannedMs: lastMs, nowMs: lastMs });
    tape.record = afterSkipped(check, tape.record, { count, lastMs, nextMs: atMs });
  }

  #decide(
    tape: Tape,
    check: Check,
    { row, nowMs }: { readonly row: JournalRow; readonly nowMs: number },
  ): Decided {
    const { silences, running, outbox } = this.#options;
    const { name } = check;
    const isMain = name === this.#check.name;
    const before = tape.record ?? newRecord(name, nowMs);
    // What this result led to is not known to it.
    if (isMain) outbox.advance(nowMs - 1);
    const { condition, output, awaits } = row;
    const entry = decide(before, check, {
      ...NOT_SENT,
      nowMs,
      silences: silences.filter(({ fromMs }) => fromMs <= nowMs),
      // The condition of those that it depends on is that of their results alone.
      running: isMain ? running : new Map(),
      stateOf: (other) =>
        other === name
          ? before.condition
          : (this.recordAt(other, nowMs) ?? newRecord(other, nowMs)).condition,
      lastNotifiedOf: isMain ? (channel) => outbox.lastNotifiedOf(name, channel) : null,
    }, {
      result: {
        ...checkResult(condition, output),
        ...awaits !== null && { awaits },
        check,
        startedAtMs: nowMs,
        durationMs: 0,
      },
      isAfterGap: isAfterGapAt(row, tape.run),
      isInterrupted: row.isInterrupted && tape.run === 0,
      plan: (state) => withOverdue(check, state, nextRunAfter(check, { state, plannedMs: nowMs, nowMs })),
    });
    for (const queued of entry.queued) {
      const channel = check.notifications.find(({ key }) => key === queued.channelKey);
      if (channel !== undefined && isExcluded(channel, queued)) outbox.leaveOut(queued);
    }
    return entry;
  }
}

/** The times of some runs, by their row and their place in it. */
type ExactTimes = ReadonlyMap<number, ReadonlyMap<number, number>>;

const NO_TIMES: ExactTimes = new Map();

/** The journal of a check, as far as it was played. */
interface Tape {
  readonly rows: readonly JournalRow[];
  readonly exact: ExactTimes;
  /** The next run. */
  row: number;
  run: number;
  record: CheckRecord | null;
}

/** The time of the next run; `Infinity`: there is none. */
function nextMs({ rows, exact, row, run }: Tape): number {
  const next = rows[row];
  return next === undefined ? Infinity : exact.get(row)?.get(run) ?? timeOf(next, run);
}

function step(tape: Tape): void {
  tape.run++;
  if (tape.run < (tape.rows[tape.row]?.runs ?? 0)) return;
  tape.row++;
  tape.run = 0;
}

/** Returns the times of the runs within rows that changed the confirmed condition. */
function exactTimes(
  rows: readonly JournalRow[],
  changes: readonly Pick<ConditionChange, "atMs">[],
): ExactTimes {
  const times = new Map<number, Map<number, number>>();
  for (const { atMs } of changes) {
    const place = rows.findIndex(({ firstMs, lastMs }) => firstMs < atMs && atMs < lastMs);
    const row = rows[place];
    if (row === undefined) continue;
    const run = Math.round((atMs - row.firstMs) / row.intervalMs);
    const isRun = run > 0 && run < row.runs - 1 &&
      Math.abs(timeOf(row, run) - atMs) <= journalToleranceMs(row);
    if (isRun) times.getOrInsertComputed(place, () => new Map()).set(run, Math.floor(atMs));
  }
  return times;
}
