/**
 * Sends notifications to their channels, and knows what each channel was last notified of.
 *
 * - Persisted first: the repository persists queued notifications together with the change that led to them; only
 *   then, or if the state can't be written, they are sent.
 * - A dropped notification is due again.
 */
import { notDelivered } from "../channels/clean_text.ts";
import { channelEntryOf } from "../channels/registry.ts";
import type { Channel, ChannelFilters } from "../domain/channel.ts";
import type { Check } from "../domain/check.ts";
import type { Condition, ConditionState } from "../domain/condition.ts";
import type { DeliverContext, Delivery, Message, TextMax } from "../domain/delivery.ts";
import {
  type ChannelCount,
  type DeliveryMarker,
  isNoLongerChecked,
  isStandalone,
  NOTICE_PREFIX,
  type Notification,
  type OutboxChange,
  type QueuedNotification,
  type Silence,
} from "../domain/outbox.ts";
import { type KeptOutbox, StoreError } from "../domain/store.ts";
import type { System } from "../domain/system.ts";
import { type Redact, redactProcesses } from "../shared/redact.ts";
import type { StateRepository } from "../state/state_repository.ts";
import { conditionFor, isExcluded } from "./channel_filters.ts";
import {
  conditionAfter,
  isAboutChannel,
  type LastNotified,
  lastNotified,
  newQueued,
  noticeName,
  noticeOf,
  shortNotification,
} from "./queued_notifications.ts";
import { ConfiguredChannels, type NotifyingConfig, withFacts } from "./configured_channels.ts";
import { type CommonCauses, type DeliveryEvent } from "./queue_state.ts";
import { causesIn, type CausesOptions } from "./causes.ts";
import { commonCausesOf, digestOf } from "./batching.ts";
import { type DeliveryMarkers, markerKey, RETRY_OBSOLETE_MS } from "./outbox_changes.ts";
import { Dispatcher, type DispatcherOptions } from "./dispatcher.ts";
import { OutcomeWriter } from "./outcome_writer.ts";
import { type ChannelUser, findRekeyed, type Rekeyed, uncheckedOf, whyUnchecked } from "./rekey.ts";

export interface SenderOptions {
  readonly system: System;
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
  writeLine(line: string): void;
  /** Delivers a message; throws only if the signal aborts, and for bugs. @default delivery by the channel's kind */
  deliver?(channel: Channel, message: Message, context: DeliverContext): Promise<Delivery>;
  onEvent(event: DeliveryEvent): void;
  onBug(error: unknown): void;
}

/** The time that the first notification of a channel waits for others, so that simultaneous failures are sent together. */
export const BATCHING_DELAY_MS = 2_000;

/** In an outage of thousands, the search for causes takes longer than a message. */
const CAUSES_MS = 1_000;

/** Starts to send what is persisted, and what is added. */
export function startSender(config: NotifyingConfig, options: SenderOptions): Sender {
  const sender = new Sender(config, options);
  sender.start();
  return sender;
}

export class Sender {
  protected readonly options: SenderOptions;
  protected readonly writer: OutcomeWriter;
  protected readonly dispatcher: Dispatcher;
  protected channels: ConfiguredChannels;
  /** Queued notifications of each check that are not persisted yet, and so not sent. */
  protected readonly unsent = new Map<string, readonly QueuedNotification[]>();
  #config: NotifyingConfig;
  #running: ReadonlyMap<string, Check>;
  /** The causes at a time, for all messages within {@linkcode CAUSES_MS} of it. */
  #causesNow: CausesOptions;
  #causesAtMs = -Infinity;
  #causesVersion = 0;
  #silences: readonly Silence[] = [];
  #sequence: number;
  /** The users before the last reload, which have the titles of checks that left. */
  #usersBefore: readonly ChannelUser[] = [];
  /** Ends of problems of unchecked checks that are not in their queue yet, by check and channel. */
  readonly #ending = new Map<string, QueuedNotification>();

  /** See {@linkcode startSender}; `queues` is what this process sends of the persisted outbox. */
  constructor(
    config: NotifyingConfig,
    options: SenderOptions,
    queues: KeptOutbox = options.notifies ? options.kept : { ...options.kept, notifications: [] },
    sequenceMin = 0,
  ) {
    const { repository, kept, onBug } = options;
    this.options = options;
    this.#config = config;
    this.#running = byName(config.running);
    this.#causesNow = causesIn(repository, this.#running, 0);
    this.channels = new ConfiguredChannels(config);
    this.#sequence = kept.notifications.reduce(
      (largest, { sequence }) => Math.max(largest, sequence),
      sequenceMin,
    ) + 1;
    this.writer = new OutcomeWriter({
      repository,
      counts: kept.counts,
      snapshot: () => ({ notifications: this.queued, markers: this.dispatcher.markers }),
      onBug,
    });
    this.dispatcher = new Dispatcher(queues, this.#dispatcherOptions());
  }

  /** Retries what is pending, and ends the problems of checks that left. */
  start(): void {
    const { notifies, retriesAtStart = true } = this.options;
    if (!notifies) return;
    const isObsolete = (marker: DeliveryMarker): boolean => this.#isObsolete(marker);
    if (retriesAtStart) this.dispatcher.reload(new Map(), isObsolete);
    else this.dispatcher.forgetObsolete(isObsolete);
    this.endUnchecked();
  }

  /** Whether notifications are sent; without them, they stay due. */
  get notifies(): boolean {
    return this.options.notifies;
  }

  /** Silences, acknowledgements and started maintenance windows, as they were last read. */
  get silences(): readonly Silence[] {
    return this.#silences;
  }

  /** The sequence of the next notification that is queued. */
  get sequence(): number {
    return this.#sequence;
  }

  /** Reads the silences again: another process may have made one. */
  async refresh(): Promise<void> {
    try {
      this.silence(await this.options.repository.store.silences(this.options.system.clock.wallMs()));
    } catch (error) {
      // While the state can't be read, the last silences remain.
      if (!(error instanceof StoreError)) throw error;
    }
  }

  silence(silences: readonly Silence[]): void {
    this.#silences = silences;
  }

  /** Whether it sends while the shared state is unreachable: newer results of other members are missing. */
  get isAlone(): boolean {
    return false;
  }

  /** Whether others have decided about a check, and what its channels were notified of is not read yet. */
  isOvertaken(_check: Check): boolean {
    return false;
  }

  lastNotifiedOf(check: string, { key }: Channel): LastNotified {
    return lastNotified(this.#lastQueued(check, key), this.dispatcher.markerOf(check, key));
  }

  readonly nameOf = (channel: Channel): string => this.channels.nameOf(channel);

  readonly textMaxOf = (channel: Channel): TextMax => channelEntryOf(channel).textMax;

  /** Notes notifications that were decided, until they are sent. A rehearsal has the name of no check. */
  decided({ name }: Check, queued: readonly QueuedNotification[]): void {
    this.#sequence += queued.length;
    const own = queued.filter(({ notification: { check } }) => check === name);
    if (own.length > 0) this.unsent.set(name, [...this.unsent.get(name) ?? [], ...own]);
  }

  /** Sends notifications that were decided and are persisted, or can't be. */
  send(queued: readonly QueuedNotification[]): void {
    for (const { notification: { check } } of queued) {
      const unsent = this.unsent.get(check)?.filter((one) => !queued.includes(one)) ?? [];
      if (unsent.length > 0) this.unsent.set(check, unsent);
      else this.unsent.delete(check);
    }
    this.add(queued);
  }

  /** Adds persisted notifications to their queues. */
  protected add(queued: readonly QueuedNotification[]): void {
    this.dispatcher.add(queued);
  }

  queuedSummary(summary: Notification): readonly QueuedNotification[] {
    return this.channels.ofSummary.map((channel) =>
      this.#queuedFor(channel, shortNotification(summary, this.textMaxOf(channel)))
    );
  }

  #queuedFor(channel: Channel, notification: Notification): QueuedNotification {
    return newQueued(notification, {
      channelKey: channel.key,
      channelName: this.nameOf(channel),
      sequence: this.#sequence++,
      nowMs: this.options.system.clock.wallMs() + (channel.group?.waitMs ?? 0),
    });
  }

  reload(config: NotifyingConfig): void {
    this.adopt(config);
    this.endUnchecked();
  }

  protected adopt(config: NotifyingConfig): void {
    const { users } = this.#config;
    this.#usersBefore = users;
    const notices = [...this.channels.names.values()].map(noticeName);
    this.#config = config;
    this.#running = byName(config.running);
    this.#causesAtMs = -Infinity;
    this.channels = new ConfiguredChannels(config);
    if (!this.notifies) return;
    this.move(findRekeyed(users, config.users, { nameOf: this.nameOf, notices }));
  }

  protected move(rekeyed: Rekeyed): void {
    this.dispatcher.reload(rekeyed, (marker) => this.#isObsolete(marker));
  }

  /** Tries each pending notification once, and each rejected one that is due. Returns when all were tried or time is up. */
  drain(deadlineMs: number): Promise<void> {
    return this.dispatcher.drain(deadlineMs);
  }

  /** Persists the outcomes that could not be persisted, for when the state is writable again. */
  persistPending(): Promise<void> {
    return this.writer.retry();
  }

  /** All queued notifications: pending, rejected and dropped ones. */
  get queued(): readonly QueuedNotification[] {
    return this.notifies ? this.dispatcher.all : this.options.kept.notifications;
  }

  /** Returns those of these that this config still sends. */
  get pending(): readonly QueuedNotification[] {
    return this.dispatcher.pending;
  }

  /** Returns until when the messages of a channel wait for its limit; `null`: none does. */
  limitedUntilMs(channelKey: string): number | null {
    return this.dispatcher.limitedUntilMs(channelKey);
  }

  /** Accepted and rejected deliveries of each channel, as far as they are persisted. */
  get counts(): readonly ChannelCount[] {
    return this.writer.counts;
  }

  get channelNames(): ReadonlyMap<string, string> {
    return this.channels.names;
  }

  /** Sends nothing more, and persists the last outcomes. */
  async stop(): Promise<void> {
    await this.dispatcher.stop();
    await this.writer.retry();
  }

  #dispatcherOptions(): DispatcherOptions {
    const { system, batchingMs, deliver = byKind, onEvent, onBug } = this.options;
    return {
      clock: system.clock,
      random: system.random,
      batchingMs,
      targetOf: (channelKey) => this.channels.targetOf(channelKey),
      placeOf: (check, channelKey) => this.channels.placeOf(check, channelKey),
      isRevoked: (queued) => this.isRevoked(queued),
      deliver: async (message, channel, signal) => {
        // A reload meanwhile replaces the config, and its secrets.
        const { redact } = this.#config;
        const whole = withFacts(message, this.#config);
        const isDigest = !channelEntryOf(channel).batches(channel);
        const delivery = await deliver(
          channel,
          isDigest ? withFacts(digestOf(whole), this.#config) : whole,
          this.#deliverContext(signal),
        );
        return redactDelivery(delivery, redact);
      },
      persist: (change) => this.writer.write(this.outcomeOf(change)),
      maySend: (channelKey) => this.claims(channelKey),
      causes: (markers) => this.#causes(markers),
      readsCauses: () => this.#config.commonCauses && this.readsCauses(),
      readCauses: async (pending, markers) => {
        await this.readCauses(pending, markers);
        this.#causesAtMs = -Infinity;
      },
      isStillTrue: (queued) => this.isStillTrue(queued),
      isExcluded: (queued) => isExcluded(this.#filtersOf(queued), queued),
      onEvent: (event) => {
        onEvent(event);
        this.#notice(event).catch((error) => error instanceof StoreError || onBug(error));
      },
      onBug,
    };
  }

  #causes(markers: DeliveryMarkers): CommonCauses | null {
    const { repository, system: { clock } } = this.options;
    if (!this.#config.commonCauses) return null;
    const nowMs = clock.wallMs();
    const ageMs = nowMs - this.#causesAtMs;
    const { version } = repository.attributes;
    if (ageMs < 0 || ageMs >= CAUSES_MS || version !== this.#causesVersion) {
      this.#causesVersion = version;
      this.#causesNow = causesIn(repository, this.#running, nowMs);
      this.#causesAtMs = nowMs;
    }
    return commonCausesOf(this.#causesNow, markers, nowMs);
  }

  /** Tells the fallback of a channel that it rejects notifications, or accepts them again. */
  async #notice(event: DeliveryEvent): Promise<void> {
    const { system: { clock, randomId, hostName } } = this.options;
    if (!isAboutChannel(event)) return;
    const channelKey = event.notifications[0]?.channelKey ?? "";
    const channel = this.channels.targetOf(channelKey)?.channel;
    const fallback = this.channels.fallbackOf(channelKey);
    if (channel === undefined || fallback === null) return;
    const channelName = this.nameOf(channel);
    const notified = this.lastNotice(noticeName(channelName), fallback);
    // Not by `await` alone: the notice is in the transaction of the outcome that it is about.
    const condition = notified instanceof Promise ? await notified : notified;
    const notice = noticeOf(event, {
      channelName,
      isNotified: condition !== "ok",
      newId: randomId,
      hostName: hostName(),
      nowMs: clock.wallMs(),
    });
    if (notice !== null) await this.#sendNotices([this.#queuedFor(fallback, notice)]);
  }

  /** Returns the condition of the last notice about a channel that another one was sent. */
  protected lastNotice(notice: string, channel: Channel): Condition | Promise<Condition> {
    return this.lastNotifiedOf(notice, channel).conditions[0] ?? "ok";
  }

  /** Ends the problems that channels were notified of, of checks that the config no longer runs. */
  protected endUnchecked(): void {
    const { system: { clock, randomId, hostName }, left, onBug } = this.options;
    const queued = [...this.dispatcher.pending, ...[...this.unsent.values()].flat()];
    const notified = [
      ...this.dispatcher.markers,
      ...queued.map(({ channelKey, notification: { check } }) => ({ channelKey, check })),
    ];
    // A member asks each second: without a problem, the checks are not listed.
    if (notified.length === 0) return;
    const noticed = [...this.channels.names.values()].map((name) => ({
      name: noticeName(name),
      notifications: [],
    }));
    const users = byName([...noticed, ...this.#config.users]);
    const titles = byName([...this.#usersBefore, ...this.#config.users]);
    const nowMs = clock.wallMs();
    const ends: QueuedNotification[] = [];
    for (const { check, channelKey } of notified) {
      const why = left?.has(check) === false ? null : whyUnchecked(check, users);
      const channel = this.channels.targetOf(channelKey)?.channel;
      if (why === null || channel === undefined || this.#ending.has(markerKey(check, channelKey))) continue;
      if (this.channels.placeOf(check, channelKey) !== "here") continue;
      const { notifiedProblemBeganAtMs, problemBeganAtMs } = this.stateOf(check);
      const end = uncheckedOf(check, {
        id: randomId(),
        title: titles.get(check)?.title ?? null,
        hostName: hostName(),
        problemBeganAtMs: notifiedProblemBeganAtMs ?? problemBeganAtMs ?? nowMs,
        why,
        last: lastNotified(this.#lastQueued(check, channelKey), this.dispatcher.markerOf(check, channelKey)),
        nowMs,
      });
      if (end === null) continue;
      const last = this.#queuedFor(channel, end);
      this.#ending.set(markerKey(check, channelKey), last);
      ends.push(last);
    }
    if (ends.length > 0) this.#sendEnds(ends).catch(onBug);
  }

  async #sendEnds(ends: readonly QueuedNotification[]): Promise<void> {
    const { repository, system: { clock } } = this.options;
    const checks = [...new Set(ends.map(({ notification: { check } }) => check))];
    await this.readRecords(checks);
    repository.beginAgain(checks, clock.wallMs());
    await this.#sendNotices(ends);
  }

  /** Whether others may have written what decides about the causes of notifications. */
  protected readsCauses(): boolean {
    return false;
  }

  /** Reads what they have written. */
  protected readCauses(_pending: readonly QueuedNotification[], _markers: DeliveryMarkers): Promise<void> {
    return Promise.resolve();
  }

  /** Reads records that others may have written. */
  protected readRecords(_checks: readonly string[]): Promise<void> {
    return Promise.resolve();
  }

  /** Notes that ends are in their queues, or in those of another member. */
  protected ended(isThere: (end: QueuedNotification) => boolean): void {
    for (const [key, end] of this.#ending) if (isThere(end)) this.#ending.delete(key);
  }

  async #sendNotices(notices: readonly QueuedNotification[]): Promise<void> {
    await this.writer.write({ changed: [], removed: [], markers: [], cleared: [], notices });
    this.send(notices);
    this.noticed(notices);
  }

  /** Follows notices that are persisted. */
  protected noticed(notices: readonly QueuedNotification[]): void {
    this.ended((end) => notices.includes(end));
  }

  #deliverContext(signal: AbortSignal): DeliverContext {
    const { system, writeLine } = this.options;
    const { directory, redact } = this.#config;
    const processes = redactProcesses(system.processes, redact);
    return { system: { ...system, processes }, directory, writeLine, onStep: () => {}, signal };
  }

  /** Returns the outcome of deliveries as it is persisted. */
  protected outcomeOf(change: OutboxChange): OutboxChange {
    return change;
  }

  /** Returns whether it may send the pending notifications of a queue now. */
  protected claims(_channelKey: string): boolean {
    return true;
  }

  /** Of what is no check, a summary, a rehearsal or a notice about a channel, the last notification is the true one. */
  protected isStillTrue(queued: QueuedNotification): boolean {
    const { channelKey, notification } = queued;
    const { check, event } = notification;
    const { confirmed, observedAtMs, burn } = this.stateOf(check);
    if (isNoLongerChecked(notification) || isStandalone(event) || observedAtMs === null) {
      return this.isLast(queued);
    }
    if (event === "burning") return burn?.alert !== undefined && burn.alert !== null;
    const channel = this.channels.useOf(check, channelKey) ?? {};
    const notified = conditionAfter(notification);
    return conditionFor(channel, confirmed ?? "ok", notified) === notified;
  }

  protected isLast({ id, channelKey, notification: { check } }: QueuedNotification): boolean {
    return this.dispatcher.lastOf(check, channelKey)?.id === id;
  }

  /** Returns whether an end was not sent before its check came back: the problem may go on, or its recovery follows. */
  protected isRevoked({ notification, missedProblem, messageId }: QueuedNotification): boolean {
    return isNoLongerChecked(notification) && missedProblem === null && messageId === null &&
      this.#config.users.some(({ name, active }) => name === notification.check && active !== false);
  }

  /** A check that left has no use of the channel, whose own filters apply. Those of a fallback are not for notices. */
  #filtersOf({ notification: { check }, channelKey }: QueuedNotification): ChannelFilters {
    return this.channels.useOf(check, channelKey) ??
      (check.startsWith(NOTICE_PREFIX) ? null : this.channels.targetOf(channelKey)?.channel) ?? {};
  }

  protected readonly stateOf = (check: string): ConditionState => {
    const { repository, system } = this.options;
    return repository.recordOf(check, system.clock.wallMs()).condition;
  };

  /** Returns whether a marker of a channel that its check no longer has is of no more use: a day after the recovery. */
  #isObsolete({ check }: DeliveryMarker): boolean {
    const nowMs = this.options.system.clock.wallMs();
    const { confirmed, confirmedSinceMs } = this.stateOf(check);
    return confirmed === "ok" && nowMs - (confirmedSinceMs ?? nowMs) > RETRY_OBSOLETE_MS;
  }

  #lastQueued(check: string, channelKey: string): QueuedNotification | null {
    return this.unsent.get(check)?.findLast((one) => one.channelKey === channelKey) ??
      this.dispatcher.lastOf(check, channelKey);
  }
}

/** Fails, to be retried, while a requirement of the channel is missing. */
async function byKind(channel: Channel, message: Message, context: DeliverContext): Promise<Delivery> {
  if (channel.lack !== undefined) return notDelivered(channel.lack, { retryable: true });
  return await channelEntryOf(channel).deliver(message, channel, context);
}

/** A receiver may echo the request. */
function redactDelivery(delivery: Delivery, redact: Redact): Delivery {
  if (!delivery.delivered) return { ...delivery, reason: redact(delivery.reason) };
  return { ...delivery, note: delivery.note === null ? null : redact(delivery.note) };
}

function byName<T extends { readonly name: string }>(some: readonly T[]): ReadonlyMap<string, T> {
  return new Map(some.map((one) => [one.name, one]));
}
