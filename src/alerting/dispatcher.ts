/**
 * The sender: takes the rows of the outbox to their channels, apart from the checks. Each channel is a lane of its
 * own; a lane that hangs or waits holds up no other.
 *
 * Invariant: a row is removed only once its channel has taken it, or nobody needs it any more. Before an attempt
 * the rows are marked with the id of their message, and while it may have arrived they go again under that id.
 */
import type { ChannelCount } from "../domain/channel_count.ts";
import type { Channel } from "../domain/channel.ts";
import type { Delivery, Message } from "../domain/delivery.ts";
import type { DeliveryMarker, OutboxChange, QueuedNotification } from "../domain/outbox.ts";
import type { Clock } from "../domain/clock.ts";
import type { KeptOutbox } from "../domain/store.ts";
import { messageIdOf } from "./message_id.ts";
import {
  backOff,
  holdBack,
  holdRefused,
  keptTime,
  type Lane,
  type LaneChannel,
  lastRowOf,
  nextBatch,
  refusedWaitMs,
  remove,
  replace,
  rowsIn,
} from "./channel_queue.ts";
import { mergeRows } from "./merge_pending.ts";
import { markerKey, messageOf } from "./outbox_message.ts";
import { type Rekeyed, rekeyRows } from "./rekey.ts";
import { createScheduleTime } from "../shared/schedule_time.ts";

/** A lane in back-off tries again this soon for a row that came later. */
const HELD_MS_MAX = 60_000;
/** After so long a row is given up, once what it tells no longer holds. */
const GIVE_UP_MS = 24 * 3_600_000;

/** As long as results wait to be written together. */
const MERGE_AFTER_MS = 1_000;

/** How often rows of checks that the config does not have are looked through for those that are too old. */
const PARKED_EVERY_MS = 3_600_000;

/** Something that happened to rows, for whoever tells it. */
export type OutboxEvent =
  | {
    readonly event: "delivered";
    readonly rows: readonly QueuedNotification[];
    readonly note: string | null;
    /** Whether trouble was told before. */
    readonly isBack: boolean;
  }
  /** The first failure of a lane since it last worked, and the first refusal. */
  | {
    readonly event: "failed";
    readonly rows: readonly QueuedNotification[];
    readonly reason: string;
    readonly isRefused: boolean;
  }
  /** Older problems that recovered unsent are counted from now on instead of listed; once until all is sent. */
  | { readonly event: "summarized"; readonly rows: readonly QueuedNotification[] }
  | { readonly event: "dropped"; readonly rows: readonly QueuedNotification[]; readonly reason: string };

/** What a sender needs. */
export interface OutboxOptions {
  /** Wall time for the rows, timers for the attempts. */
  readonly clock: Clock;
  /** 0 or more, below 1. */
  random(): number;
  /** The channel of a key in the present config; `null` when the config has it no more. */
  channelOf(key: string): LaneChannel | null;
  /**
   * What the present config has of a check and a channel. `here`: the channel, and the check unless it left the config;
   * `unwanted`: the check without this channel; `absent`: neither.
   */
  placeOf(check: string, channelKey: string): "here" | "unwanted" | "absent";
  /** Hands a message to a channel; throws only when the signal aborts, and for bugs. */
  deliver(message: Message, channel: Channel, signal: AbortSignal): Promise<Delivery>;
  /** Keeps what changed. Rejects never: a store in trouble is the repository's business, and it tries again. */
  keep(change: OutboxChange): Promise<void>;
  /** Whether what a notification tells still holds. */
  holds(row: QueuedNotification): boolean;
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
  add(rows: readonly QueuedNotification[]): void;
  /** Tries every row once, whatever its time, and comes back when each was tried or time is up. */
  drain(deadlineMs: number): Promise<void>;
  /**
   * Goes by the present config. Rows and marks of edited channels get the new key; rows that their check has no channel
   * for are dropped; rows of checks that the config does not have stay as they are for a day, since another config may
   * use the same state. What a channel knows that its check does not have is uncertain from now on, since it gets no
   * recovery; what `isObsolete` names is forgotten. All else is tried soon, since somebody may have fixed what was wrong.
   */
  adopt(rekeyed: Rekeyed, isObsolete: (mark: DeliveryMarker) => boolean): void;
  /** All rows, those too that were dropped or that this config cannot send, in order. */
  readonly rows: readonly QueuedNotification[];
  /** Rows that are still to be sent, rejected ones included. */
  readonly pending: readonly QueuedNotification[];
  /** What was told of a check's problem over a channel. */
  toldOf(check: string, channelKey: string): DeliveryMarker | null;
  /** What is to be told last of a check over a channel; `null`: nothing. */
  lastOf(check: string, channelKey: string): QueuedNotification | null;
  /** All that channels were told. */
  readonly told: readonly DeliveryMarker[];
  /** Starts nothing more and ends what is under way. */
  stop(): Promise<void>;
}

/** Starts a sender with the rows and marks that were kept. */
export function startOutbox(
  kept: Pick<KeptOutbox, "notifications" | "markers">,
  options: OutboxOptions,
): Outbox {
  const { clock } = options;
  const time = createScheduleTime(clock);
  const lanes = new Map<string, Lane>();
  const told = new Map<string, DeliveryMarker>();
  const dropped = new Map<string, QueuedNotification>();
  /** Rows that the present config has no channel for, by id. */
  const parked = new Map<string, QueuedNotification>();
  let parkedTimer: (() => void) | null = null;
  const stopping = new AbortController();
  /** One for each attempt that is under way. */
  const attempts = new Set<AbortController>();
  for (const mark of kept.markers) told.set(markerKey(mark.check, mark.channelKey), mark);
  /** Grows with each config. */
  let generation = 0;

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
        mergeTimer: null,
        isSummarizing: false,
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

  const add = (rows: readonly QueuedNotification[]): void => {
    noticeStep();
    const byPlace = Map.groupBy(
      rows,
      ({ state, notification, channelKey }) =>
        state === "dropped" ? state : options.placeOf(notification.check, channelKey),
    );
    for (const row of byPlace.get("dropped") ?? []) dropped.set(row.id, row);
    for (const row of byPlace.get("absent") ?? []) parked.set(row.id, row);
    for (const [key, some] of Map.groupBy(byPlace.get("here") ?? [], ({ channelKey }) => channelKey)) {
      enqueue(laneOf(key), some);
    }
    drop(byPlace.get("unwanted") ?? [], "its check no longer has this channel");
    dropParked();
  };

  const enqueue = (lane: Lane, rows: readonly QueuedNotification[]): void => {
    const nowMs = clock.wallMs();
    const added = rows.map((row): QueuedNotification => {
      // What a process before this one has said is not said again.
      if (row.firstFailedAtMs !== null && lane.trouble !== "rejected" && lane.trouble !== "stuck") {
        lane.trouble = row.state === "rejected" ? "rejected" : "down";
      }
      if (row.state === "pending") lane.failures = Math.max(lane.failures, row.attempts);
      const soonMs = Math.max(
        nowMs + (lane.failures === 0 ? options.gatherMs : HELD_MS_MAX),
        lane.askedUntilMs,
      );
      const isNew = row.state === "pending" && row.attempts === 0;
      return { ...row, nextAttemptAtMs: isNew ? soonMs : keptTime(row.nextAttemptAtMs, nowMs) };
    });
    if (rows.some(({ summarized }) => summarized > 0)) lane.isSummarizing = true;
    const lastSequence = lane.rows.at(-1)?.sequence ?? -Infinity;
    lane.rows = [...lane.rows, ...added];
    // What was parked or rekeyed may be older than what came meanwhile.
    if (added.some(({ sequence }) => sequence < lastSequence)) {
      lane.rows = lane.rows.toSorted((one, other) => one.sequence - other.sequence);
    }
    mergeSoon(lane);
    for (const { nextAttemptAtMs } of added) wakeAt(lane, nextAttemptAtMs);
  };

  /** Merges what comes within a second together: each time costs a transaction. */
  const mergeSoon = (lane: Lane): void => {
    if (lane.rows.length > 1 && !stopping.signal.aborted) {
      lane.mergeTimer ??= clock.after(MERGE_AFTER_MS, () => merge(lane));
    }
  };

  /** Keeps the rows of a lane few, whatever happens while its channel is down. */
  const merge = (lane: Lane): void => {
    lane.mergeTimer?.();
    lane.mergeTimer = null;
    const merged = mergeRows(lane.rows);
    if (merged === null) return;
    const { rows, changed, removed, summarized } = merged;
    lane.rows = rows;
    const counted = summarized === 0 ? [] : countOf(changed, { summarized, countedAtMs: clock.wallMs() });
    options.keep({ changed, removed, markers: [], cleared: [], counted });
    if (summarized > 0 && !lane.isSummarizing) {
      lane.isSummarizing = true;
      options.onEvent({ event: "summarized", rows: changed });
    }
  };

  /** Drops rows of absent checks after a day, and looks again later. */
  const dropParked = (): void => {
    const nowMs = clock.wallMs();
    const old = [...parked.values()].filter(({ notification }) =>
      nowMs - notification.decidedAtMs > GIVE_UP_MS
    );
    for (const row of old) parked.delete(row.id);
    drop(old, "neither its check nor its channel is in the config any more");
    if (parked.size === 0 || parkedTimer !== null || stopping.signal.aborted) return;
    parkedTimer = clock.after(PARKED_EVERY_MS, () => {
      parkedTimer = null;
      dropParked();
    });
  };

  /** Sends what is due in a lane, one message after another. */
  const work = (lane: Lane, { force = false } = {}): Promise<void> => {
    if (lane.sending !== null || stopping.signal.aborted) return lane.sending ?? Promise.resolve();
    noticeStep();
    const begunIn = generation;
    lane.sending = sendDue(lane, force).catch(options.onBug).finally(() => {
      lane.sending = null;
      noticeStep();
      // What failed under the config before says nothing of this one.
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
      // A reload has taken its rows elsewhere.
      if (target === null) return;
      merge(lane);
      dropStale(lane, target);
      const batch = nextBatch(lane, { target, tried, taken, nowMs: clock.wallMs(), force });
      if (batch === null) return;
      for (const row of batch) tried.add(row.id);
      const outcome = await attempt(lane, batch, { target, taken });
      if (outcome === "down") return;
      if (outcome === "taken") taken++;
    }
  };

  const dropStale = (lane: Lane, { staleAfterMs }: LaneChannel): void => {
    if (staleAfterMs === null) return;
    const nowMs = clock.wallMs();
    const isStale = (row: QueuedNotification): boolean =>
      nowMs - row.notification.decidedAtMs > staleAfterMs &&
      (!options.holds(row) || row.missedProblem !== null);
    dropFrom(lane, lane.rows.filter(isStale), "it was too old to be shown");
  };

  /** One message: marks its rows, hands it over, and keeps what came of it. */
  const attempt = async (
    lane: Lane,
    batch: readonly QueuedNotification[],
    { target, taken }: { readonly target: LaneChannel; readonly taken: number },
  ): Promise<Outcome> => {
    const messageId = batch[0]?.messageId ?? messageIdOf(batch.map((row) => row.notification.id));
    const nextAttemptAtMs = clock.wallMs();
    const marked = batch.map((row) => ({ ...row, messageId, attempts: row.attempts + 1, nextAttemptAtMs }));
    const behind = lane.rows.filter((row) => !batch.includes(row));
    const mayHaveArrivedBefore = batch.some((row) => row.messageId !== null);
    replace(lane, marked);
    await options.keep({ changed: marked, removed: [], markers: [], cleared: [] });
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
      if (lane.rows.length === 0) lane.isSummarizing = false;
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

  const finish = async (
    lane: Lane,
    rows: readonly QueuedNotification[],
    messageId: string,
  ): Promise<void> => {
    // A reload may have dropped or parked what was under way. What it gave another key goes there once more.
    const own = [
      ...rowsIn(lane, rows),
      ...rows.filter(({ id }) => dropped.has(id) || parked.has(id)),
    ];
    remove(lane, rows);
    for (const { id } of rows) {
      dropped.delete(id);
      parked.delete(id);
    }
    const marks: DeliveryMarker[] = [];
    const untold: { check: string; channelKey: string }[] = [];
    // In order: the last notification of a check says what the channel knows of it.
    for (const { notification: { check, event, condition }, channelKey } of own) {
      const key = markerKey(check, channelKey);
      if (event === "recovery") {
        told.delete(key);
        untold.push({ check, channelKey });
      } else {
        const first = told.get(key)?.messageId ?? messageId;
        const mark: DeliveryMarker = { check, channelKey, messageId: first, condition, certain: true };
        told.set(key, mark);
        marks.push(mark);
      }
    }
    const known = marks.filter((mark) => told.get(markerKey(mark.check, mark.channelKey)) === mark);
    const counted = countOf(rows, { sent: rows.length, countedAtMs: clock.wallMs() });
    await options.keep({
      changed: [],
      removed: rows.map((row) => row.id),
      markers: known,
      cleared: untold,
      counted,
    });
  };

  const noteFailure = async (
    lane: Lane,
    { rows: tried, behind, standsForAll, failure }: FailedAttempt,
  ): Promise<Outcome> => {
    const nowMs = clock.wallMs();
    // What a reload took elsewhere meanwhile is no matter of this lane any more.
    const rows = rowsIn(lane, tried);
    const { reason, retryable } = failure;
    const old = rows.filter((row) =>
      nowMs - row.notification.decidedAtMs > GIVE_UP_MS && !options.holds(row)
    );
    const kept = rows.filter((row) => !old.includes(row));
    // A refusal is an answer: whoever gives it is there.
    lane.failures = retryable ? lane.failures + 1 : 0;
    const ownWaitMs = retryable ? backOff(lane.failures, options.random()) : refusedWaitMs(rows, nowMs);
    const waitMs = Math.max(ownWaitMs, failure.retryAfterMs ?? 0);
    lane.askedUntilMs = nowMs + (failure.retryAfterMs ?? 0);
    const failed = (row: QueuedNotification): QueuedNotification => ({
      ...row,
      state: retryable ? "pending" : "rejected",
      nextAttemptAtMs: nowMs + waitMs,
      lastFailure: reason,
      firstFailedAtMs: row.firstFailedAtMs ?? nowMs,
      messageId: failure.mayHaveArrived ? row.messageId : null,
    });
    // What came later of the same check is not to overtake what was refused.
    const checks = new Set(kept.map((row) => row.notification.check));
    const later = retryable
      ? []
      : lane.rows.filter((row) =>
        checks.has(row.notification.check) && !rows.some(({ id }) => id === row.id)
      );
    const changed = [...kept, ...later].map(failed);
    replace(lane, changed);
    // Behind a channel that is down everything waits as long; what came meanwhile a minute at most.
    const soonMs = Math.max(nowMs + HELD_MS_MAX, lane.askedUntilMs);
    if (retryable) holdBack(lane, { behind, untilMs: nowMs + waitMs, soonMs });
    else if (standsForAll) holdRefused(lane, nowMs + waitMs);
    const counted = countOf(tried, { failedAttempts: 1, countedAtMs: nowMs });
    await options.keep({ changed, removed: [], markers: [], cleared: [], counted });
    // Where only some of it is stuck, what was taken until now is news.
    const isNews = rows.length > 0 &&
      (lane.trouble === null || (!retryable && lane.trouble === "down") ||
        (lane.trouble === "stuck" && rows.some((row) => row.firstFailedAtMs === null)));
    if (isNews && changed.length > 0) {
      options.onEvent({ event: "failed", rows: changed, reason, isRefused: !retryable });
    }
    if (isNews) lane.trouble = retryable ? "down" : "rejected";
    dropFrom(lane, old, reason);
    // What is known not to have arrived may be merged with what came meanwhile.
    mergeSoon(lane);
    // After a refusal the next message may be welcome; behind a server that is down it is not.
    return retryable ? "down" : "rejected";
  };

  const dropFrom = (lane: Lane, some: readonly QueuedNotification[], reason: string): void => {
    remove(lane, some);
    drop(some, reason);
  };

  /** Keeps rows that are in no lane any more only to be shown; of each check and channel the last one. */
  const drop = (rows: readonly QueuedNotification[], reason: string): void => {
    if (rows.length === 0) return;
    const nowMs = clock.wallMs();
    const made = rows.map((row): QueuedNotification => ({
      ...row,
      notification: { ...row.notification, output: "", detail: "" },
      missedProblem: null,
      state: "dropped",
      nextAttemptAtMs: nowMs,
      lastFailure: reason,
      firstFailedAtMs: row.firstFailedAtMs ?? nowMs,
      messageId: null,
    }));
    const keyOf = ({ notification, channelKey }: QueuedNotification): string =>
      markerKey(notification.check, channelKey);
    const last = new Map(made.map((row) => [keyOf(row), row]));
    const before = [...dropped.values()].filter((row) => last.has(keyOf(row)));
    const removed = [...before, ...made.filter((row) => last.get(keyOf(row)) !== row)].map(({ id }) => id);
    for (const { id } of before) dropped.delete(id);
    for (const row of last.values()) dropped.set(row.id, row);
    const byChannel = [...Map.groupBy(made, ({ channelKey }) => channelKey).values()];
    const counted = byChannel.flatMap((some) => countOf(some, { dropped: some.length, countedAtMs: nowMs }));
    // A channel that may have got a problem is to get its end.
    const unsure = rows.flatMap(({ notification: { check, event, condition }, channelKey, messageId }) =>
      messageId === null || event === "recovery"
        ? []
        : [{ check, channelKey, messageId, condition, certain: false }]
    );
    for (const mark of unsure) told.set(markerKey(mark.check, mark.channelKey), mark);
    options.keep({ changed: [...last.values()], removed, markers: unsure, cleared: [], counted });
    for (const some of byChannel) options.onEvent({ event: "dropped", rows: some, reason });
  };

  const adopt = (rekeyed: Rekeyed, isObsolete: (mark: DeliveryMarker) => boolean): void => {
    generation++;
    const all = [...pending(), ...parked.values()];
    const moved = rekeyRows(all, rekeyed, (key) => options.channelOf(key)?.gathers ?? false);
    const movedById = new Map(moved.map(({ old, row }) => [old.id, row]));
    const marksLeft: DeliveryMarker[] = [];
    const marksMoved: DeliveryMarker[] = [];
    for (const mark of told.values()) {
      const target = rekeyed.get(markerKey(mark.check, mark.channelKey));
      if (target !== undefined) marksMoved.push({ ...mark, channelKey: target.channelKey });
      else if (options.placeOf(mark.check, mark.channelKey) !== "unwanted") continue;
      else if (!isObsolete(mark)) {
        if (!mark.certain) continue;
        marksMoved.push({ ...mark, certain: false });
      }
      marksLeft.push(mark);
    }
    for (const { check, channelKey } of marksLeft) told.delete(markerKey(check, channelKey));
    for (const mark of marksMoved) told.set(markerKey(mark.check, mark.channelKey), mark);
    for (const lane of lanes.values()) lane.rows = [];
    parked.clear();
    add(all.map((row) => movedById.get(row.id) ?? row));
    if (moved.length + marksLeft.length > 0) {
      const removed = moved.map(({ old }) => old.id);
      options.keep({
        changed: moved.map(({ row }) => row),
        removed,
        markers: marksMoved,
        cleared: marksLeft,
      });
    }
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

  const pending = (): readonly QueuedNotification[] => [...lanes.values()].flatMap((lane) => lane.rows);
  add(kept.notifications.toSorted((one, other) => one.sequence - other.sequence));
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
      await Promise.race([workAll([...lanes.values()]), timeIsUp]);
      cancel();
    },
    get rows() {
      return [...pending(), ...parked.values(), ...dropped.values()].sort((one, other) =>
        one.sequence - other.sequence
      );
    },
    get pending() {
      return pending();
    },
    get told() {
      return [...told.values()];
    },
    toldOf: (check, channelKey) => told.get(markerKey(check, channelKey)) ?? null,
    lastOf: (check, channelKey) => {
      const lane = lanes.get(channelKey);
      return lane === undefined ? null : lastRowOf(lane, check);
    },
    stop: async () => {
      stopping.abort(new Error("Stopped"));
      for (const attempt of attempts) attempt.abort(new Error("Stopped"));
      for (const lane of lanes.values()) {
        lane.timer?.();
        merge(lane);
      }
      parkedTimer?.();
      await Promise.all([...lanes.values()].map((lane) => lane.sending));
    },
  };
}

/** What rows of one channel add to its counts; nothing without rows. */
function countOf(
  [row]: readonly QueuedNotification[],
  numbers: Partial<ChannelCount> & Pick<ChannelCount, "countedAtMs">,
): readonly ChannelCount[] {
  if (row === undefined) return [];
  const { channelKey, channelName } = row;
  return [{ channelKey, channelName, sent: 0, failedAttempts: 0, dropped: 0, summarized: 0, ...numbers }];
}

/** What came of an attempt; after `down` the lane does not go on. */
type Outcome = "taken" | "rejected" | "down";

interface FailedAttempt {
  readonly rows: readonly QueuedNotification[];
  /** What else was in the lane when it began. */
  readonly behind: readonly QueuedNotification[];
  /** Whether a refusal of it says that the others that were refused need not be tried now. */
  readonly standsForAll: boolean;
  readonly failure: Extract<Delivery, { delivered: false }>;
}
