/**
 * The sender: takes the rows of the outbox to their channels, apart from the checks. Each channel is a lane of its
 * own; a lane that hangs or waits holds up no other.
 *
 * Invariant: a row is removed only once its channel has taken it, or nobody needs it any more. Before an attempt
 * the rows are marked with the id of their message, and while it may have arrived they go again under that id.
 */
import type { ChannelCount } from "./domain/channel_count.ts";
import { badness } from "./domain/condition.ts";
import type { Channel } from "./domain/channel.ts";
import type { Delivery, Message, MessageItem } from "./domain/delivery.ts";
import type { OutboxChange, OutboxRow, Told } from "./domain/outbox.ts";
import type { Clock } from "./domain/system.ts";
import { messageIdOf } from "./message_id.ts";
import { createScheduleTime } from "./schedule_time.ts";

/** Retries back off from 10 s to 15 min. */
const BACK_OFF_MS_MIN = 10_000;
const BACK_OFF_MS_MAX = 15 * 60_000;
/** What a channel refuses for good is tried hourly, since someone may mend it. */
const REFUSED_RETRY_MS = 3_600_000;
/** A lane in back-off tries again this soon for a row that came later. */
const HELD_MS_MAX = 60_000;
/** After so long a row is given up, once what it tells no longer holds. */
const GIVE_UP_MS = 24 * 3_600_000;
/** More items in one message are of no use to anybody, and a receiver may refuse them. */
const ITEMS_MAX = 1000;

/** Something that happened to rows, for whoever tells it. */
export type OutboxEvent =
  | { readonly event: "delivered"; readonly rows: readonly OutboxRow[]; readonly note: string | null }
  /** The first failure of a lane since it last worked. */
  | { readonly event: "failed"; readonly rows: readonly OutboxRow[]; readonly reason: string }
  | { readonly event: "given_up"; readonly rows: readonly OutboxRow[]; readonly reason: string };

/** What the sender needs to know of a channel. */
export interface LaneChannel {
  /** The channel as the document has it now. */
  readonly channel: Channel;
  /** Whether everything that waits goes as one message. */
  readonly gathers: boolean;
  /** Older rows are given up unsent; milliseconds, `null`: none is too old. */
  readonly staleAfterMs: number | null;
  /** The time limit of one attempt, in milliseconds. */
  readonly attemptMs: number;
}

/** What a sender needs. */
export interface OutboxOptions {
  /** Wall time for the rows, timers for the attempts. */
  readonly clock: Clock;
  /** 0 or more, below 1. */
  random(): number;
  /** The channel of a key in the present document; `null` when the document has it no more. */
  channelOf(key: string): LaneChannel | null;
  /** Hands a message to a channel; throws only when the signal aborts, and for bugs. */
  deliver(message: Message, channel: Channel, signal: AbortSignal): Promise<Delivery>;
  /** Keeps what changed. Rejects never: a store in trouble is the ledger's business, and it tries again. */
  keep(change: OutboxChange): Promise<void>;
  /** Whether what a report tells still holds. */
  holds(row: OutboxRow): boolean;
  /** Told of what becomes of rows. */
  onEvent(event: OutboxEvent): void;
  /** Told of what must not happen; the lane goes on. */
  onBug(error: unknown): void;
  /** How long to wait for more after the first row of a lane, so that what fails together is told together. */
  readonly gatherMs: number;
}

/** See the top of the file. */
export interface Outbox {
  /** Takes rows that are kept, or that the store cannot keep just now. */
  add(rows: readonly OutboxRow[]): void;
  /** Tries every row once, whatever its time, and comes back when each was tried or time is up. */
  drain(deadlineMs: number): Promise<void>;
  /** What waits, refused and given up rows included, in order. */
  readonly rows: readonly OutboxRow[];
  /** What was told of a check's problem over a channel. */
  toldOf(check: string, channelKey: string): Told | null;
  /** Starts nothing more and ends what is under way. */
  stop(): Promise<void>;
}

interface Lane {
  readonly key: string;
  rows: OutboxRow[];
  /** When the next attempt is; `null` when nothing waits. */
  timer: (() => void) | null;
  timerAtMs: number;
  sending: Promise<void> | null;
  failures: number;
  /** Whether its trouble was told. */
  isInTrouble: boolean;
}

/** Starts a sender with the rows and marks that were kept. */
export function startOutbox(
  kept: { readonly rows: readonly OutboxRow[]; readonly told: readonly Told[] },
  options: OutboxOptions,
): Outbox {
  const { clock } = options;
  const time = createScheduleTime(clock);
  const lanes = new Map<string, Lane>();
  const told = new Map<string, Told>();
  const givenUp = new Map<string, OutboxRow>();
  const stopping = new AbortController();
  /** One for each attempt that is under way. */
  const attempts = new Set<AbortController>();
  for (const mark of kept.told) told.set(toldKey(mark.check, mark.channelKey), mark);

  const laneOf = (key: string): Lane => {
    let lane = lanes.get(key);
    if (lane === undefined) {
      lane = {
        key,
        rows: [],
        timer: null,
        timerAtMs: Infinity,
        sending: null,
        failures: 0,
        isInTrouble: false,
      };
      lanes.set(key, lane);
    }
    return lane;
  };

  /** What waits does not wait longer because the wall clock was set back; where it was set on, or the machine slept, less. */
  const noticeStep = (): void => {
    const stepMs = Math.min(0, time.catchUp());
    if (stepMs === 0) return;
    for (const lane of lanes.values()) {
      lane.timerAtMs += stepMs;
      lane.rows = lane.rows.map((row) => ({ ...row, nextAttemptAtMs: row.nextAttemptAtMs + stepMs }));
    }
  };

  const wakeAt = (lane: Lane, atMs: number): void => {
    if (stopping.signal.aborted || atMs >= lane.timerAtMs) return;
    lane.timer?.();
    lane.timerAtMs = atMs;
    lane.timer = clock.after(Math.max(0, atMs - clock.wallMs()), () => {
      lane.timer = null;
      lane.timerAtMs = Infinity;
      work(lane);
    });
  };

  const add = (rows: readonly OutboxRow[]): void => {
    noticeStep();
    const nowMs = clock.wallMs();
    for (const row of rows) {
      if (row.state === "given_up") {
        givenUp.set(row.id, row);
        continue;
      }
      const lane = laneOf(row.channelKey);
      // What a process before this one has said is not said again.
      if (row.firstFailedAtMs !== null) lane.isInTrouble = true;
      if (row.state === "waiting") lane.failures = Math.max(lane.failures, row.attempts);
      const soonMs = lane.failures === 0 ? nowMs + options.gatherMs : nowMs + HELD_MS_MAX;
      const isNew = row.state === "waiting" && row.attempts === 0;
      const nextAttemptAtMs = isNew ? soonMs : keptTime(row.nextAttemptAtMs, nowMs);
      lane.rows.push({ ...row, nextAttemptAtMs });
      wakeAt(lane, nextAttemptAtMs);
    }
  };

  /** Sends what is due in a lane, one message after another. */
  const work = (lane: Lane, { force = false } = {}): Promise<void> => {
    if (lane.sending !== null || stopping.signal.aborted) return lane.sending ?? Promise.resolve();
    noticeStep();
    lane.sending = sendDue(lane, force).catch(options.onBug).finally(() => {
      lane.sending = null;
      noticeStep();
      const next = lane.rows.reduce((least, row) => Math.min(least, row.nextAttemptAtMs), Infinity);
      if (Number.isFinite(next)) wakeAt(lane, Math.max(next, clock.wallMs() + 1));
    });
    return lane.sending;
  };

  const sendDue = async (lane: Lane, force: boolean): Promise<void> => {
    const tried = new Set<string>();
    while (!stopping.signal.aborted) {
      const target = options.channelOf(lane.key);
      if (target === null) return await giveUp(lane, lane.rows, "the channel is no longer in the document");
      await dropStale(lane, target);
      const batch = nextBatch(lane, { target, tried, nowMs: clock.wallMs(), force });
      if (batch === null) return;
      for (const row of batch) tried.add(row.id);
      const goesOn = await attempt(lane, batch, target);
      if (!goesOn) return;
    }
  };

  const dropStale = async (lane: Lane, { staleAfterMs }: LaneChannel): Promise<void> => {
    if (staleAfterMs === null) return;
    const nowMs = clock.wallMs();
    const stale = lane.rows.filter((row) => nowMs - row.report.decidedAtMs > staleAfterMs);
    if (stale.length > 0) await giveUp(lane, stale, "it was too old to be shown");
  };

  /** One message: marks its rows, hands it over, and keeps what came of it. Answers whether the lane goes on. */
  const attempt = async (lane: Lane, batch: readonly OutboxRow[], target: LaneChannel): Promise<boolean> => {
    const messageId = batch[0]?.messageId ?? messageIdOf(batch.map((row) => row.report.id));
    const nextAttemptAtMs = clock.wallMs();
    const marked = batch.map((row) => ({ ...row, messageId, attempts: row.attempts + 1, nextAttemptAtMs }));
    const behind = lane.rows.filter((row) => !batch.includes(row));
    const mayHaveArrivedBefore = batch.some((row) => row.messageId !== null);
    replace(lane, marked);
    await options.keep({ changed: marked, removed: [], told: [], untold: [] });
    const delivery = await handOver(messageOf(messageId, marked, told), target);
    if (delivery === null) return false;
    // It may have taken long, and what follows goes by the present time.
    noticeStep();
    if (delivery.delivered) {
      await finish(lane, marked, messageId);
      options.onEvent({ event: "delivered", rows: marked, note: delivery.note });
      lane.failures = 0;
      lane.isInTrouble = false;
      return true;
    }
    // That it did not arrive this time tells nothing of the times before.
    const mayHaveArrived = delivery.mayHaveArrived || mayHaveArrivedBefore;
    return await noteFailure(lane, { rows: marked, behind, failure: { ...delivery, mayHaveArrived } });
  };

  const handOver = async (
    message: Message,
    { channel, attemptMs }: LaneChannel,
  ): Promise<Delivery | null> => {
    const abort = new AbortController();
    attempts.add(abort);
    const cancel = clock.after(attemptMs, () => abort.abort(new Error("Time is up")));
    try {
      return await options.deliver(message, channel, abort.signal);
    } catch (error) {
      if (stopping.signal.aborted) return null;
      if (!abort.signal.aborted) throw error;
      const reason = `no answer within ${attemptMs / 1000} s`;
      return { delivered: false, retryable: true, mayHaveArrived: true, reason, retryAfterMs: null };
    } finally {
      cancel();
      attempts.delete(abort);
    }
  };

  const finish = async (lane: Lane, rows: readonly OutboxRow[], messageId: string): Promise<void> => {
    remove(lane, rows);
    const marks: Told[] = [];
    const untold: { check: string; channelKey: string }[] = [];
    // In order: the last report of a check says what the channel knows of it.
    for (const { report, channelKey } of rows) {
      const key = toldKey(report.check, channelKey);
      if (report.event === "recovery") {
        told.delete(key);
        untold.push({ check: report.check, channelKey });
      } else {
        const first = told.get(key)?.messageId ?? messageId;
        const mark = { check: report.check, channelKey, messageId: first, condition: report.condition };
        told.set(key, mark);
        marks.push(mark);
      }
    }
    const known = marks.filter((mark) => told.get(toldKey(mark.check, mark.channelKey)) === mark);
    const counted = countOf(rows, { sent: rows.length, countedAtMs: clock.wallMs() });
    await options.keep({ changed: [], removed: rows.map((row) => row.id), told: known, untold, counted });
  };

  const noteFailure = async (
    lane: Lane,
    { rows, behind, failure }: FailedAttempt,
  ): Promise<boolean> => {
    const nowMs = clock.wallMs();
    const { reason, retryable } = failure;
    const old = rows.filter((row) => nowMs - row.report.decidedAtMs > GIVE_UP_MS && !options.holds(row));
    const kept = rows.filter((row) => !old.includes(row));
    if (retryable) lane.failures++;
    const waitMs = failure.retryAfterMs ??
      (retryable ? backOff(lane.failures, options.random()) : REFUSED_RETRY_MS);
    const failed = (row: OutboxRow): OutboxRow => ({
      ...row,
      state: retryable ? "waiting" : "refused",
      nextAttemptAtMs: nowMs + waitMs,
      lastFailure: reason,
      firstFailedAtMs: row.firstFailedAtMs ?? nowMs,
      messageId: failure.mayHaveArrived ? row.messageId : null,
    });
    // What came later of the same check is not to overtake what was refused.
    const checks = new Set(kept.map((row) => row.report.check));
    const later = retryable
      ? []
      : lane.rows.filter((row) => checks.has(row.report.check) && !rows.some(({ id }) => id === row.id));
    const changed = [...kept, ...later].map(failed);
    replace(lane, changed);
    // Behind a channel that is down everything waits as long; what came meanwhile a minute at most.
    if (retryable) holdBack(lane, { behind, untilMs: nowMs + waitMs, soonMs: nowMs + HELD_MS_MAX });
    const counted = countOf(rows, { failedAttempts: 1, countedAtMs: nowMs });
    await options.keep({ changed, removed: [], told: [], untold: [], counted });
    if (!lane.isInTrouble && changed.length > 0) options.onEvent({ event: "failed", rows: changed, reason });
    lane.isInTrouble = true;
    if (old.length > 0) await giveUp(lane, old, reason);
    // After a refusal the next message may be welcome; behind a server that is down it is not.
    return !retryable;
  };

  const giveUp = async (lane: Lane, rows: readonly OutboxRow[], reason: string): Promise<void> => {
    if (rows.length === 0) return;
    const nowMs = clock.wallMs();
    const changed = rows.map((row): OutboxRow => ({
      ...row,
      state: "given_up",
      nextAttemptAtMs: nowMs,
      lastFailure: reason,
      firstFailedAtMs: row.firstFailedAtMs ?? nowMs,
      messageId: null,
    }));
    remove(lane, rows);
    for (const row of changed) givenUp.set(row.id, row);
    const counted = countOf(rows, { givenUp: rows.length, countedAtMs: nowMs });
    await options.keep({ changed, removed: [], told: [], untold: [], counted });
    options.onEvent({ event: "given_up", rows: changed, reason });
  };

  const pending = (): readonly OutboxRow[] => [...lanes.values()].flatMap((lane) => lane.rows);
  add(kept.rows.toSorted((one, other) => one.sequence - other.sequence));
  return {
    add,
    drain: async (deadlineMs) => {
      const { promise: timeIsUp, resolve } = Promise.withResolvers<void>();
      const cancel = clock.after(Math.max(0, deadlineMs - clock.wallMs()), resolve);
      const all = Promise.all([...lanes.values()].map(async (lane) => {
        await lane.sending;
        await work(lane, { force: true });
      }));
      await Promise.race([all, timeIsUp]);
      cancel();
    },
    get rows() {
      return [...pending(), ...givenUp.values()].sort((one, other) => one.sequence - other.sequence);
    },
    toldOf: (check, channelKey) => told.get(toldKey(check, channelKey)) ?? null,
    stop: async () => {
      stopping.abort(new Error("Stopped"));
      for (const attempt of attempts) attempt.abort(new Error("Stopped"));
      for (const lane of lanes.values()) lane.timer?.();
      await Promise.all([...lanes.values()].map((lane) => lane.sending));
    },
  };
}

/** What rows of one channel add to its counts; nothing without rows. */
function countOf(
  [row]: readonly OutboxRow[],
  numbers: Partial<ChannelCount> & Pick<ChannelCount, "countedAtMs">,
): readonly ChannelCount[] {
  if (row === undefined) return [];
  const { channelKey, channelName } = row;
  return [{ channelKey, channelName, sent: 0, failedAttempts: 0, givenUp: 0, ...numbers }];
}

/** When a row is tried that was kept; nothing waits for longer than an hour, so what says so has seen another clock. */
function keptTime(nextAttemptAtMs: number, nowMs: number): number {
  return nextAttemptAtMs > nowMs + REFUSED_RETRY_MS ? nowMs : Math.max(nowMs, nextAttemptAtMs);
}

function toldKey(check: string, channelKey: string): string {
  return `${channelKey} ${check}`;
}

function replace(lane: Lane, rows: readonly OutboxRow[]): void {
  const byId = new Map(rows.map((row) => [row.id, row]));
  lane.rows = lane.rows.map((row) => byId.get(row.id) ?? row);
}

function remove(lane: Lane, rows: readonly OutboxRow[]): void {
  const ids = new Set(rows.map((row) => row.id));
  lane.rows = lane.rows.filter((row) => !ids.has(row.id));
}

/** Doubles from try to try, and spreads, so that many monitors do not come back in step. */
function backOff(failures: number, random: number): number {
  const full = Math.min(BACK_OFF_MS_MAX, BACK_OFF_MS_MIN * 2 ** Math.min(failures - 1, 20));
  return Math.round(full * (0.75 + random / 4));
}

interface FailedAttempt {
  readonly rows: readonly OutboxRow[];
  /** What else was in the lane when it began. */
  readonly behind: readonly OutboxRow[];
  readonly failure: Extract<Delivery, { delivered: false }>;
}

interface HoldBackOptions {
  readonly behind: readonly OutboxRow[];
  readonly untilMs: number;
  readonly soonMs: number;
}

/** Lets rows that were not tried wait for the channel; without that each of them would be a reason to try at once. */
function holdBack(lane: Lane, { behind, untilMs, soonMs }: HoldBackOptions): void {
  const ids = new Set(behind.map((row) => row.id));
  lane.rows = lane.rows.map((row) => {
    if (row.state !== "waiting") return row;
    const nextAttemptAtMs = ids.has(row.id) ? untilMs : Math.min(untilMs, soonMs);
    return row.nextAttemptAtMs >= nextAttemptAtMs ? row : { ...row, nextAttemptAtMs };
  });
}

interface BatchOptions {
  readonly target: LaneChannel;
  /** Rows that were tried in this round. */
  readonly tried: ReadonlySet<string>;
  readonly nowMs: number;
  readonly force: boolean;
}

/**
 * The rows of the next message. A message that may have arrived goes again as it was. Otherwise a gathering channel
 * takes everything that waits; any other one check's rows at a time, since a problem and its recovery that wait
 * together are told as one.
 */
function nextBatch(lane: Lane, { target, tried, nowMs, force }: BatchOptions): readonly OutboxRow[] | null {
  // What came of a check after it was refused in this round waits for the next one, to stay behind it.
  const refused = new Set(lane.rows.filter((row) => tried.has(row.id)).map((row) => row.report.check));
  const open = lane.rows.filter((row) => !refused.has(row.report.check));
  const isDue = (row: OutboxRow): boolean => force || row.nextAttemptAtMs <= nowMs;
  // Refused rows go when their hour has come, or with what is new of their check; they hold up no other check.
  const checks = new Set(
    open.filter((row) => row.state === "waiting" || isDue(row)).map((row) => row.report.check),
  );
  const waiting = open.filter((row) => checks.has(row.report.check));
  const first = waiting[0];
  // What is due takes along the others that wait, and a channel that works takes all of them.
  if (first === undefined || (tried.size === 0 && !waiting.some(isDue))) return null;
  const sealed = waiting.find((row) => row.messageId !== null);
  if (sealed !== undefined) return lane.rows.filter((row) => row.messageId === sealed.messageId);
  if (target.gathers) return waiting.slice(0, ITEMS_MAX);
  return takeOver(waiting, first);
}

/** A row, and with a problem that is over its changes and its recovery. */
function takeOver(rows: readonly OutboxRow[], first: OutboxRow): readonly OutboxRow[] {
  if (first.report.event !== "problem") return [first];
  const own = rows.filter((row) => row.report.check === first.report.check);
  const end = own.findIndex((row) => row.report.event === "recovery");
  return end < 0 ? [first] : own.slice(0, end + 1);
}

/** What is told: for each check what its rows come to, the worst first. */
function messageOf(id: string, rows: readonly OutboxRow[], told: ReadonlyMap<string, Told>): Message {
  const items: MessageItem[] = [];
  const missed = new Map<string, OutboxRow>();
  for (const row of rows) {
    const { report, channelKey } = row;
    const key = toldKey(report.check, channelKey);
    if (report.event === "problem") missed.set(report.check, row);
    const problem = missed.get(report.check)?.report ?? null;
    if (report.event === "recovery" && problem !== null) {
      // The problem, and what became of it, is told in the recovery's line.
      const first = items.findIndex((item) => item.report.id === problem.id);
      const rest = items.filter((item, index) => index < first || item.report.check !== report.check);
      items.splice(0, items.length, ...rest, { report, missedProblem: problem, threadId: null });
      missed.delete(report.check);
    } else {
      items.push({ report, missedProblem: null, threadId: told.get(key)?.messageId ?? null });
    }
  }
  return {
    id,
    items: items.sort((one, other) => badness(other.report.condition) - badness(one.report.condition)),
    isTest: false,
    decidedAtMs: rows.reduce((latest, row) => Math.max(latest, row.report.decidedAtMs), -Infinity),
  };
}
