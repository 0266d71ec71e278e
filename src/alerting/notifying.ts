/**
 * From a notification to its channels. Three parts: `suppression.ts` decides on suppressions,
 * `queued_notifications.ts` on the channels that it is due for, and `outcome_writer.ts` persists outcomes. The
 * dispatcher delivers.
 *
 * - Persisted first: the repository persists queued notifications together with the change that led to them; only
 *   then, or if the state can't be written, they are sent.
 * - A notification is due for a channel that was last notified of another condition. A dropped one is due again.
 */
import { conditionBefore } from "../condition/transition.ts";
import { channelEntryOf, deliverTo } from "../channels/registry.ts";
import type { Channel, ChannelFilters } from "../domain/channel.ts";
import type { Check } from "../domain/check.ts";
import type { ConditionState, Suppression } from "../domain/condition.ts";
import type { DeliverContext, Delivery } from "../domain/delivery.ts";
import {
  isShared,
  type KnownNotification,
  type ReceivedNotifications,
  type TakenQueue,
} from "../domain/membership.ts";
import {
  type ChannelCount,
  type DeliveryMarker,
  isNoLongerChecked,
  NOTICE_PREFIX,
  type Notification,
  type QueuedNotification,
  type Silence,
} from "../domain/outbox.ts";
import { type KeptOutbox, StoreError } from "../domain/store.ts";
import type { System } from "../domain/system.ts";
import { type Redact, redactProcesses } from "../shared/redact.ts";
import type { RecordOptions, StateRepository } from "../state/state_repository.ts";
import { conditionFor, isExcluded, isLeftOut, knownTo } from "./channel_filters.ts";
import { isAboutChannel, noticeName, noticeOf } from "./channel_notices.ts";
import { ConfiguredChannels, type NotifyingConfig } from "./configured_channels.ts";
import type { DeliveryEvent } from "./delivery_event.ts";
import { markerKey } from "./delivery_markers.ts";
import { Dependents } from "./dependents.ts";
import { Dispatcher, type DispatcherOptions } from "./dispatcher.ts";
import { RETRY_OBSOLETE_MS } from "./dropping.ts";
import { KnownNotifications, notifiedOf } from "./known_notifications.ts";
import { MEMBER_SEQUENCE_MIN, toOpenChange, toSentOpen } from "./open_sending.ts";
import { OutcomeWriter } from "./outcome_writer.ts";
import {
  conditionAfter,
  type LastNotified,
  lastNotified,
  newQueued,
  queueFor,
  type QueueOptions,
  shortNotification,
} from "./queued_notifications.ts";
import { type ChannelUser, findRekeyed } from "./rekey.ts";
import { silencesOf } from "./silences.ts";
import { suppressionOf, type SuppressionOptions, unknownDependencies } from "./suppression.ts";
import { uncheckedOf, whyUnchecked } from "./unchecked.ts";

interface NotifyingOptions {
  readonly system: System;
  /** Has the confirmed conditions, and persists queued notifications. */
  readonly repository: StateRepository;
  /** The persisted outbox when the state was opened. */
  readonly kept: KeptOutbox;
  readonly notifies: boolean;
  /** Whether everything is retried at once, as after a reload. Otherwise it waits for its time. @default true */
  readonly retriesAtStart?: boolean;
  /** The checks that left the config since its last use; absent: all that are notified of and not in it. */
  readonly left?: ReadonlySet<string>;
  /** How long the first notification of a channel waits for others; milliseconds. */
  readonly batchingMs: number;
  /** This process as a member, if several share the state. @default null */
  readonly member?: SendingMember | null;
  writeLine(line: string): void;
  onEvent(event: DeliveryEvent): void;
  /** Called with errors that must not happen. */
  onBug(error: unknown): void;
}

/** This process as a member: only the queues that it owns are sent, including notifications of other members. */
interface SendingMember {
  /** Returns whether it may send the pending notifications of a queue now. */
  claims(channelKey: string): boolean;
  /** Whether its config is that of most members. */
  readonly hasActiveConfig: boolean;
  /** Whether it sends notifications of its own checks without the shared state, which is unreachable. */
  readonly isOpen: boolean;
  /** Receives notifications that were just persisted, if their queue is owned. */
  poke(): void;
}

/** The inputs of a decision about a notification. */
type Deciding = Required<
  Pick<RecordOptions, "suppressedBy" | "queue" | "known" | "acknowledged" | "dependents">
>;

/**
 * The time that the first notification of a channel waits for others, so that simultaneous failures are sent
 * together.
 */
export const BATCHING_DELAY_MS = 2_000;

export function startNotifying(config: NotifyingConfig, options: NotifyingOptions): Notifying {
  return new Notifying(config, options);
}

export class Notifying {
  readonly #options: NotifyingOptions;
  readonly #writer: OutcomeWriter;
  readonly #dispatcher: Dispatcher;
  #config: NotifyingConfig;
  #channels: ConfiguredChannels;
  #running: ReadonlyMap<string, Check>;
  #dependents: Dependents;
  #silences: readonly Silence[] = [];
  #sequence: number;
  /** Queued notifications of each check that are not persisted yet, and so not sent. */
  readonly #unsent = new Map<string, readonly QueuedNotification[]>();
  readonly #member: SendingMember | null;
  /** Of a member: notifications that are in memory only, since the shared state can't be written. */
  #unsaved: readonly QueuedNotification[] = [];
  /** Of a member. */
  readonly #known = new KnownNotifications();
  /** The users before the last reload, which have the titles of checks that left. */
  #usersBefore: readonly ChannelUser[] = [];
  /** Ends of problems of unchecked checks that are not in their queue yet, by check and channel. */
  readonly #ending = new Map<string, QueuedNotification>();

  constructor(config: NotifyingConfig, options: NotifyingOptions) {
    const { repository, kept, notifies, retriesAtStart = true, member = null, onBug } = options;
    this.#options = options;
    this.#member = member;
    this.#config = config;
    this.#channels = new ConfiguredChannels(config);
    this.#running = byName(config.running);
    this.#dependents = new Dependents(config.running);
    this.#sequence = kept.notifications.reduce(
      (largest, { sequence }) => Math.max(largest, sequence),
      member === null ? 0 : MEMBER_SEQUENCE_MIN,
    ) + 1;
    this.#writer = new OutcomeWriter({
      repository,
      counts: kept.counts,
      snapshot: () => ({ notifications: this.queued, markers: this.#dispatcher.markers }),
      onBug,
    });
    const persisted = member !== null
      ? { notifications: [], markers: [], counts: [] }
      : notifies
      ? kept
      : { ...kept, notifications: [] };
    this.#dispatcher = new Dispatcher(persisted, this.#dispatcherOptions());
    if (!notifies) return;
    const isObsolete = (marker: DeliveryMarker): boolean => this.#isObsolete(marker);
    if (retriesAtStart) this.#dispatcher.reload(new Map(), isObsolete);
    else this.#dispatcher.forgetObsolete(isObsolete);
    this.#endUnchecked();
  }

  /** Reads the silences again: another process may have made one. */
  async refresh(): Promise<void> {
    // A member reads them with each heartbeat.
    if (this.#member !== null) return;
    try {
      this.#silences = await this.#options.repository.store.silences(this.#options.system.clock.wallMs());
    } catch (error) {
      // While the state can't be read, the last silences remain.
      if (!(error instanceof StoreError)) throw error;
    }
  }

  /** Returns the suppression of notifications of a check; `null`: none. */
  suppressedBy(check: Check, nowMs: number): Suppression | null {
    if (this.#isOvertaken(check)) return "overtaken";
    return suppressionOf(check, this.#suppressionOptions(nowMs));
  }

  dependenciesToRun(check: Check, nowMs: number): readonly Check[] {
    return unknownDependencies(check, this.#suppressionOptions(nowMs));
  }

  deciding(check: Check, nowMs: number): Deciding {
    const acknowledged = this.#acknowledgedOf(check, nowMs);
    const filtering = { nowMs, isAcknowledged: acknowledged !== null };
    return {
      suppressedBy: this.suppressedBy(check, nowMs),
      acknowledged,
      dependents: this.#dependents.countOf(check.name),
      // Without notifications there is no queue.
      known: (state) =>
        this.#options.notifies
          ? check.notifications.flatMap((channel) =>
            knownTo(channel, this.#lastNotified(check.name, channel).conditions, state, filtering)
          )
          : [],
      queue: (notification, state) =>
        this.#queue(notification, check, {
          before: conditionBefore(state),
          isLeftOut: (channel, conditions) => isLeftOut(channel, conditions, state, filtering),
        }),
    };
  }

  /** The record does not have the last notification of a channel that may not get a problem when others do. */
  #isOvertaken({ name, notifications }: Check): boolean {
    return this.#member !== null && !this.#member.isOpen && this.#options.repository.isWritable &&
      this.#known.isForgotten(name) &&
      notifications.some(({ afterMs, hours }) => afterMs !== undefined || hours !== undefined);
  }

  /** Returns the note of the acknowledgement of a check's problem; `null`: not acknowledged. */
  #acknowledgedOf({ name, tags }: Check, nowMs: number): string | null {
    if (this.#silences.length === 0) return null;
    const { problemBeganAtMs } = this.#stateOf(name);
    const [first] = silencesOf({ name, tags, problemBeganAtMs }, this.#silences, {
      kind: "acknowledgement",
      nowMs,
    });
    return first?.reason ?? null;
  }

  send(queued: readonly QueuedNotification[]): void {
    for (const { notification: { check } } of queued) {
      const unsent = this.#unsent.get(check)?.filter((one) => !queued.includes(one)) ?? [];
      if (unsent.length > 0) this.#unsent.set(check, unsent);
      else this.#unsent.delete(check);
    }
    if (this.#member === null) return this.#dispatcher.add(queued);
    this.#member.poke();
    if (this.#options.repository.isWritable) return;
    this.#unsaved = [...this.#unsaved, ...queued];
    if (this.#member.isOpen) this.#dispatcher.add(queued.map(toSentOpen));
  }

  /** Returns a summary as it is queued for each of its channels. */
  queuedSummary(summary: Notification): readonly QueuedNotification[] {
    const nowMs = this.#options.system.clock.wallMs();
    return this.#channels.ofSummary.map((channel) =>
      newQueued(shortNotification(summary, channelEntryOf(channel).textMax), {
        channelKey: channel.key,
        channelName: this.#channels.nameOf(channel),
        sequence: this.#sequence++,
        nowMs,
      })
    );
  }

  /** Sends a summary that is persisted. */
  sendSummary(queued: readonly QueuedNotification[]): void {
    if (this.#member === null) this.#dispatcher.add(queued);
    else this.#member.poke();
  }

  /** Sends notifications that the shared state does not have. */
  failOpen(): void {
    this.#dispatcher.add(this.#unsaved.map(toSentOpen));
  }

  /** Sends through the shared state again: persists everything, and leaves all queues. Resolves to whether it could. */
  async failClosed(): Promise<boolean> {
    await this.#writer.retry();
    if (!this.#writer.isWritable) return false;
    this.#unsaved = [];
    this.#ended(() => true);
    await this.#dispatcher.releaseAll();
    await this.#writer.retry();
    return true;
  }

  /** Uses silences that were read with a heartbeat. */
  silence(silences: readonly Silence[]): void {
    this.#silences = silences;
  }

  /** Uses the records of checks that others have written, until the last notifications of the channels are known. */
  forget(checks: readonly string[]): void {
    this.#known.forget(checks);
  }

  /**
   * Reads the last notifications of channels, for checks that run here from now on, or were decided elsewhere. Local
   * decisions that are not stored yet, or were forgotten meanwhile, are newer.
   */
  async know(
    checks: readonly string[],
    read: (checks: readonly string[]) => Promise<readonly KnownNotification[]>,
  ): Promise<void> {
    const unstored = new Set([
      ...this.#unsent.keys(),
      ...this.#unsaved.map(({ notification: { check } }) => check),
    ]);
    await this.#known.read(checks, { isUnstored: (check) => unstored.has(check), read });
  }

  /** Begins with the queue of a channel, see {@linkcode Dispatcher}. */
  take({ queue: { channelKey }, markers, limitUse }: TakenQueue): void {
    this.#dispatcher.take(markers);
    this.#dispatcher.takeLimit(channelKey, limitUse);
  }

  /** Adds notifications of own queues. */
  receive({ notifications, markers }: ReceivedNotifications): void {
    if (!this.#writer.isWritable) void this.#writer.retry();
    this.#dispatcher.take(markers);
    this.#dispatcher.receive(notifications);
    this.#ended((end) => notifications.some(({ id }) => id === end.id));
    this.#endUnchecked();
  }

  /** Leaves the queue of a channel to another member. */
  release(channelKey: string): Promise<void> {
    this.#ended((end) => end.channelKey === channelKey);
    return this.#dispatcher.release(channelKey);
  }

  /** Returns how long an attempt to send to a channel may take; 0 if the config has no such channel. */
  attemptTimeoutMs(channelKey: string): number {
    return this.#channels.targetOf(channelKey)?.attemptTimeoutMs ?? 0;
  }

  reload(config: NotifyingConfig): void {
    const { users } = this.#config;
    this.#usersBefore = users;
    const notices = [...this.#channels.names.values()].map(noticeName);
    this.#config = config;
    this.#channels = new ConfiguredChannels(config);
    this.#running = byName(config.running);
    this.#dependents = new Dependents(config.running);
    if (!this.#options.notifies) return;
    const rekeyed = findRekeyed(users, config.users, {
      nameOf: (channel) => this.#channels.nameOf(channel),
      notices,
    });
    this.#known.move(rekeyed);
    this.#dispatcher.reload(rekeyed, (marker) => this.#isObsolete(marker));
    // A member first compares its new config with those of the others.
    if (this.#member === null) this.#endUnchecked();
  }

  /**
   * Tries each pending notification once, and each rejected one that is due. Returns when all were tried or time is up.
   */
  drain(deadlineMs: number): Promise<void> {
    return this.#dispatcher.drain(deadlineMs);
  }

  /** Persists the outcomes that could not be persisted, for when the state is writable again. */
  persistPending(): Promise<void> {
    this.#unsaved = [];
    return this.#writer.retry();
  }

  /** All queued notifications: pending, rejected and dropped ones. */
  get queued(): readonly QueuedNotification[] {
    return this.#options.notifies ? this.#dispatcher.all : this.#options.kept.notifications;
  }

  /** Returns those of these that this config still sends. */
  get pending(): readonly QueuedNotification[] {
    return this.#dispatcher.pending;
  }

  /** Returns until when the messages of a channel wait for its limit; `null`: none does. */
  limitedUntilMs(channelKey: string): number | null {
    return this.#dispatcher.limitedUntilMs(channelKey);
  }

  /** Accepted and rejected deliveries of each channel, as far as they are persisted. */
  get counts(): readonly ChannelCount[] {
    return this.#writer.counts;
  }

  /** The names of the config's channels, by key. */
  get channelNames(): ReadonlyMap<string, string> {
    return this.#channels.names;
  }

  /** Sends nothing more, and persists the last outcomes. */
  async stop(): Promise<void> {
    await this.#dispatcher.stop();
    await this.#writer.retry();
  }

  #dispatcherOptions(): DispatcherOptions {
    const { system, batchingMs, onEvent, onBug } = this.#options;
    return {
      clock: system.clock,
      random: system.random,
      batchingMs,
      targetOf: (channelKey) => this.#channels.targetOf(channelKey),
      placeOf: (check, channelKey) => this.#channels.placeOf(check, channelKey),
      isRevoked: (queued) => this.#isRevoked(queued),
      deliver: async (message, channel, signal) => {
        // A reload meanwhile replaces the config, and its secrets.
        const { redact } = this.#config;
        const delivery = await deliverTo(channel, message, this.#deliverContext(signal));
        return redactDelivery(delivery, redact);
      },
      persist: (change) => this.#writer.write(this.#member?.isOpen ? toOpenChange(change) : change),
      maySend: (channelKey) => this.#claims(channelKey),
      isStillTrue: (queued) => this.#isStillTrue(queued),
      isExcluded: (queued) => isExcluded(this.#filtersOf(queued), queued),
      onEvent: (event) => {
        onEvent(event);
        this.#notice(event).catch((error) => error instanceof StoreError || onBug(error));
      },
      onBug,
    };
  }

  /** Tells the fallback of a channel that it rejects notifications, or accepts them again. */
  async #notice(event: DeliveryEvent): Promise<void> {
    const { system: { clock, randomId, hostName } } = this.#options;
    if (!isAboutChannel(event)) return;
    const channelKey = event.notifications[0]?.channelKey ?? "";
    const [channel, fallback] = [
      this.#channels.targetOf(channelKey)?.channel,
      this.#channels.fallbackOf(channelKey),
    ];
    if (channel === undefined || fallback === null) return;
    const channelName = this.#channels.nameOf(channel);
    const [check, known] = [noticeName(channelName), this.#options.repository.store];
    const condition = this.#member === null || !isShared(known)
      // Without waiting, so that the notice is in the transaction of the outcome that it is about.
      ? lastNotified(
        this.#dispatcher.lastOf(check, fallback.key),
        this.#dispatcher.markerOf(check, fallback.key),
      )
        .conditions[0]
      : (await known.known([check])).find((one) => one.channelKey === fallback.key)?.condition;
    const notice = noticeOf(event, {
      channelName,
      fallback: { key: fallback.key, name: this.#channels.nameOf(fallback) },
      isNotified: (condition ?? "ok") !== "ok",
      newId: randomId,
      hostName: hostName(),
      sequence: this.#sequence++,
      nowMs: clock.wallMs(),
    });
    if (notice !== null) await this.#sendNotices([notice]);
  }

  /** Ends the problems that channels were notified of, of checks that the config no longer runs. */
  #endUnchecked(): void {
    if (this.#member?.hasActiveConfig === false) return;
    const { system: { clock, randomId, hostName }, left, onBug } = this.#options;
    const queued = [...this.#dispatcher.pending, ...[...this.#unsent.values()].flat()];
    const notified = [
      ...this.#dispatcher.markers,
      ...queued.map(({ channelKey, notification: { check } }) => ({ channelKey, check })),
    ];
    // A member asks each second: without a problem, the checks are not listed.
    if (notified.length === 0) return;
    const noticed = [...this.#channels.names.values()].map((name) => ({
      name: noticeName(name),
      notifications: [],
    }));
    const users = byName([...noticed, ...this.#config.users]);
    const titles = byName([...this.#usersBefore, ...this.#config.users]);
    const nowMs = clock.wallMs();
    const ends: QueuedNotification[] = [];
    for (const { check, channelKey } of notified) {
      const why = left?.has(check) === false ? null : whyUnchecked(check, users);
      const channel = this.#channels.targetOf(channelKey)?.channel;
      if (why === null || channel === undefined || this.#ending.has(markerKey(check, channelKey))) continue;
      if (this.#channels.placeOf(check, channelKey) !== "here") continue;
      const { notifiedProblemBeganAtMs, problemBeganAtMs } = this.#stateOf(check);
      const end = uncheckedOf(check, {
        id: randomId(),
        title: titles.get(check)?.title ?? null,
        hostName: hostName(),
        problemBeganAtMs: notifiedProblemBeganAtMs ?? problemBeganAtMs ?? nowMs,
        why,
        last: lastNotified(this.#lastQueued(check, channelKey), this.#dispatcher.markerOf(check, channelKey)),
        nowMs,
      });
      if (end === null) continue;
      const channelName = this.#channels.nameOf(channel);
      const last = newQueued(end, { channelKey, channelName, sequence: this.#sequence++, nowMs });
      this.#ending.set(markerKey(check, channelKey), last);
      ends.push(last);
    }
    if (ends.length > 0) this.#sendEnds(ends).catch(onBug);
  }

  async #sendEnds(ends: readonly QueuedNotification[]): Promise<void> {
    const { repository, system: { clock } } = this.#options;
    const checks = new Set(ends.map(({ notification: { check } }) => check));
    try {
      // Another member may have run them.
      if (isShared(repository.store)) repository.adopt(await repository.store.load([...checks]));
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
    }
    repository.beginAgain(checks, clock.wallMs());
    await this.#sendNotices(ends);
  }

  /** Notes that ends are in their queues, or in those of another member. */
  #ended(isThere: (end: QueuedNotification) => boolean): void {
    for (const [key, end] of this.#ending) if (isThere(end)) this.#ending.delete(key);
  }

  async #sendNotices(notices: readonly QueuedNotification[]): Promise<void> {
    await this.#writer.write({ changed: [], removed: [], markers: [], cleared: [], notices });
    this.send(notices);
    if (this.#member === null) this.#ended((end) => notices.includes(end));
  }

  #deliverContext(signal: AbortSignal): DeliverContext {
    const { system, writeLine } = this.#options;
    const { directory, redact } = this.#config;
    const processes = redactProcesses(system.processes, redact);
    return { system: { ...system, processes }, directory, writeLine, onStep: () => {}, signal };
  }

  #claims(channelKey: string): boolean {
    // Without a claim in the database, another member may be sending the same.
    return this.#member === null || this.#member.isOpen ||
      this.#writer.isWritable && this.#member.claims(channelKey);
  }

  /**
   * A member has the state of its own checks only: the last notification of another check is the true one. So is that
   * of what is no check: a summary, or a notice about a channel.
   */
  #isStillTrue({ id, channelKey, notification }: QueuedNotification): boolean {
    const { check, event } = notification;
    const { confirmed, observedAtMs } = this.#stateOf(check);
    const isChecked = this.#member === null && !isNoLongerChecked(notification);
    if (isChecked && event !== "summary" && observedAtMs !== null) {
      const channel = this.#channels.useOf(check, channelKey) ?? {};
      const notified = conditionAfter(notification);
      return conditionFor(channel, confirmed ?? "ok", notified) === notified;
    }
    return this.#dispatcher.lastOf(check, channelKey)?.id === id;
  }

  /**
   * Returns whether an end was not sent before its check came back: the problem may go on, or its recovery follows. A
   * member does not revoke ends, since the member that runs the check may already rely on them.
   */
  #isRevoked({ notification, missedProblem, messageId }: QueuedNotification): boolean {
    return this.#member === null && isNoLongerChecked(notification) && missedProblem === null &&
      messageId === null &&
      this.#config.users.some(({ name, active }) => name === notification.check && active !== false);
  }

  /** A check that left has no use of the channel, whose own filters apply. Those of a fallback are not for notices. */
  #filtersOf({ notification: { check }, channelKey }: QueuedNotification): ChannelFilters {
    return this.#channels.useOf(check, channelKey) ??
      (check.startsWith(NOTICE_PREFIX) ? null : this.#channels.targetOf(channelKey)?.channel) ?? {};
  }

  #knowQueued(check: Check, queued: readonly QueuedNotification[]): void {
    this.#known.add(check.name, [
      ...check.notifications.map((channel) =>
        [channel.key, this.#lastNotified(check.name, channel)] as const
      ),
      ...queued.map(({ channelKey, notification }) =>
        [channelKey, notifiedOf([conditionAfter(notification)])] as const
      ),
    ]);
  }

  readonly #stateOf = (check: string): ConditionState => {
    const { repository, system } = this.#options;
    return repository.recordOf(check, system.clock.wallMs()).condition;
  };

  #suppressionOptions(nowMs: number): SuppressionOptions {
    return {
      notifies: this.#options.notifies,
      silences: this.#silences,
      running: this.#running,
      stateOf: this.#stateOf,
      nowMs,
    };
  }

  /**
   * Returns whether a marker of a channel that its check no longer has is of no more use: a day after the recovery.
   */
  #isObsolete({ check }: DeliveryMarker): boolean {
    const nowMs = this.#options.system.clock.wallMs();
    const { confirmed, confirmedSinceMs } = this.#stateOf(check);
    return confirmed === "ok" && nowMs - (confirmedSinceMs ?? nowMs) > RETRY_OBSOLETE_MS;
  }

  #lastNotified(check: string, channel: Channel): LastNotified {
    const { key: channelKey } = channel;
    if (this.#member !== null) {
      return this.#known.lastOf(check, channelKey) ??
        notifiedOf([conditionFor(channel, this.#stateOf(check).notified)]);
    }
    return lastNotified(this.#lastQueued(check, channelKey), this.#dispatcher.markerOf(check, channelKey));
  }

  #lastQueued(check: string, channelKey: string): QueuedNotification | null {
    return this.#unsent.get(check)?.findLast((one) => one.channelKey === channelKey) ??
      this.#dispatcher.lastOf(check, channelKey);
  }

  #queue(
    notification: Notification,
    check: Check,
    ofState: Pick<QueueOptions, "before" | "isLeftOut">,
  ): readonly QueuedNotification[] {
    const queued = queueFor(notification, {
      ...ofState,
      channels: check.notifications,
      nameOf: (channel) => this.#channels.nameOf(channel),
      lastNotifiedOf: (channel) => this.#lastNotified(check.name, channel),
      textMaxOf: (channel) => channelEntryOf(channel).textMax,
      sequence: this.#sequence,
      nowMs: this.#options.system.clock.wallMs(),
    });
    this.#sequence += queued.length;
    if (queued.length === 0) return queued;
    this.#unsent.set(check.name, [...this.#unsent.get(check.name) ?? [], ...queued]);
    if (this.#member !== null) this.#knowQueued(check, queued);
    return queued;
  }
}

/** A receiver may echo the request. */
function redactDelivery(delivery: Delivery, redact: Redact): Delivery {
  if (!delivery.delivered) return { ...delivery, reason: redact(delivery.reason) };
  return { ...delivery, note: delivery.note === null ? null : redact(delivery.note) };
}

function byName<T extends { readonly name: string }>(some: readonly T[]): ReadonlyMap<string, T> {
  return new Map(some.map((one) => [one.name, one]));
}
