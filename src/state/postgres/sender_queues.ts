import type { QueueRow, ReceivedNotifications, SharedStore, TakenQueue } from "../../domain/membership.ts";
import type { OutboxChange } from "../../domain/outbox.ts";

/** As in {@linkcode SharedStore}, for any process. */
export interface ClaimedQueues {
  take: SharedStore["takeQueue"];
  giveBack: SharedStore["giveBackQueue"];
  /** A call that is repeated, since its outcome was unknown, has the same number, and returns the same ones. */
  receive(queues: readonly QueueRow[], call: number): Promise<ReceivedNotifications>;
  /** Persists the outcomes of notifications in those of these queues that are still owned, and returns their keys. */
  change(change: OutboxChange, queues: readonly QueueRow[]): Promise<ReadonlySet<string>>;
}

/**
 * The channel queues of which this process is the sender, in a database that several processes share. Each queue has
 * one owner with a token, and a sender changes only rows in queues of which it still has the token.
 *
 * None at first.
 */
export class SenderQueues {
  readonly #queues: ClaimedQueues;
  readonly #own = new Map<string, QueueRow>();
  #isShared = false;
  #receiveCall = 1;

  constructor(queues: ClaimedQueues) {
    this.#queues = queues;
  }

  get isShared(): boolean {
    return this.#isShared;
  }

  owns(channelKey: string): boolean {
    return this.#own.has(channelKey);
  }

  async take(queue: QueueRow, owner: string): Promise<TakenQueue | null> {
    this.#isShared = true;
    const taken = await this.#queues.take(queue, owner);
    if (taken !== null) this.#own.set(queue.channelKey, taken.queue);
    return taken;
  }

  async giveBack(queue: QueueRow): Promise<void> {
    this.#own.delete(queue.channelKey);
    await this.#queues.giveBack(queue);
  }

  async receive(queues: readonly QueueRow[]): Promise<ReceivedNotifications> {
    const received = await this.#queues.receive(queues, this.#receiveCall);
    this.#receiveCall++;
    return received;
  }

  /** Persists the outcomes of notifications, of the channels that this process still owns. */
  async change(change: OutboxChange): Promise<void> {
    const { changed, removed, delivered = [], markers, cleared, counted = [] } = change;
    const limited = counted.filter(({ limitUse }) => limitUse !== null);
    const channelKeys = new Set(
      [...changed, ...markers, ...cleared, ...limited].map(({ channelKey }) => channelKey),
    );
    // The channels of removed ones are known to the database alone.
    const keys = removed.length > delivered.length
      ? new Set([...channelKeys, ...this.#own.keys()])
      : channelKeys;
    const own = [...keys].flatMap((key) => this.#own.get(key) ?? []);
    const owned = await this.#queues.change(change, own);
    for (const channelKey of keys) if (!owned.has(channelKey)) this.#own.delete(channelKey);
  }
}
