/**
 * The channel queues that a member sends: it claims those that are assigned to its host, receives their
 * notifications, and releases them.
 */
import { DEAD_AFTER_MS, type QueueRow } from "../domain/membership.ts";
import { StoreError } from "../domain/store.ts";
import type { MemberOptions, MemberParts } from "./member_parts.ts";
import { createPlacement } from "./rendezvous.ts";

/** The interval of searches for pending notifications of channels that left the config. */
const ABANDONED_EVERY_MS = 3_600_000;

type QueueShareOptions = Pick<MemberOptions, "host" | "id" | "store" | "clock" | "onBug">;

/** The queues and the members as of the last heartbeat. */
export interface QueueView {
  /** Those of the live members that have the active config. */
  readonly hosts: readonly string[];
  /** The processes of all live members. */
  readonly liveIds: readonly string[];
  readonly rows: readonly QueueRow[];
  /** The channels of the config; `null`: this process is still joining, and claims no queue. */
  readonly channelKeys: readonly string[] | null;
}

type QueueSender = Pick<MemberParts["sender"], "take" | "receive" | "release" | "attemptTimeoutMs">;

export class QueueShare {
  readonly #options: QueueShareOptions;
  /** The last owner may be sending until `receivesFromMs`, of the monotonic clock. */
  readonly #held = new Map<string, { readonly row: QueueRow; readonly receivesFromMs: number }>();
  /** Queues that are not owned any more, but may have a message in progress here. */
  readonly #releasing = new Map<string, Promise<void>>();
  /** Channels with pending notifications that the config does not have: they are to be dropped. */
  #abandoned: readonly string[] = [];
  #abandonedAtMs = -Infinity;

  constructor(options: QueueShareOptions) {
    this.#options = options;
  }

  holds(channelKey: string): boolean {
    return this.#held.has(channelKey);
  }

  /** Searches for channels that left the config at the next {@linkcode follow}. */
  expectAbandoned(): void {
    this.#abandonedAtMs = -Infinity;
  }

  /** Forgets all queues, without giving them back. */
  forget(): void {
    this.#held.clear();
  }

  /** Resolves once no message is in progress of queues that this member doesn't own any more. */
  async released(): Promise<void> {
    await Promise.all(this.#releasing.values());
  }

  /** @throws {StoreError} */
  async giveAllBack(): Promise<void> {
    for (const { row } of this.#held.values()) await this.#options.store.giveBackQueue(row);
  }

  /**
   * Claims and releases queues as the members and the config require.
   *
   * @throws {StoreError} The next call continues.
   */
  async follow({ hosts, liveIds, rows, channelKeys }: QueueView, sender: QueueSender): Promise<void> {
    const { store, host, id } = this.#options;
    if (channelKeys !== null) await this.#findAbandoned(channelKeys);
    for (const { channelKey, owner, token } of rows) {
      const held = this.#held.get(channelKey);
      const isLost = held !== undefined &&
        (!store.owns(channelKey) || token > held.row.token && owner !== id);
      if (isLost) this.#release(channelKey, sender);
    }
    const { take, giveBack, owned } = queueSteps({
      own: { host, id },
      hosts,
      liveIds: new Set([id, ...liveIds]),
      channelKeys: channelKeys === null ? [] : [...channelKeys, ...this.#abandoned],
      rows,
    });
    for (const row of giveBack) {
      const { row: present } = this.#held.get(row.channelKey) ?? { row };
      this.#release(row.channelKey, sender, () => store.giveBackQueue(present));
    }
    // An owned queue that is not in the share was rejected.
    for (const row of [...take, ...owned]) await this.#take(row, sender);
  }

  /**
   * Receives the notifications of owned queues that other members have persisted.
   *
   * @throws {StoreError} The next call continues.
   */
  async receive(sender: Pick<QueueSender, "receive">): Promise<void> {
    const { store, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const ready = [...this.#held.values()].filter(({ receivesFromMs }) => receivesFromMs <= nowMs)
      .map(({ row }) => row);
    if (ready.length === 0) return;
    const { notifications, markers } = await store.receive(ready);
    // Notifications of a queue that was lost meanwhile belong to its next owner.
    const isHeld = ({ channelKey }: { readonly channelKey: string }): boolean => this.holds(channelKey);
    sender.receive({ notifications: notifications.filter(isHeld), markers: markers.filter(isHeld) });
  }

  /** Periodically searches for channels that left the config. Their queues are claimed like all others. */
  async #findAbandoned(channelKeys: readonly string[]): Promise<void> {
    const { store, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#abandonedAtMs < ABANDONED_EVERY_MS) return;
    const own = new Set(channelKeys);
    this.#abandoned = (await store.pendingChannels()).filter((key) => !own.has(key));
    this.#abandonedAtMs = nowMs;
  }

  async #take(row: QueueRow, sender: QueueSender): Promise<void> {
    const { store, clock, id } = this.#options;
    if (this.#held.has(row.channelKey) || this.#releasing.has(row.channelKey)) return;
    const taken = await store.takeQueue(row, id);
    if (taken === null) return;
    const isDead = row.owner !== null && row.owner !== id;
    const waitMs = isDead && taken.isSending ? sender.attemptTimeoutMs(row.channelKey) : 0;
    this.#held.set(row.channelKey, { row: taken.queue, receivesFromMs: clock.monotonicMs() + waitMs });
    sender.take(taken);
  }

  /** Releases a queue, without waiting for the message in progress. */
  #release(
    channelKey: string,
    sender: Pick<QueueSender, "release">,
    then = (): Promise<void> => Promise.resolve(),
  ): void {
    const { onBug } = this.#options;
    this.#held.delete(channelKey);
    if (this.#releasing.has(channelKey)) return;
    const released = sender.release(channelKey).then(then).catch((error) => {
      if (!(error instanceof StoreError)) onBug(error);
    }).finally(() => this.#releasing.delete(channelKey));
    this.#releasing.set(channelKey, released);
  }
}

// The ownership of channel queues. Each queue has one owner with a token; claiming it increments the token, and every
// statement of a sender names its token. So two members that both believe to be the owner can't both send.

interface QueueSteps {
  /** Queues to take, if the token is still the one that was read. */
  readonly take: readonly QueueRow[];
  readonly giveBack: readonly QueueRow[];
  readonly owned: readonly QueueRow[];
}

interface QueueStepsInput extends Pick<QueueView, "hosts" | "rows"> {
  readonly own: Pick<MemberOptions, "host" | "id">;
  readonly liveIds: ReadonlySet<string>;
  /** The channels of the config, and those that left it and have pending notifications. */
  readonly channelKeys: readonly string[];
}

/**
 * Returns the queues to claim and to release. A queue of a live owner is not claimed: that one releases it as soon as
 * it sees the same members.
 */
export function queueSteps({ own, hosts, liveIds, channelKeys, rows }: QueueStepsInput): QueueSteps {
  const rowOf = new Map(rows.map((row) => [row.channelKey, row]));
  const hostOf = createPlacement(hosts);
  const wanted = new Set(channelKeys.filter((key) => hostOf(key) === own.host));
  const isOwn = ({ owner }: QueueRow): boolean => owner === own.id;
  return {
    take: [...wanted]
      .map((channelKey) => rowOf.get(channelKey) ?? { channelKey, owner: null, token: 0 })
      .filter((row) => !isOwn(row) && (row.owner === null || !liveIds.has(row.owner))),
    giveBack: rows.filter((row) => isOwn(row) && !wanted.has(row.channelKey)),
    owned: rows.filter((row) => isOwn(row) && wanted.has(row.channelKey)),
  };
}

export interface ClockReading {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/**
 * Returns whether a member may send: the last successful heartbeat was sent a short time ago by both clocks. The
 * monotonic clock stops in a suspended system, and the wall clock may be set.
 */
export function maySend(lastSent: ClockReading | null, now: ClockReading): boolean {
  if (lastSent === null) return false;
  const wallMs = now.wallMs - lastSent.wallMs;
  return now.monotonicMs - lastSent.monotonicMs < DEAD_AFTER_MS && Math.abs(wallMs) < DEAD_AFTER_MS;
}
