/**
 * What the monitor remembers while it runs, and keeps: one record a check. Results go in, reports come out, and
 * what changed is written to the store in batches; a change of a settled condition is written at once.
 *
 * Invariant: a report that `settle` answers is already kept, or the store cannot keep anything just now (a full
 * disk); then it is kept as soon as the store can.
 */
import { initialState, transition } from "./condition/transition.ts";
import type { Check } from "./domain/check.ts";
import type { Hold } from "./domain/condition_state.ts";
import type { Report } from "./domain/report.ts";
import type { Result } from "./domain/result.ts";
import { type CheckRecord, type CheckUpdate, type Store, StoreError } from "./domain/store.ts";

/** Where a ledger keeps things, and whom it tells of trouble. */
export interface LedgerOptions {
  readonly store: Store;
  /** Told once when the store stops taking anything, with its error, and once when it takes again, with `null`. */
  onTrouble(error: StoreError | null): void;
  /** Opens the store anew after it turned out damaged; the old file is set aside. */
  reopen(error: StoreError): Promise<Store>;
}

/** What is the case when a result is entered. */
export interface EntryOptions {
  /** When the run ended, wall time. */
  readonly nowMs: number;
  readonly held: Hold | null;
  /** When the check runs next, given the condition state after this result. */
  plan(record: CheckRecord): { readonly atMs: number; readonly intervalMs: number; readonly missed: number };
}

/** What a result led to. */
export interface Entry {
  readonly record: CheckRecord;
  /** Observations in a row at least as bad as this one; for `ok`: in a row. */
  readonly occurrences: number;
  /** What is to be told, if anything. */
  readonly report: Report | null;
}

/** See the top of the file. */
export interface Ledger {
  /** What is known of a check; a fresh record when it was never observed. */
  recordOf(name: string, nowMs: number): CheckRecord;
  /** Enters a result. What it changes waits for `flush`, which is urgent when {@linkcode Ledger.isUrgent} says so. */
  enter(result: Result, options: EntryOptions): Entry;
  /** Whether a change of a settled condition, or a report, waits to be written. */
  readonly isUrgent: boolean;
  /** How many updates wait to be written. */
  readonly waiting: number;
  /** Writes what waits. A store that cannot take it is told of, and tried again at the next call. */
  flush(): Promise<void>;
  /** Notes that the document has these checks now, and forgets what is too old. */
  tidy(checks: readonly Check[], nowMs: number): Promise<void>;
}

/** More than so many waiting updates are merged: the roll-ups of an outage of the store are given up first. */
const WAITING_MAX = 10_000;

/** Reads the store and makes its ledger. */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const { onTrouble } = options;
  let store = options.store;
  const records = new Map<string, CheckRecord>();
  for (const record of await store.records()) records.set(record.name, record);
  let waiting: CheckUpdate[] = [];
  let isUrgent = false;
  let isInTrouble = false;
  let writing: Promise<void> = Promise.resolve();

  const recordOf = (name: string, nowMs: number): CheckRecord =>
    records.get(name) ?? {
      name,
      condition: initialState(),
      last: null,
      nextRunAtMs: null,
      intervalMs: 0,
      missedRuns: 0,
      seenAtMs: nowMs,
    };

  const write = async (): Promise<void> => {
    if (waiting.length === 0) return;
    const batch = waiting;
    const wasUrgent = isUrgent;
    waiting = [];
    isUrgent = false;
    try {
      await store.save(batch);
      if (isInTrouble) onTrouble(null);
      isInTrouble = false;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      waiting = mergeUpdates([...batch, ...waiting]);
      isUrgent ||= wasUrgent;
      if (!isInTrouble) onTrouble(error);
      isInTrouble = true;
      if (error.failure === "damaged") {
        store = await options.reopen(error);
        waiting = [...records.values()].map((record) => ({ record, rollup: null, change: null }));
      }
    }
  };

  return {
    recordOf,
    enter: (result, entryOptions) => {
      const entry = enterResult(recordOf(result.check.name, entryOptions.nowMs), result, entryOptions);
      records.set(entry.record.name, entry.record);
      waiting.push(entry.update);
      if (entry.update.change !== null || entry.report !== null) isUrgent = true;
      return entry;
    },
    get isUrgent() {
      return isUrgent;
    },
    get waiting() {
      return waiting.length;
    },
    flush: () => writing = writing.then(write),
    tidy: async (checks, nowMs) => {
      for (const check of checks) {
        const record = records.get(check.name);
        if (record === undefined) continue;
        const seen = { ...record, seenAtMs: nowMs };
        records.set(check.name, seen);
        waiting.push({ record: seen, rollup: null, change: null });
      }
      await (writing = writing.then(write));
      try {
        await store.prune(nowMs);
      } catch (error) {
        // What is too old can wait; a store that cannot write is told of when something new is to be kept.
        if (!(error instanceof StoreError)) throw error;
      }
    },
  };
}

interface EnteredResult extends Entry {
  readonly update: CheckUpdate;
}

function enterResult(before: CheckRecord, result: Result, options: EntryOptions): EnteredResult {
  const { nowMs, held } = options;
  const { check, condition, output, detail, performanceData, startedAtMs, durationMs } = result;
  const { state, occurrences, change, verdict } = transition(check, before.condition, {
    condition,
    held,
    nowMs,
  });
  const observed: CheckRecord = {
    ...before,
    condition: state,
    last: { condition, output, detail, performanceData, startedAtMs, durationMs },
    seenAtMs: nowMs,
  };
  const plan = options.plan(observed);
  const record: CheckRecord = {
    ...observed,
    nextRunAtMs: plan.atMs,
    intervalMs: plan.intervalMs,
    missedRuns: before.missedRuns + plan.missed,
  };
  const rollup = {
    atMs: nowMs,
    condition,
    durationMs,
    lastedMs: lastedMs(before, nowMs),
    lasted: before.condition.settled,
  };
  const report: Report | null = verdict.kind !== "report" ? null : {
    check: check.name,
    title: check.title ?? null,
    event: verdict.event,
    condition: verdict.condition,
    previous: verdict.previous,
    output,
    detail,
    problemBeganAtMs: verdict.problemBeganAtMs,
    decidedAtMs: nowMs,
    occurrences,
    nextRunAtMs: plan.atMs,
  };
  const moved = change === null
    ? null
    : { name: check.name, atMs: nowMs, from: change.from, to: change.to, output };
  return { record, occurrences, report, update: { record, rollup, change: moved } };
}

/** How long the condition settled before has lasted; at most two intervals, since beyond that nobody looked. */
function lastedMs(before: CheckRecord, nowMs: number): number {
  if (before.condition.observedAtMs === null) return 0;
  return Math.max(0, Math.min(nowMs - before.condition.observedAtMs, 2 * before.intervalMs));
}

/** Keeps every change, and for each check only its last record. */
function mergeUpdates(updates: CheckUpdate[]): CheckUpdate[] {
  if (updates.length <= WAITING_MAX) return updates;
  const last = new Map(updates.map((update) => [update.record.name, update.record]));
  const changes = updates.filter((update) => update.change !== null).slice(-WAITING_MAX / 2);
  return [
    ...changes,
    ...[...last.values()].map((record) => ({ record, rollup: null, change: null })),
  ];
}
