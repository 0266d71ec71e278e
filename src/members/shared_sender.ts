/** How a member sends: only the queues that it owns, including notifications that other members have queued. */
import type { Channel } from "../domain/channel.ts";
import type { Check } from "../domain/check.ts";
import type { Condition } from "../domain/condition.ts";
import {
  isShared,
  type KnownNotification,
  type ReceivedNotifications,
  type RelatedChecks,
  type TakenQueue,
} from "../domain/membership.ts";
import type { DeliveryMarker, OutboxChange, QueuedNotification, Silence } from "../domain/outbox.ts";
import { NOTHING_KEPT, StoreError } from "../domain/store.ts";
import { conditionFor } from "../engine/channel_filters.ts";
import { decidingChecks } from "../engine/batching.ts";
import type { NotifyingConfig } from "../engine/configured_channels.ts";
import { type DeliveryMarkers, markerKey } from "../engine/outbox_changes.ts";
import { conditionAfter, type LastNotified } from "../engine/queued_notifications.ts";
import type { Rekeyed } from "../engine/rekey.ts";
import { Sender, type SenderOptions } from "../engine/sender.ts";

const UNREACHABLE = "shared state unreachable";
/**
 * The least sequence that a member gives: behind everything that it receives of a queue, which has the numbers of the
 * database.
 */
const MEMBER_SEQUENCE_MIN = 2 ** 52;
/** Silences are recent for this time; heartbeats, which read them, are more frequent. */
const RECENT_MS = 2_500;

export interface SharedSenderOptions extends SenderOptions {
  readonly member: SendingMember;
}

interface SendingMember {
  /** Returns whether it may send the pending notifications of a queue now. */
  claims(channelKey: string): boolean;
  /** Whether its config is that of most members. */
  readonly hasActiveConfig: boolean;
  /** Whether it sends notifications of its own checks without the shared state, which is unreachable. */
  readonly isOpen: boolean;
  /** Returns whether it runs a check of the config. */
  runs(check: string): boolean;
  /** Receives notifications that were just persisted, if their queue is owned. */
  poke(): void;
  /** Whether there are others whose results can be read. */
  readonly readsRelated: boolean;
  /** Reads the last results of other members that decide about common causes, as far as it can. */
  readRelated(related: RelatedChecks): Promise<void>;
}

export class SharedSender extends Sender {
  readonly #member: SharedSenderOptions["member"];
  /** Notifications that are in memory only, since the shared state can't be written. */
  #unsaved: readonly QueuedNotification[] = [];
  readonly #known = new KnownNotifications();
  #silencedAtMs = -Infinity;

  constructor(config: NotifyingConfig, options: SharedSenderOptions) {
    super(config, options, NOTHING_KEPT, MEMBER_SEQUENCE_MIN);
    this.#member = options.member;
  }

  /** Reads silences if no heartbeat did so recently, such as right after a stall. */
  override async refresh(): Promise<void> {
    const ageMs = this.options.system.clock.wallMs() - this.#silencedAtMs;
    if (Math.abs(ageMs) > RECENT_MS && !this.#member.isOpen) await super.refresh();
  }

  override silence(silences: readonly Silence[]): void {
    this.#silencedAtMs = this.options.system.clock.wallMs();
    super.silence(silences);
  }

  override get isAlone(): boolean {
    return this.#member.isOpen;
  }

  /** The record does not have the last notification of a channel that may not get a problem when others do. */
  override isOvertaken({ name, notifications }: Check): boolean {
    return !this.#member.isOpen && this.options.repository.isWritable && this.#known.isForgotten(name) &&
      notifications.some(({ afterMs, hours }) => afterMs !== undefined || hours !== undefined);
  }

  override lastNotifiedOf(check: string, channel: Channel): LastNotified {
    return this.#known.lastOf(check, channel.key) ??
      notifiedOf([conditionFor(channel, this.stateOf(check).notified)]);
  }

  override decided(check: Check, decided: readonly QueuedNotification[]): void {
    super.decided(check, decided);
    const queued = decided.filter(({ notification }) => notification.check === check.name);
    if (queued.length === 0) return;
    this.#known.add(check.name, [
      ...check.notifications.map((channel) =>
        [channel.key, this.lastNotifiedOf(check.name, channel)] as const
      ),
      ...queued.map(({ channelKey, notification }) =>
        [channelKey, notifiedOf([conditionAfter(notification)])] as const
      ),
    ]);
  }

  override persistPending(): Promise<void> {
    this.#unsaved = [];
    return super.persistPending();
  }

  /** Sends notifications that the shared state does not have. */
  failOpen(): void {
    this.dispatcher.add(this.#unsaved.map(toSentOpen));
  }

  /** Sends through the shared state again: persists everything, and leaves all queues. Resolves to whether it could. */
  async failClosed(): Promise<boolean> {
    await this.writer.retry();
    if (!this.writer.isWritable) return false;
    this.#unsaved = [];
    this.ended(() => true);
    await this.dispatcher.releaseAll();
    await this.writer.retry();
    return true;
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
      ...this.unsent.keys(),
      ...this.#unsaved.map(({ notification: { check } }) => check),
    ]);
    await this.#known.read(checks, { isUnstored: (check) => unstored.has(check), read });
  }

  take({ queue: { channelKey }, markers, limitUse }: TakenQueue): void {
    this.dispatcher.take(markers);
    this.dispatcher.takeLimit(channelKey, limitUse);
  }

  /** Adds notifications of own queues. */
  receive({ notifications, markers }: ReceivedNotifications): void {
    if (!this.writer.isWritable) void this.writer.retry();
    this.dispatcher.take(markers);
    this.dispatcher.receive(notifications);
    this.ended((end) => notifications.some(({ id }) => id === end.id));
    this.endUnchecked();
  }

  /** Leaves the queue of a channel to another member; resolves once nothing of it is being sent. */
  release(channelKey: string): Promise<void> {
    this.ended((end) => end.channelKey === channelKey);
    return this.dispatcher.release(channelKey);
  }

  /** Returns how long an attempt to send to a channel may take; 0 if the config has no such channel. */
  attemptTimeoutMs(channelKey: string): number {
    return this.channels.targetOf(channelKey)?.attemptTimeoutMs ?? 0;
  }

  /** Before it ends problems, it compares its new config with those of the others. */
  override reload(config: NotifyingConfig): void {
    this.adopt(config);
  }

  protected override add(queued: readonly QueuedNotification[]): void {
    this.#member.poke();
    if (this.options.repository.isWritable) return;
    this.#unsaved = [...this.#unsaved, ...queued];
    if (this.#member.isOpen) this.dispatcher.add(queued.map(toSentOpen));
  }

  protected override move(rekeyed: Rekeyed): void {
    this.#known.move(rekeyed);
    super.move(rekeyed);
  }

  protected override lastNotice(notice: string, channel: Channel): Condition | Promise<Condition> {
    const { store } = this.options.repository;
    if (!isShared(store)) return super.lastNotice(notice, channel);
    return store.known([notice]).then((known) =>
      known.find(({ channelKey }) => channelKey === channel.key)?.condition ?? "ok"
    );
  }

  protected override endUnchecked(): void {
    if (this.#member.hasActiveConfig) super.endUnchecked();
  }

  /** Without the shared state, the last results that it knows decide. */
  protected override readsCauses(): boolean {
    return this.#member.readsRelated && !this.#member.isOpen;
  }

  protected override async readCauses(
    pending: readonly QueuedNotification[],
    markers: DeliveryMarkers,
  ): Promise<void> {
    const checks = decidingChecks(pending, markers);
    if (checks.length > 0) await this.#member.readRelated({ checks });
  }

  protected override async readRecords(checks: readonly string[]): Promise<void> {
    const { repository } = this.options;
    try {
      if (isShared(repository.store)) repository.adopt(await repository.store.load(checks));
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
    }
  }

  /** The owner of the queue receives them. */
  protected override noticed(): void {}

  /**
   * While it sends open, it records what it sent, also of queues that other members own by now. Another member that runs
   * the check may have sent something newer before, so those of its checks are not recorded as the last notifications.
   */
  protected override outcomeOf(change: OutboxChange): OutboxChange {
    if (!this.#member.isOpen) return change;
    const { markers, cleared } = change;
    const recovered = cleared.map((marker) => ({ ...marker, messageId: "", condition: "ok" as const }));
    const isOwn = ({ check, channelKey }: Pick<DeliveryMarker, "check" | "channelKey">): boolean =>
      this.#member.runs(check) || this.channels.useOf(check, channelKey) === undefined;
    return {
      ...change,
      markers: markers.filter(isOwn),
      cleared: cleared.filter(isOwn),
      sentOpen: [...recovered, ...markers.filter(({ certain }) => certain)],
    };
  }

  /** Without a claim in the database, another member may be sending the same. */
  protected override claims(channelKey: string): boolean {
    return this.#member.isOpen || this.writer.isWritable && this.#member.claims(channelKey);
  }

  /** It has the state of its own checks only: the last notification of another check is the true one. */
  protected override isStillTrue(queued: QueuedNotification): boolean {
    return this.isLast(queued);
  }

  /** The member that runs the check may already rely on an end. */
  protected override isRevoked(): boolean {
    return false;
  }
}

/** Returns it with the reason why it may be sent twice. */
function toSentOpen(queued: QueuedNotification): QueuedNotification {
  const { notification } = queued;
  const output = notification.output === "" ? UNREACHABLE : `${notification.output} (${UNREACHABLE})`;
  return { ...queued, notification: { ...notification, output } };
}

/** The state of a check; another object after each change. */
interface Known {
  /** The last notification of each channel, delivered or queued; `null`: that of its record. */
  readonly byChannel: ReadonlyMap<string, LastNotified> | null;
}

/** The last notifications of the channels of each check that a member runs. */
class KnownNotifications {
  readonly #byCheck = new Map<string, Known>();

  /** Returns whether they are unknown, since another member has written the record of a check. */
  isForgotten(check: string): boolean {
    return this.#byCheck.get(check)?.byChannel === null;
  }

  /** Uses the records of checks, until the last notifications are known. */
  forget(checks: readonly string[]): void {
    for (const check of checks) this.#byCheck.set(check, { byChannel: null });
  }

  /** Returns the last notification of a channel; `null`: that of the record of its check. */
  lastOf(check: string, channelKey: string): LastNotified | null {
    const byChannel = this.#byCheck.get(check)?.byChannel ?? null;
    return byChannel === null ? null : byChannel.get(channelKey) ?? notifiedOf(["ok"]);
  }

  /** Replaces the last notifications of some channels of a check. */
  add(check: string, last: Iterable<readonly [channelKey: string, last: LastNotified]>): void {
    const byChannel = new Map([...this.#byCheck.get(check)?.byChannel ?? [], ...last]);
    this.#byCheck.set(check, { byChannel });
  }

  /**
   * Reads the last notifications of some checks. Decisions that are not stored yet, or were forgotten meanwhile, are
   * newer.
   */
  async read(
    checks: readonly string[],
    { isUnstored, read }: {
      isUnstored(check: string): boolean;
      readonly read: (checks: readonly string[]) => Promise<readonly KnownNotification[]>;
    },
  ): Promise<void> {
    const before = new Map(
      checks.filter((check) => !isUnstored(check) || this.isForgotten(check))
        .map((check) => [check, this.#byCheck.get(check)]),
    );
    const found = Map.groupBy(await read(checks), ({ check }) => check);
    for (const [check, known] of before) {
      if (this.#byCheck.get(check) !== known) continue;
      const byChannel = new Map(
        (found.get(check) ?? []).map(({ channelKey, condition, certain }) =>
          [channelKey, notifiedOf(certain ? [condition] : [condition, "ok"])] as const
        ),
      );
      this.#byCheck.set(check, { byChannel });
    }
  }

  /** Moves the last notification of an edited channel to its replacement. */
  move(rekeyed: Rekeyed): void {
    for (const [check, { byChannel }] of this.#byCheck) {
      if (byChannel === null) continue;
      const moved = [...byChannel].flatMap(([channelKey, last]) => {
        const target = rekeyed.get(markerKey(check, channelKey));
        return target === undefined ? [] : [[target.channelKey, last] as const];
      });
      if (moved.length > 0) this.add(check, moved);
    }
  }
}

/** Returns a notification that is not pending here. */
function notifiedOf(conditions: readonly Condition[]): LastNotified {
  return { conditions, isPending: false };
}
