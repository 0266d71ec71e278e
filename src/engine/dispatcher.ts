/**
 * The dispatcher delivers queued notifications, apart from the checks. It has a queue for each channel, sends events
 * to it, and executes the effects that `channel_queue.ts` returns.
 *
 * - Independent: a channel that hangs delays no other channel and no check.
 * - The state in memory follows from the arguments of `persist`.
 * - A notification of which the config has neither check nor channel is kept for a day, since another config may use
 *   the same state.
 */
import type { Channel } from "../domain/channel.ts";
import type { Clock } from "../domain/clock.ts";
import type { Delivery, Message } from "../domain/delivery.ts";
import type { DeliveryMarker, LimitUse, OutboxChange, QueuedNotification } from "../domain/outbox.ts";
import type { KeptOutbox } from "../domain/store.ts";
import { endsWithin, startDeadline } from "../shared/deadline.ts";
import { createScheduleTime, type ScheduleTime } from "../shared/local_time.ts";
import { bySequence, toMessage } from "./batching.ts";
import { lastNotificationOf, transitionQueue, wakeAtMs } from "./channel_queue.ts";
import {
  type ChannelQueue,
  type CommonCauses,
  type DeliveryEvent,
  EMPTY_QUEUE,
  type Failure,
  type QueueContext,
  type QueueEffect,
  type QueueEvent,
  restoredUse,
  sendingLimit,
  type SentMessage,
  setUseBack,
} from "./queue_state.ts";
import { type DeliveryMarkers, dropChange, markerKey, RETRY_OBSOLETE_MS } from "./outbox_changes.ts";
import { moveMarkers, type Rekeyed, rekeyQueued } from "./rekey.ts";

export interface DeliveryTarget extends Pick<QueueContext, "batches" | "group" | "staleAfterMs"> {
  /** The channel as the config has it now. */
  readonly channel: Channel;
  /** Whether problems with a common cause are one message. */
  readonly mergesCauses: boolean;
  readonly attemptTimeoutMs: number;
}

export interface DispatcherOptions extends Pick<QueueContext, "batchingMs" | "isStillTrue" | "isExcluded"> {
  readonly clock: Clock;
  /** 0 or more, below 1. */
  random(): number;
  /** The channel of a key in the present config; `null`: the config has none. */
  targetOf(channelKey: string): DeliveryTarget | null;
  /**
   * Returns whether the present config has a check and a channel. `here`: the channel, and the check unless it left
   * the config; `unwanted`: the check without this channel; `absent`: neither.
   */
  placeOf(check: string, channelKey: string): "here" | "unwanted" | "absent";
  /** Returns the common causes of problems as they are now; `null`: they are not looked for. */
  causes(markers: DeliveryMarkers): CommonCauses | null;
  /** Whether results of other members decide about causes, too, and can be read. */
  readsCauses(): boolean;
  /** Reads what decides about the causes of pending notifications, as far as that succeeds in a moment. */
  readCauses(pending: readonly QueuedNotification[], markers: DeliveryMarkers): Promise<void>;
  /** Returns whether a notification is dropped since the present config revokes it. */
  isRevoked(queued: QueuedNotification): boolean;
  /**
   * Returns whether this process may send the pending notifications of a channel; called before each attempt, once it
   * is persisted.
   */
  maySend(channelKey: string): boolean;
  /** Delivers a message; throws only if the signal aborts, and for bugs. */
  deliver(message: Message, channel: Channel, signal: AbortSignal): Promise<Delivery>;
  /** Persists a change. Never rejects: while the state can't be written, it is retried there. */
  persist(change: OutboxChange): Promise<void>;
  onEvent(event: DeliveryEvent): void;
  /** Called with errors that must not happen; the queue goes on. */
  onBug(error: unknown): void;
}

/** How often notifications without a check and a channel are searched for those that are too old. */
const UNASSIGNED_EVERY_MS = 3_600_000;
/** How long results of other members decide about causes after they were read. */
const CAUSES_READ_MS = 3_000;

interface RunningQueue {
  readonly channelKey: string;
  queue: ChannelQueue;
  timer: { readonly atMs: number; cancel(): void } | null;
  /** The attempt in progress, or the last one; ends when its outcome is persisted. */
  attempt: Promise<void>;
  /** The notifications whose causes were read last, and when, by the monotonic clock. */
  causesRead: { readonly ids: ReadonlySet<string>; readonly atMs: number };
}

export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #time: ScheduleTime;
  readonly #queues = new Map<string, RunningQueue>();
  readonly #markers = new Map<string, DeliveryMarker>();
  readonly #limitUses = new Map<string, LimitUse>();
  readonly #dropped = new Map<string, QueuedNotification>();
  readonly #unassigned = new Map<string, QueuedNotification>();
  #unassignedTimer: (() => void) | null = null;
  readonly #stop = new AbortController();

  constructor({ notifications, markers, counts }: KeptOutbox, options: DispatcherOptions) {
    this.#options = options;
    this.#time = createScheduleTime(options.clock);
    for (const marker of markers) this.#markers.set(markerKey(marker.check, marker.channelKey), marker);
    for (const { channelKey, limitUse } of counts) this.takeLimit(channelKey, limitUse);
    this.add(notifications.toSorted(bySequence));
  }

  add(notifications: readonly QueuedNotification[]): void {
    for (const [channelKey, some] of this.#assign(notifications)) {
      this.#apply(this.#queueOf(channelKey), { kind: "added", notifications: some });
    }
  }

  /** Adds markers of deliveries by other processes. Markers of this process are newer. */
  take(markers: readonly DeliveryMarker[]): void {
    for (const marker of markers) {
      const key = markerKey(marker.check, marker.channelKey);
      if (!this.#markers.has(key)) this.#markers.set(key, marker);
    }
  }

  /** Continues with the persisted use of a channel's limit. */
  takeLimit(channelKey: string, use: LimitUse | null): void {
    if (use === null) return;
    const attemptTimeoutMs = this.#options.targetOf(channelKey)?.attemptTimeoutMs ?? 0;
    const nowMs = this.#options.clock.wallMs();
    this.#limitUses.set(channelKey, restoredUse(use, { nowMs, attemptTimeoutMs }));
  }

  /** Returns until when the messages of a channel wait for its limit; `null`: none does. */
  limitedUntilMs(channelKey: string): number | null {
    const untilMs = this.#limitUses.get(channelKey)?.limitedUntilMs ?? null;
    const isLimited = this.#options.targetOf(channelKey)?.channel.atMost !== undefined;
    return isLimited && untilMs !== null && untilMs > this.#options.clock.wallMs() ? untilMs : null;
  }

  /**
   * Adds notifications that other processes have queued. These processes don't know the deliveries since then. So it
   * removes a recovery whose problem the channel was not notified of, unless the recovery includes that problem. It also
   * removes a reminder while another notification of the check is pending.
   */
  receive(notifications: readonly QueuedNotification[]): void {
    const surplus: QueuedNotification[] = [];
    for (const queued of notifications) {
      const { id, notification: { check, event }, missedProblem, channelKey } = queued;
      const known = this.#queues.get(channelKey)?.queue.notifications ?? [];
      if (known.some((one) => one.id === id)) continue;
      const isPending = this.lastOf(check, channelKey) !== null;
      const isNotified = isPending || missedProblem !== null || this.markerOf(check, channelKey) !== null;
      if (event === "recovery" ? !isNotified : event === "reminder" && isPending) surplus.push(queued);
      else this.add([queued]);
    }
    if (surplus.length === 0) return;
    this.#persist({ changed: [], removed: surplus.map(({ id }) => id), markers: [], cleared: [] });
  }

  /** Leaves a queue to another process. Resolves when nothing of it is being sent, and its outcomes are persisted. */
  async release(channelKey: string): Promise<void> {
    const running = this.#queueOf(channelKey);
    this.#apply(running, { kind: "released" });
    await this.#untilIdle(running);
    this.#limitUses.delete(channelKey);
    for (const map of [this.#markers, this.#unassigned]) {
      for (const [key, one] of map) if (one.channelKey === channelKey) map.delete(key);
    }
  }

  async releaseAll(): Promise<void> {
    await Promise.all([...this.#queues.keys()].map((channelKey) => this.release(channelKey)));
  }

  /**
   * Follows a new config. Notifications and markers of edited channels get the new key. Those are dropped of which the
   * check no longer has the channel, and its markers become uncertain, or are deleted if obsolete. All else is tried
   * soon, since an administrator may have fixed the cause.
   */
  reload(rekeyed: Rekeyed, isObsolete: (marker: DeliveryMarker) => boolean): void {
    const all = [...this.pending, ...this.#unassigned.values()];
    const moved = rekeyQueued(all, rekeyed, (key) => this.#options.targetOf(key)?.batches ?? false);
    const movedById = new Map(moved.map((one) => [one.old.id, one.moved]));
    this.#unassigned.clear();
    const byChannel = this.#assign(all.map((queued) => movedById.get(queued.id) ?? queued));
    for (const key of byChannel.keys()) this.#queueOf(key);
    for (const running of this.#queues.values()) {
      const notifications = byChannel.get(running.channelKey) ?? [];
      this.#apply(running, { kind: "reloaded", notifications, moved: new Set(movedById.keys()) });
      this.#forgetUnused(running);
    }
    this.#persistMoved(rekeyed, isObsolete, moved);
  }

  /** Forgets markers that an earlier config has left. Unlike a reload, it changes no time of a retry. */
  forgetObsolete(isObsolete: (marker: DeliveryMarker) => boolean): void {
    this.#persistMoved(new Map(), isObsolete, []);
  }

  #persistMoved(
    rekeyed: Rekeyed,
    isObsolete: (marker: DeliveryMarker) => boolean,
    moved: ReturnType<typeof rekeyQueued>,
  ): void {
    const { markers, cleared } = moveMarkers([...this.#markers.values()], rekeyed, {
      isUnwanted: ({ check, channelKey }) => this.#options.placeOf(check, channelKey) === "unwanted",
      isObsolete,
    });
    if (moved.length + markers.length + cleared.length === 0) return;
    const changed = moved.map((one) => one.moved);
    this.#persist({ changed, removed: moved.map(({ old }) => old.id), markers, cleared });
  }

  /**
   * Tries each pending notification once, whatever its time, and each rejected one that is due. Returns when all were
   * tried or time is up.
   */
  async drain(deadlineMs: number): Promise<void> {
    const { clock } = this.#options;
    const drained = [...this.#queues.values()].map(async (running) => {
      await this.#untilIdle(running);
      this.#apply(running, { kind: "woke", isForced: true });
      await this.#untilIdle(running);
    });
    await endsWithin(clock, Math.max(0, deadlineMs - clock.wallMs()), Promise.all(drained));
  }

  /** Aborts the attempts in progress, and starts no more. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error("Stopped"));
    for (const running of this.#queues.values()) this.#apply(running, { kind: "stopped" });
    this.#unassignedTimer?.();
    await Promise.all([...this.#queues.values()].map((running) => this.#untilIdle(running)));
  }

  /** All notifications by sequence, also those that were dropped or that this config can't send. */
  get all(): readonly QueuedNotification[] {
    return [...this.pending, ...this.#unassigned.values(), ...this.#dropped.values()].sort(bySequence);
  }

  /** Those that are still to be sent, rejected ones included. */
  get pending(): readonly QueuedNotification[] {
    return [...this.#queues.values()].flatMap(({ queue }) => queue.notifications);
  }

  get markers(): readonly DeliveryMarker[] {
    return [...this.#markers.values()];
  }

  /** Returns the last notification of a channel, for the problem of a check. */
  markerOf(check: string, channelKey: string): DeliveryMarker | null {
    return this.#markers.get(markerKey(check, channelKey)) ?? null;
  }

  lastOf(check: string, channelKey: string): QueuedNotification | null {
    const running = this.#queues.get(channelKey);
    return running === undefined ? null : lastNotificationOf(running.queue, check);
  }

  #queueOf(channelKey: string): RunningQueue {
    return this.#queues.getOrInsertComputed(channelKey, () => ({
      channelKey,
      queue: EMPTY_QUEUE,
      timer: null,
      attempt: Promise.resolve(),
      causesRead: { ids: new Set(), atMs: -Infinity },
    }));
  }

  /** Forgets the queue of a channel that left the config, once it is empty. */
  #forgetUnused({ channelKey, queue }: RunningQueue): void {
    const isUnused = queue.status.kind === "idle" && queue.notifications.length === 0;
    if (isUnused && this.#options.targetOf(channelKey) === null) this.#queues.delete(channelKey);
  }

  /** Returns notifications by the channel whose queue they belong to; keeps or drops the others. */
  #assign(notifications: readonly QueuedNotification[]): Map<string, QueuedNotification[]> {
    const byPlace = Map.groupBy(
      notifications,
      (queued) =>
        queued.state === "dropped"
          ? queued.state
          : this.#options.isRevoked(queued)
          ? "revoked"
          : this.#options.placeOf(queued.notification.check, queued.channelKey),
    );
    for (const queued of byPlace.get("dropped") ?? []) this.#dropped.set(queued.id, queued);
    for (const queued of byPlace.get("absent") ?? []) this.#unassigned.set(queued.id, queued);
    this.#drop(byPlace.get("unwanted") ?? [], "its check no longer has this channel");
    this.#drop(byPlace.get("revoked") ?? [], "its check is in the config again");
    this.#dropUnassigned();
    return Map.groupBy(byPlace.get("here") ?? [], ({ channelKey }) => channelKey);
  }

  /** Gives an event to a queue, executes its effects and sets its timer. Returns when all of it is persisted. */
  #apply(running: RunningQueue, event: QueueEvent): Promise<void> {
    const { clock, targetOf, batchingMs, isStillTrue, isExcluded } = this.#options;
    const target = targetOf(running.channelKey);
    this.#followClock();
    const { queue, effects } = transitionQueue(running.queue, event, {
      ...{ batchingMs, isStillTrue, isExcluded, nowMs: clock.wallMs() },
      ...target ?? { batches: false, group: null, staleAfterMs: null },
      limit: sendingLimit(target, this.#limitUses.get(running.channelKey)),
      markers: this.#markers,
      causes: target?.mergesCauses === true ? this.#causesFor(running) : null,
    });
    running.queue = queue;
    this.#setTimer(running);
    return this.#execute(running, effects);
  }

  #execute(running: RunningQueue, effects: readonly QueueEffect[]): Promise<void> {
    let persisted: Promise<void> = Promise.resolve();
    for (const effect of effects) {
      if (effect.kind === "persist") persisted = this.#persist(effect.change);
      else if (effect.kind === "emit") this.#options.onEvent(effect.event);
      else if (effect.kind === "drop") persisted = this.#drop(effect.notifications, effect.reason);
      else running.attempt = this.#attempt(running, effect.message, persisted);
    }
    return persisted;
  }

  #setTimer(running: RunningQueue): void {
    const { clock } = this.#options;
    const atMs = wakeAtMs(running.queue);
    if (running.timer?.atMs === atMs) return;
    running.timer?.cancel();
    running.timer = null;
    if (atMs === Infinity) return;
    const cancel = clock.after(Math.max(0, atMs - clock.wallMs()), () => {
      running.timer = null;
      this.#wake(running);
    });
    running.timer = { atMs, cancel };
  }

  /** Sends what is due, once what decides about its causes is read. */
  #wake(running: RunningQueue): void {
    const { clock, onBug, readsCauses, readCauses, targetOf } = this.#options;
    const wake = (): void => void this.#apply(running, { kind: "woke", isForced: false });
    const { status, notifications } = running.queue;
    const isDue = "untilMs" in status && status.untilMs <= clock.wallMs();
    if (!isDue || targetOf(running.channelKey)?.mergesCauses !== true || !readsCauses()) return wake();
    readCauses(notifications, this.#markers).then(() => {
      running.causesRead = { ids: new Set(notifications.map(({ id }) => id)), atMs: clock.monotonicMs() };
      wake();
    }).catch(onBug);
  }

  /** What came since the results of other members were read, or long after that, waits until they are read again. */
  #causesFor({ causesRead: { ids, atMs } }: RunningQueue): CommonCauses | null {
    const causes = this.#options.causes(this.#markers);
    if (causes === null || !this.#options.readsCauses()) return causes;
    const isFresh = this.#options.clock.monotonicMs() - atMs <= CAUSES_READ_MS;
    return {
      of: (queued) => causes.of(queued),
      awaitsOthers: (queued) => !isFresh || !ids.has(queued.id) || causes.awaitsOthers(queued),
    };
  }

  /** Gives all queues the new time after the wall clock was set back, so that nothing waits longer. */
  #followClock(): void {
    const byMs = -this.#time.catchUp();
    if (byMs <= 0) return;
    for (const [key, use] of this.#limitUses) this.#limitUses.set(key, setUseBack(use, byMs));
    for (const running of this.#queues.values()) this.#apply(running, { kind: "clock_set_back", byMs });
  }

  async #attempt(running: RunningQueue, message: SentMessage, persisted: Promise<void>): Promise<void> {
    try {
      await persisted;
      const outcome = this.#options.maySend(running.channelKey)
        ? await this.#deliver(running, message)
        : { kind: "refused" } as const;
      await this.#apply(running, outcome);
    } catch (error) {
      this.#options.onBug(error);
    }
  }

  /** Delivers a message within the timeout, and returns the outcome as the queue's next event. */
  async #deliver(running: RunningQueue, { id, notifications }: SentMessage): Promise<QueueEvent> {
    const { clock, random, onBug } = this.#options;
    const target = this.#options.targetOf(running.channelKey);
    if (this.#stop.signal.aborted) return { kind: "aborted" };
    const failed = (failure: Failure): QueueEvent => ({ kind: "failed", failure, jitter: random() });
    const failure = { delivered: false, retryable: true, mayHaveArrived: true, retryAfterMs: null } as const;
    // A reload came between, and has moved the notifications.
    if (target === null) return failed({ ...failure, mayHaveArrived: false, reason: "no such channel" });
    const { channel, attemptTimeoutMs } = target;
    using deadline = startDeadline(clock, attemptTimeoutMs, this.#stop.signal);
    try {
      const message = toMessage(id, notifications, { markers: this.#markers, group: target.group });
      const delivery = await this.#options.deliver(message, channel, deadline.signal);
      return delivery.delivered ? { kind: "delivered", note: delivery.note } : failed(delivery);
    } catch (error) {
      if (this.#stop.signal.aborted) return { kind: "aborted" };
      if (!deadline.isTimeUp) onBug(error);
      const reason = deadline.isTimeUp ? `no response within ${attemptTimeoutMs / 1000} s` : "internal error";
      return failed({ ...failure, reason });
    }
  }

  async #untilIdle(running: RunningQueue): Promise<void> {
    let attempt: Promise<void> | null = null;
    while (attempt !== running.attempt) await (attempt = running.attempt);
  }

  #persist(outcome: OutboxChange): Promise<void> {
    // A reload may have removed the channel of a message in progress, which gets no recovery then.
    const markers = outcome.markers.map((marker) =>
      this.#options.placeOf(marker.check, marker.channelKey) === "unwanted"
        ? { ...marker, certain: false }
        : marker
    );
    const change = { ...outcome, markers };
    for (const id of change.removed) {
      this.#dropped.delete(id);
      this.#unassigned.delete(id);
    }
    for (const queued of change.changed) if (queued.state === "dropped") this.#dropped.set(queued.id, queued);
    for (const { channelKey, limitUse } of change.counted ?? []) {
      if (limitUse !== null) this.#limitUses.set(channelKey, limitUse);
    }
    for (const { check, channelKey } of change.cleared) this.#markers.delete(markerKey(check, channelKey));
    for (const marker of change.markers) {
      this.#markers.set(markerKey(marker.check, marker.channelKey), marker);
    }
    return this.#options.persist(change);
  }

  #drop(notifications: readonly QueuedNotification[], reason: string): Promise<void> {
    if (notifications.length === 0) return Promise.resolve();
    const nowMs = this.#options.clock.wallMs();
    const change = dropChange(notifications, { reason, nowMs, before: this.#dropped.values() });
    const persisted = this.#persist(change);
    for (const some of Map.groupBy(notifications, ({ channelKey }) => channelKey).values()) {
      this.#options.onEvent({ event: "dropped", notifications: some, reason });
    }
    return persisted;
  }

  /** Periodically drops expired notifications of which the config has neither check nor channel. */
  #dropUnassigned(): void {
    const { clock } = this.#options;
    const old = [...this.#unassigned.values()].filter(({ notification }) =>
      clock.wallMs() - notification.decidedAtMs > RETRY_OBSOLETE_MS
    );
    for (const { id } of old) this.#unassigned.delete(id);
    this.#drop(old, "neither its check nor its channel is in the config any more");
    if (this.#unassigned.size === 0 || this.#unassignedTimer !== null || this.#stop.signal.aborted) {
      return;
    }
    this.#unassignedTimer = clock.after(UNASSIGNED_EVERY_MS, () => {
      this.#unassignedTimer = null;
      this.#dropUnassigned();
    });
  }
}
