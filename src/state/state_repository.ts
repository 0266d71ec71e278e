/**
 * What the monitor remembers while it runs, and keeps: one record a check. Results go in, notifications come out, and
 * what changed is written to the store in batches; a change of a confirmed condition is written at once.
 *
 * Invariant: what was entered is kept once `flush` resolves, or the store cannot keep anything just now (a full
 * disk); then it waits here, and every change of a confirmed condition is kept, once, when the store can.
 */
import {
  type Circumstances,
  initialState,
  review,
  transition,
  type Verdict,
} from "../condition/transition.ts";
import type { Check } from "../domain/check.ts";
import type { Condition } from "../domain/condition.ts";
import type { Suppression } from "../domain/condition_state.ts";
import type { OutboxChange, QueuedNotification } from "../domain/outbox.ts";
import type { Notification } from "../domain/notification.ts";
import type { Result } from "../domain/result.ts";
import {
  type CheckRecord,
  type CheckUpdate,
  type PruneProgress,
  type RollupEntry,
  type Store,
  StoreError,
} from "../domain/store.ts";

/** Where a ledger keeps things, and whom it tells of trouble. */
export interface LedgerOptions {
  /** Where records come from and go to; whoever opened it closes it. */
  readonly store: Store;
  /** Told once when the store stops taking anything, with its error, and once when it takes again, with `null`. */
  onTrouble(error: StoreError | null): void;
  /** Opens the store anew after it turned out damaged; the old file is set aside. */
  reopen(error: StoreError): Promise<Store>;
  /** A new notification's id; unique. */
  newId(): string;
  /** The machine that notifications are decided on. */
  readonly hostName: string;
}

/** What is the case when a result is entered. */
export interface EntryOptions {
  /** When the run ended, wall time. */
  readonly nowMs: number;
  /** What holds the check's reports back; `null`: nothing does. */
  readonly suppressedBy: Suppression | null;
  /** What each channel of the check knows, see {@linkcode Circumstances}. @default what was reported last */
  readonly known?: readonly Condition[];
  /** How long after its planned time the run began; `null` where it was not planned. @default null */
  readonly lateMs?: number | null;
  /** The outbox rows of a report that is due. */
  queue(notification: Notification): readonly QueuedNotification[];
  /** When the check runs next, given the condition state after this result. */
  plan(record: CheckRecord): { readonly atMs: number; readonly intervalMs: number; readonly missed: number };
}

/** What a result, or the end of a hold, led to. */
export interface Entry {
  /** The check's record after the result, the next run planned. */
  readonly record: CheckRecord;
  /** Observations in a row at least as bad as this one; for `ok`: in a row. */
  readonly occurrences: number;
  /** What is to be told, if anything. */
  readonly notification: Notification | null;
  /** The report's way to each channel; to be sent once they are kept, or the store cannot keep them. */
  readonly queued: readonly QueuedNotification[];
  /** What suppresses a report that is due; `null`: nothing does, or none is due but a reminder. */
  readonly suppressed: Suppression | null;
}

/** See the top of the file. */
export interface Ledger {
  /** The store in use; another one after a damaged one was replaced. */
  readonly store: Store;
  /** What is known of a check; a fresh record when it was never observed. */
  recordOf(name: string, nowMs: number): CheckRecord;
  /** Enters a result. What it changes waits for `flush`, which is urgent when {@linkcode Ledger.isUrgent} says so. */
  enter(result: Result, options: EntryOptions): Entry;
  /**
   * Decides again, without a new result, whether to tell what was suppressed. What it changes waits for `flush`, as
   * with `enter`; nothing changes where there is nothing to tell.
   */
  review(check: Check, options: Omit<EntryOptions, "plan">): Entry;
  /** Notes when a check that was never observed is to run; kept with what `flush` writes next. */
  plan(name: string, atMs: number, nowMs: number): void;
  /**
   * Whether something is to be written now rather than with what comes next: a change of a confirmed condition, a
   * notification, or very many updates. Never while the store takes nothing: trying again with each result would hold up
   * everything else.
   */
  readonly isUrgent: boolean;
  /** Whether the store did not take what it was given last. */
  readonly isInTrouble: boolean;
  /**
   * Tells what rows have become that perhaps are not kept yet, so that they are not kept as they were. A row that is
   * done is kept as it was at its last attempt, until the store takes that it is done together with what its channel
   * knows now: whatever ends the process in between, it is sent again as the twin that it is.
   */
  amend(changed: OutboxChange["changed"]): void;
  /** How many updates wait to be written. */
  readonly waiting: number;
  /** Writes what waits. A store that cannot take it is told of, and tried again at the next call. */
  flush(): Promise<void>;
  /**
   * Notes that the config has these checks now, and forgets some of what is too old; what is left of that is for
   * another call, when there is time.
   */
  tidy(checks: readonly Check[], nowMs: number): Promise<PruneProgress>;
  /** What a process that ends now does: writes what waits, and tidies to the end where this hour nobody did so. */
  finish(checks: readonly Check[], nowMs: number): Promise<void>;
}

/** So many waiting updates are worth a write of their own. */
const MANY = 500;
/** When more than so many updates wait, their roll-ups are given up. */
const WAITING_MAX = 10_000;
/** More than so many waiting changes are not kept in memory; the oldest go. */
const CHANGES_MAX = 100_000;
const HOUR_MS = 3_600_000;
/** Where nothing else changes a record, the time at which its check was last seen is written so often. */
const SEEN_EVERY_MS = 24 * HOUR_MS;

/**
 * Reads the store and makes its ledger.
 *
 * @throws {StoreError} If the store cannot be read, nor a fresh one be opened in the place of a damaged one.
 */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const { onTrouble } = options;
  const { store: firstStore, kept } = await readStore(options);
  let store = firstStore;
  const records = new Map(kept.map((record) => [record.name, record]));
  const lastObservedAtMs = kept.reduce((ms, { condition }) => Math.max(ms, condition.observedAtMs ?? 0), 0);
  let waiting: CheckUpdate[] = [];
  /** What rows have become since they were entered. */
  const amended = new Map<string, QueuedNotification>();
  let hasNews = false;
  let isInTrouble = false;
  /** Whether what is too old is forgotten step by step just now. */
  let isTidying = false;
  let damage: StoreError | null = null;
  let writing: Promise<void> = Promise.resolve();
  let queued: Promise<void> | null = null;

  const recordOf = (name: string, nowMs: number): CheckRecord =>
    records.get(name) ?? {
      name,
      condition: initialState(),
      last: null,
      nextRunAtMs: null,
      intervalMs: 0,
      missedRuns: 0,
      runs: { ok: 0, unknown: 0, warning: 0, critical: 0 },
      durationTotalMs: 0,
      seenAtMs: nowMs,
    };

  const write = async (isSecondTry = false): Promise<void> => {
    if (waiting.length === 0) {
      amended.clear();
      return;
    }
    let batch = waiting.map((update) => amendRows(update, amended));
    waiting = [];
    hasNews = false;
    try {
      if (damage !== null) {
        store = await options.reopen(damage);
        damage = null;
        // A fresh store gets everything that is known, not only what the damaged one could not take.
        batch = [...[...records.values()].map(bareUpdate), ...batch];
      }
      await store.save(batch);
      amended.clear();
      if (isInTrouble) onTrouble(null);
      isInTrouble = false;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      waiting = mergeUpdates([...batch, ...waiting]);
      if (!isInTrouble) onTrouble(error);
      isInTrouble = true;
      if (error.failure !== "damaged") return;
      damage = error;
      // A fresh file takes it at once; where none can be made just now, the next call tries again.
      if (!isSecondTry) await write(true);
    }
  };
  const prune = async (nowMs: number): Promise<PruneProgress> => {
    try {
      const progress = await store.prune(nowMs);
      for (const name of progress.forgotten) {
        // What was entered meanwhile is on its way to the store.
        if (isLongUnseen(recordOf(name, nowMs), nowMs)) records.delete(name);
      }
      return progress;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      // What is too old can wait; a store that cannot write is told of when something new is to be kept.
      if (error.failure === "damaged") {
        damage ??= error;
        if (!isInTrouble) onTrouble(error);
        isInTrouble = true;
      }
      return { finished: true, forgotten: [] };
    }
  };
  const noteSeen = (checks: readonly Check[], nowMs: number): void => {
    const names = new Set(checks.map((check) => check.name));
    for (const [name, record] of records) {
      if (!names.has(name) || !isLongUnseen(record, nowMs)) continue;
      const seen = { ...record, seenAtMs: nowMs };
      records.set(name, seen);
      waiting.push(bareUpdate(seen));
    }
  };
  /** Who asks while a write has not begun yet is served by that one. */
  const flush = (): Promise<void> => {
    queued ??= writing = writing.then(() => {
      queued = null;
      return write();
    });
    return queued;
  };
  const tidy = async (checks: readonly Check[], nowMs: number): Promise<PruneProgress> => {
    // To go through all checks at every step would cost more than the steps do.
    if (!isTidying) noteSeen(checks, nowMs);
    await flush();
    const progress = await prune(nowMs);
    isTidying = !progress.finished;
    return progress;
  };

  return {
    get store() {
      return store;
    },
    recordOf,
    amend: (changed) => {
      for (const row of changed) amended.set(row.id, row);
    },
    enter: (result, entryOptions) => {
      const before = recordOf(result.check.name, entryOptions.nowMs);
      const entry = enterResult(before, result, { ...entryOptions, ...options });
      records.set(entry.record.name, entry.record);
      waiting.push(entry.update);
      if (entry.update.change !== null || entry.notification !== null) hasNews = true;
      return entry;
    },
    review: (check, reviewOptions) => {
      const entry = reviewRecord(recordOf(check.name, reviewOptions.nowMs), check, {
        ...reviewOptions,
        ...options,
      });
      if (entry.notification === null) return entry;
      records.set(entry.record.name, entry.record);
      waiting.push(entry.update);
      hasNews = true;
      return entry;
    },
    plan: (name, atMs, nowMs) => {
      const record = { ...recordOf(name, nowMs), nextRunAtMs: atMs };
      records.set(name, record);
      waiting.push(bareUpdate(record));
    },
    get isUrgent() {
      return !isInTrouble && (hasNews || waiting.length >= MANY);
    },
    get isInTrouble() {
      return isInTrouble;
    },
    get waiting() {
      return waiting.length;
    },
    flush,
    tidy,
    finish: async (checks, nowMs) => {
      await flush();
      if (hourOf(lastObservedAtMs) === hourOf(nowMs)) return;
      let progress = await tidy(checks, nowMs);
      while (!progress.finished) progress = await prune(nowMs);
    },
  };
}

/** Whether a check is to be noted as seen; one that was seen in the future was so by a wrong clock. */
function isLongUnseen({ seenAtMs }: CheckRecord, nowMs: number): boolean {
  return Math.abs(nowMs - seenAtMs) > SEEN_EVERY_MS;
}

/** Reads what is kept; a store that turns out damaged is replaced by a fresh one. */
async function readStore(
  { store, reopen }: LedgerOptions,
): Promise<{ readonly store: Store; readonly kept: readonly CheckRecord[] }> {
  try {
    return { store, kept: await store.records() };
  } catch (error) {
    if (!(error instanceof StoreError) || error.failure !== "damaged") throw error;
    const fresh = await reopen(error);
    return { store: fresh, kept: await fresh.records() };
  }
}

function hourOf(timeMs: number): number {
  return Math.floor(timeMs / HOUR_MS);
}

type ReportOptions = Pick<LedgerOptions, "newId" | "hostName">;

interface EnteredResult extends Entry {
  readonly update: CheckUpdate;
}

function enterResult(
  before: CheckRecord,
  result: Result,
  options: EntryOptions & ReportOptions,
): EnteredResult {
  const { nowMs } = options;
  const { check, condition, output, detail, performanceData, startedAtMs, durationMs } = result;
  const metrics = Object.fromEntries(
    Object.entries(result.metrics).filter(([, value]) => Number.isFinite(value)),
  );
  const lateMs = options.lateMs ?? null;
  const { state, occurrences, change, verdict } = transition(check, before.condition, {
    ...circumstancesOf(options),
    condition,
  });
  const observed: CheckRecord = {
    ...before,
    condition: state,
    last: { condition, output, detail, performanceData, metrics, startedAtMs, durationMs, lateMs },
    runs: { ...before.runs, [condition]: before.runs[condition] + 1 },
    durationTotalMs: before.durationTotalMs + durationMs,
    seenAtMs: nowMs,
  };
  const plan = options.plan(observed);
  const record: CheckRecord = {
    ...observed,
    nextRunAtMs: plan.atMs,
    intervalMs: plan.intervalMs,
    missedRuns: before.missedRuns + plan.missed,
  };
  const rollup: RollupEntry = {
    atMs: nowMs,
    condition,
    durationMs,
    lastedMs: lastedMs(before, nowMs),
    lasted: before.condition.confirmed,
    failedStreak: state.atLeast.unknown,
  };
  const notification = verdict.kind === "notify"
    ? notificationOf(verdict, { record, check, occurrences, options })
    : null;
  const queued = notification === null ? [] : options.queue(notification);
  const moved = change === null
    ? null
    : { name: check.name, atMs: nowMs, from: change.from, to: change.to, output };
  const update: CheckUpdate = { record, rollup, change: moved, queued };
  return { record, occurrences, notification, queued, suppressed: suppressionIn(verdict), update };
}

function reviewRecord(
  before: CheckRecord,
  check: Check,
  options: Omit<EntryOptions, "plan"> & ReportOptions,
): EnteredResult {
  const { state, occurrences, verdict } = review(before.condition, circumstancesOf(options));
  const record: CheckRecord = verdict.kind === "notify" ? { ...before, condition: state } : before;
  const notification = verdict.kind === "notify"
    ? notificationOf(verdict, { record, check, occurrences, options })
    : null;
  const queued = notification === null ? [] : options.queue(notification);
  const update: CheckUpdate = { record, rollup: null, change: null, queued };
  return { record, occurrences, notification, queued, suppressed: suppressionIn(verdict), update };
}

/** A reminder that is suppressed is none that is due later. */
function suppressionIn(verdict: Verdict): Suppression | null {
  return verdict.kind === "suppressed" && verdict.event !== "reminder" ? verdict.suppressedBy : null;
}

function circumstancesOf({ suppressedBy, nowMs, known }: Omit<EntryOptions, "plan">): Circumstances {
  return { suppressedBy, nowMs, ...known !== undefined && { known } };
}

/** What a notification is made from besides the verdict; the record is that of after it. */
interface Decided {
  readonly record: CheckRecord;
  readonly check: Check;
  readonly occurrences: number;
  readonly options: ReportOptions & Pick<EntryOptions, "nowMs">;
}

function notificationOf(
  verdict: Extract<Verdict, { readonly kind: "notify" }>,
  { record, check, occurrences, options }: Decided,
): Notification {
  return {
    id: options.newId(),
    check: check.name,
    title: check.title ?? null,
    event: verdict.event,
    condition: verdict.condition,
    previous: verdict.previous,
    output: record.last?.output ?? "",
    detail: record.last?.detail ?? "",
    problemBeganAtMs: verdict.problemBeganAtMs,
    decidedAtMs: options.nowMs,
    occurrences,
    nextRunAtMs: record.nextRunAtMs ?? options.nowMs,
    hostName: options.hostName,
  };
}

/** How long the condition confirmed before has lasted; at most two intervals, since beyond that nobody looked. */
function lastedMs(before: CheckRecord, nowMs: number): number {
  if (before.condition.observedAtMs === null) return 0;
  return Math.max(0, Math.min(nowMs - before.condition.observedAtMs, 2 * before.intervalMs));
}

function amendRows(update: CheckUpdate, amended: ReadonlyMap<string, QueuedNotification>): CheckUpdate {
  if (!update.queued.some((row) => amended.has(row.id))) return update;
  return { ...update, queued: update.queued.map((row) => amended.get(row.id) ?? row) };
}

/** An update that brings nothing but the record. */
function bareUpdate(record: CheckRecord): CheckUpdate {
  return { record, rollup: null, change: null, queued: [] };
}

/**
 * What waits while the store takes nothing: every change, and of each check the last record alone, whose output may
 * be long. Roll-ups wait as well until there are too many.
 */
function mergeUpdates(updates: readonly CheckUpdate[]): CheckUpdate[] {
  const last = new Map(updates.map(({ record }) => [record.name, record]));
  const lastOf = (record: CheckRecord): CheckRecord => last.get(record.name) ?? record;
  const isFew = updates.length <= WAITING_MAX;
  const kept = updates
    .filter(({ rollup, change, queued }) =>
      change !== null || queued.length > 0 || (isFew && rollup !== null)
    )
    .slice(-CHANGES_MAX)
    .map(({ record, rollup, change, queued }) => ({
      record: lastOf(record),
      rollup: isFew ? rollup : null,
      change,
      queued,
    }));
  for (const { record } of kept) last.delete(record.name);
  return [...kept, ...[...last.values()].map(bareUpdate)];
}
