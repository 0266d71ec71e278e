/**
 * The sender: takes the rows of the outbox to their channels, apart from the checks. Each channel is a lane of its
 * own; a lane that hangs or waits holds up no other.
 *
 * Invariant: a row is removed only once its channel has taken it, or nobody needs it any more. Before an attempt
 * the rows are marked with the id of their message, and while it may have arrived they go again under that id.
 */
import type { ChannelCount } from "./domain/channel_count.ts";
import type { Channel } from "./domain/channel.ts";
import type { Delivery, Message } from "./domain/delivery.ts";
import type { OutboxChange, OutboxRow, Told } from "./domain/outbox.ts";
import type { Clock } from "./domain/system.ts";
import { heirsOf, type PassedRow, planHandOver } from "./hand_over.ts";
import { messageIdOf } from "./message_id.ts";
import {
  backOff,
  holdBack,
  holdRefused,
  keptTime,
  type Lane,
  type LaneChannel,
  nextBatch,
  refusedWaitMs,
  remove,
  replace,
} from "./outbox_lane.ts";
import { messageOf, toldKey } from "./outbox_message.ts";
import { createScheduleTime } from "./schedule_time.ts";
import type { FindSuccessors } from "./successors.ts";

/** A lane in back-off tries again this soon for a row that came later. */
const HELD_MS_MAX = 60_000;
/** After so long a row is given up, once what it tells no longer holds. */
const GIVE_UP_MS = 24 * 3_600_000;

const NO_CHANNEL = "the channel is no longer in the document";

/** Something that happened to rows, for whoever tells it. */
export type OutboxEvent =
  | {
    readonly event: "delivered";
    readonly rows: readonly OutboxRow[];
    readonly note: string | null;
    /** Whether trouble was told before. */
    readonly isBack: boolean;
  }
  /** The first failure of a lane since it last worked, and the first refusal. */
  | {
    readonly event: "failed";
    readonly rows: readonly OutboxRow[];
    readonly reason: string;
    readonly isRefused: boolean;
  }
  /** Rows go to the channel that takes the place of theirs. */
  | { readonly event: "readdressed"; readonly rows: readonly OutboxRow[]; readonly fromName: string }
  | { readonly event: "given_up"; readonly rows: readonly OutboxRow[]; readonly reason: string };

/** What a sender needs. */
export interface OutboxOptions {
  /** Wall time for the rows, timers for the attempts. */
  readonly clock: Clock;
  /** 0 or more, below 1. */
  random(): number;
  /** The channel of a key in the present document; `null` when the document has it no more. */
  channelOf(key: string): LaneChannel | null;
  /** What takes the place of a channel for a check that has it no more; `null` where nothing does. */
  readonly successorsOf: FindSuccessors;
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
  /**
   * Goes by the present document: what was told to channels that a check has no more, and what waits for them, passes
   * to those that take their place, also what is under way just now. It is kept at once, together with what else is to
   * be kept. Everything is tried soon, since somebody may have mended what was wrong.
   */
  adopt(also?: Pick<OutboxChange, "channelLists">): void;
  /** What waits, refused and given up rows included, in order. */
  readonly rows: readonly OutboxRow[];
  /** What was told of a check's problem over a channel. */
  toldOf(check: string, channelKey: string): Told | null;
  /** What is to be told last of a check over a channel; `null`: nothing. */
  lastOf(check: string, channelKey: string): OutboxRow | null;
  /** All that channels were told. */
  readonly told: readonly Told[];
  /** Starts nothing more and ends what is under way. */
  stop(): Promise<void>;
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
  /** Grows with each document. */
  let generation = 0;
  /** Ends when what a document gave up is kept. */
  let givingUpAll: Promise<unknown> = Promise.resolve();

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
        askedUntilMs: -Infinity,
        trouble: null,
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
      lane.askedUntilMs += stepMs;
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
    /** What was handed over may be older than what came meanwhile. */
    const unordered = new Set<Lane>();
    for (const row of rows) {
      if (row.state === "given_up") {
        givenUp.set(row.id, row);
        continue;
      }
      const lane = laneOf(row.channelKey);
      // What a process before this one has said is not said again.
      if (row.firstFailedAtMs !== null && lane.trouble !== "refused" && lane.trouble !== "stuck") {
        lane.trouble = row.state === "refused" ? "refused" : "down";
      }
      if (row.state === "waiting") lane.failures = Math.max(lane.failures, row.attempts);
      const soonMs = Math.max(
        nowMs + (lane.failures === 0 ? options.gatherMs : HELD_MS_MAX),
        lane.askedUntilMs,
      );
      const isNew = row.state === "waiting" && row.attempts === 0;
      const nextAttemptAtMs = isNew ? soonMs : keptTime(row.nextAttemptAtMs, nowMs);
      if ((lane.rows.at(-1)?.sequence ?? -Infinity) > row.sequence) unordered.add(lane);
      lane.rows.push({ ...row, nextAttemptAtMs });
      wakeAt(lane, nextAttemptAtMs);
    }
    for (const lane of unordered) lane.rows.sort((one, other) => one.sequence - other.sequence);
    // It may have been made by a document before this one.
    if (rows.some(({ report, channelKey }) => options.successorsOf(report.check, channelKey) !== null)) {
      passOn({});
    }
  };

  /** Sends what is due in a lane, one message after another. */
  const work = (lane: Lane, { force = false } = {}): Promise<void> => {
    if (lane.sending !== null || stopping.signal.aborted) return lane.sending ?? Promise.resolve();
    noticeStep();
    const begunIn = generation;
    lane.sending = sendDue(lane, force).catch(options.onBug).finally(() => {
      lane.sending = null;
      noticeStep();
      // What failed under the document before says nothing of this one.
      if (begunIn !== generation) trySoon(lane);
      const next = lane.rows.reduce((least, row) => Math.min(least, row.nextAttemptAtMs), Infinity);
      if (Number.isFinite(next)) wakeAt(lane, Math.max(next, clock.wallMs() + 1));
    });
    return lane.sending;
  };

  const sendDue = async (lane: Lane, force: boolean): Promise<void> => {
    const tried = new Set<string>();
    let taken = 0;
    while (!stopping.signal.aborted) {
      const target = options.channelOf(lane.key);
      if (target === null) return await giveUp(lane, lane.rows, NO_CHANNEL);
      await dropStale(lane, target);
      const batch = nextBatch(lane, { target, tried, taken, nowMs: clock.wallMs(), force });
      if (batch === null) return;
      for (const row of batch) tried.add(row.id);
      const outcome = await attempt(lane, batch, { target, taken });
      if (outcome === "down") return;
      if (outcome === "taken") taken++;
    }
  };

  const dropStale = async (lane: Lane, { staleAfterMs }: LaneChannel): Promise<void> => {
    if (staleAfterMs === null) return;
    const nowMs = clock.wallMs();
    const stale = lane.rows.filter((row) => nowMs - row.report.decidedAtMs > staleAfterMs);
    if (stale.length > 0) await giveUp(lane, stale, "it was too old to be shown");
  };

  /** One message: marks its rows, hands it over, and keeps what came of it. */
  const attempt = async (
    lane: Lane,
    batch: readonly OutboxRow[],
    { target, taken }: { readonly target: LaneChannel; readonly taken: number },
  ): Promise<Outcome> => {
    const messageId = batch[0]?.messageId ?? messageIdOf(batch.map((row) => row.report.id));
    const nextAttemptAtMs = clock.wallMs();
    const marked = batch.map((row) => ({ ...row, messageId, attempts: row.attempts + 1, nextAttemptAtMs }));
    const behind = lane.rows.filter((row) => !batch.includes(row));
    const mayHaveArrivedBefore = batch.some((row) => row.messageId !== null);
    replace(lane, marked);
    await options.keep({ changed: marked, removed: [], told: [], untold: [] });
    const delivery = await handOver(messageOf(messageId, marked, told), target);
    if (delivery === null) return "down";
    // It may have taken long, and what follows goes by the present time.
    noticeStep();
    if (delivery.delivered) {
      await finish(lane, marked, messageId);
      const isWell = lane.rows.every((row) => row.firstFailedAtMs === null);
      options.onEvent({
        event: "delivered",
        rows: marked,
        note: delivery.note,
        isBack: isWell && lane.trouble !== null,
      });
      lane.failures = 0;
      lane.askedUntilMs = -Infinity;
      if (isWell) lane.trouble = null;
      else if (lane.trouble !== null) lane.trouble = "stuck";
      return "taken";
    }
    // That it did not arrive this time tells nothing of the times before.
    const mayHaveArrived = delivery.mayHaveArrived || mayHaveArrivedBefore;
    return await noteFailure(lane, {
      rows: marked,
      behind,
      standsForAll: target.gathers && taken === 0,
      failure: { ...delivery, mayHaveArrived },
    });
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
    // A reload may have given up what was under way.
    for (const row of rows) givenUp.delete(row.id);
    const marks: Told[] = [];
    const untold: { check: string; channelKey: string }[] = [];
    // In order: the last report of a check says what the channel knows of it.
    for (const { report, channelKey: askedKey } of rows) {
      // What is in its place by now knows what it was told.
      for (const channelKey of heirsOf(report.check, askedKey, options.successorsOf)) {
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
    }
    const known = marks.filter((mark) => told.get(toldKey(mark.check, mark.channelKey)) === mark);
    const counted = countOf(rows, { sent: rows.length, countedAtMs: clock.wallMs() });
    await options.keep({ changed: [], removed: rows.map((row) => row.id), told: known, untold, counted });
  };

  const noteFailure = async (
    lane: Lane,
    { rows: tried, behind, standsForAll, failure }: FailedAttempt,
  ): Promise<Outcome> => {
    const nowMs = clock.wallMs();
    // What was passed on meanwhile is the matter of another lane.
    const rows = tried.filter(({ id }) => lane.rows.some((row) => row.id === id));
    const { reason, retryable } = failure;
    const old = rows.filter((row) => nowMs - row.report.decidedAtMs > GIVE_UP_MS && !options.holds(row));
    const kept = rows.filter((row) => !old.includes(row));
    // A refusal is an answer: whoever gives it is there.
    lane.failures = retryable ? lane.failures + 1 : 0;
    const ownWaitMs = retryable ? backOff(lane.failures, options.random()) : refusedWaitMs(rows, nowMs);
    const waitMs = Math.max(ownWaitMs, failure.retryAfterMs ?? 0);
    lane.askedUntilMs = nowMs + (failure.retryAfterMs ?? 0);
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
    const soonMs = Math.max(nowMs + HELD_MS_MAX, lane.askedUntilMs);
    if (retryable) holdBack(lane, { behind, untilMs: nowMs + waitMs, soonMs });
    else if (standsForAll) holdRefused(lane, nowMs + waitMs);
    const counted = countOf(tried, { failedAttempts: 1, countedAtMs: nowMs });
    await options.keep({ changed, removed: [], told: [], untold: [], counted });
    // Where only some of it is stuck, what was taken until now is news.
    const isNews = rows.length > 0 &&
      (lane.trouble === null || (!retryable && lane.trouble === "down") ||
        (lane.trouble === "stuck" && rows.some((row) => row.firstFailedAtMs === null)));
    if (isNews && changed.length > 0) {
      options.onEvent({ event: "failed", rows: changed, reason, isRefused: !retryable });
    }
    if (isNews) lane.trouble = retryable ? "down" : "refused";
    if (old.length > 0) await giveUp(lane, old, reason);
    // After a refusal the next message may be welcome; behind a server that is down it is not.
    return retryable ? "down" : "refused";
  };

  const giveUp = async (lane: Lane, some: readonly OutboxRow[], reason: string): Promise<void> => {
    const ids = new Set(some.map((row) => row.id));
    // What was passed on meanwhile is on its way.
    const rows = lane.rows.filter((row) => ids.has(row.id));
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

  /** Hands rows and marks of channels that their checks have no more to those that take their place. */
  const passOn = (also: Pick<OutboxChange, "channelLists">): void => {
    const { left, passed, unwanted, marksLeft, marksPassed } = planHandOver({
      pending: pending(),
      told,
      successorsOf: options.successorsOf,
      gathers: (key) => options.channelOf(key)?.gathers ?? false,
      holds: options.holds,
      nowMs: clock.wallMs(),
    });
    for (const { check, channelKey } of marksLeft) told.delete(toldKey(check, channelKey));
    for (const mark of marksPassed) told.set(toldKey(mark.check, mark.channelKey), mark);
    for (const lane of lanes.values()) remove(lane, left);
    const changed = passed.map(({ row }) => row);
    // Before anybody may look: whoever asks who knows of a problem finds the rows in one lane or the other.
    add(changed);
    const removed = left.map((row) => row.id);
    if (left.length + marksLeft.length > 0 || also.channelLists !== undefined) {
      options.keep({ changed, removed, told: marksPassed, untold: marksLeft, ...also });
    }
    const groups = Map.groupBy(passed, ({ row, fromName }) => `${row.channelKey} ${fromName}`);
    for (const group of groups.values()) {
      const [{ fromName }] = group as [PassedRow, ...PassedRow[]];
      options.onEvent({ event: "readdressed", rows: group.map(({ row }) => row), fromName });
    }
    for (const [key, rows] of Map.groupBy(unwanted, (row) => row.channelKey)) {
      const reason = options.channelOf(key) === null ? NO_CHANNEL : "its check no longer has this channel";
      const givingUp = giveUp(laneOf(key), rows, reason).catch(options.onBug);
      givingUpAll = Promise.all([givingUpAll, givingUp]);
    }
  };

  const adopt = (also: Pick<OutboxChange, "channelLists"> = {}): void => {
    generation++;
    passOn(also);
    for (const lane of lanes.values()) trySoon(lane);
  };
  const trySoon = (lane: Lane): void => {
    lane.failures = 0;
    lane.askedUntilMs = -Infinity;
    if (lane.rows.length === 0) return;
    const nowMs = clock.wallMs();
    lane.rows = lane.rows.map((row) => ({ ...row, nextAttemptAtMs: nowMs }));
    wakeAt(lane, nowMs + options.gatherMs);
  };

  const pending = (): readonly OutboxRow[] => [...lanes.values()].flatMap((lane) => lane.rows);
  add(kept.rows.toSorted((one, other) => one.sequence - other.sequence));
  return {
    add,
    adopt,
    drain: async (deadlineMs) => {
      const { promise: timeIsUp, resolve } = Promise.withResolvers<void>();
      const cancel = clock.after(Math.max(0, deadlineMs - clock.wallMs()), resolve);
      const workAll = (chosen: readonly Lane[]): Promise<unknown> =>
        Promise.all(chosen.map(async (lane) => {
          await lane.sending;
          await work(lane, { force: true });
        }));
      await Promise.race([Promise.all([givingUpAll, workAll([...lanes.values()])]), timeIsUp]);
      cancel();
    },
    get rows() {
      return [...pending(), ...givenUp.values()].sort((one, other) => one.sequence - other.sequence);
    },
    get told() {
      return [...told.values()];
    },
    toldOf: (check, channelKey) => told.get(toldKey(check, channelKey)) ?? null,
    lastOf: (check, channelKey) =>
      lanes.get(channelKey)?.rows.findLast(({ report }) => report.check === check) ?? null,
    stop: async () => {
      stopping.abort(new Error("Stopped"));
      for (const attempt of attempts) attempt.abort(new Error("Stopped"));
      for (const lane of lanes.values()) lane.timer?.();
      await Promise.all([givingUpAll, ...[...lanes.values()].map((lane) => lane.sending)]);
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

/** What came of an attempt; after `down` the lane does not go on. */
type Outcome = "taken" | "refused" | "down";

interface FailedAttempt {
  readonly rows: readonly OutboxRow[];
  /** What else was in the lane when it began. */
  readonly behind: readonly OutboxRow[];
  /** Whether a refusal of it says that the others that were refused need not be tried now. */
  readonly standsForAll: boolean;
  readonly failure: Extract<Delivery, { delivered: false }>;
}
