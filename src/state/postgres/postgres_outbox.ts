/** The outbox, delivery markers, counts of channels, and silences in PostgreSQL. */
import {
  addCounts,
  type ChannelCount,
  type LoggedDelivery,
  type OutboxChange,
  type Silence,
} from "../../domain/outbox.ts";
import type { KeptOutbox, OutboxStore, QueuedSummary } from "../../domain/store.ts";
import { createOutboxReads, SELECT_COUNTS, SELECT_MARKERS } from "../sql/rows.ts";
import { columnText } from "../codec.ts";
import { ACTIONS, CHANNEL_COUNTS, DELIVERIES, DELIVERY_MARKERS, OUTBOX, SILENCES } from "../sql/tables.ts";
import type { Access, PostgresClient } from "./postgres_client.ts";
import { encodeRows, insertRows, lastByKey, readAll, toArrays, upsertRows } from "./postgres_tables.ts";
import { arrayText, type Parameter } from "../../shared/postgres/protocol.ts";
import type { QueueRow, ReceivedNotifications, SharedStore, TakenQueue } from "../../domain/membership.ts";

export const OUTBOX_ROWS = { table: "outbox", columns: OUTBOX.columns } as const;

const DELETE_QUEUED = "DELETE FROM outbox WHERE key = ANY($1::text[])";
/** Deletes markers: an array of checks and one of channels. */
export const DELETE_MARKERS =
  `DELETE FROM delivery_markers USING unnest($1::text[], $2::text[]) AS gone (name, channel)
  WHERE check_name = gone.name AND channel_key = gone.channel`;

export function keyOfMarker({ check, channelKey }: OutboxChange["cleared"][number]): readonly string[] {
  return [columnText.encode(check), columnText.encode(channelKey)];
}

/** Adds counts of one channel up: a statement can't merge into a row twice. */
export function addedCounts(counted: readonly ChannelCount[]): readonly ChannelCount[] {
  const sums = new Map<string, ChannelCount>();
  for (const count of counted) sums.set(count.channelKey, addCounts(sums.get(count.channelKey), count));
  return [...sums.values()];
}

export function logDeliveries(
  logged: readonly LoggedDelivery[],
): readonly [sql: string, parameters: readonly string[]] {
  return [`${insertRows(DELIVERIES)} ON CONFLICT DO NOTHING`, encodeRows(DELIVERIES, logged)];
}

const INSERT_SUMMARY = `INSERT INTO summary (id, schedule, scheduled_at_ms) VALUES (1, $1, $2)
  ON CONFLICT DO NOTHING`;
const UPDATE_SUMMARY = `UPDATE summary SET schedule = $1, scheduled_at_ms = $2
  WHERE schedule = $3 AND scheduled_at_ms = $4`;

const END_SILENCES = "UPDATE silences SET until_ms = $1 WHERE until_ms > $1 AND kind <> 'maintenance'";

/** `queues` are those of this process, if it shares the state with others. */
export function createOutboxStore(
  client: PostgresClient,
  { queues, read, write, ...dialect }: Access & { readonly queues: SenderQueues },
): OutboxStore {
  return {
    ...createOutboxReads(dialect),
    outbox: () => read(() => readOutbox(client)),
    changeOutbox: (change) =>
      write(() =>
        queues.isShared || change.sentOpen !== undefined
          ? queues.change(change)
          : changeOutbox(client, change)
      ),
    queueSummary: (summary, before, queued) =>
      write(() =>
        client.transaction(async (session) => {
          const { count } = before === null
            ? await session.run(INSERT_SUMMARY, valuesOf(summary))
            : await session.run(UPDATE_SUMMARY, [...valuesOf(summary), ...valuesOf(before)]);
          if (count > 0 && queued.length > 0) {
            await session.run(upsertRows(OUTBOX), encodeRows(OUTBOX, queued));
          }
          return count > 0;
        })
      ),
    addSilences: (silences) =>
      write(async () => {
        if (silences.length > 0) await client.query(...upsertSilences(silences));
      }),
    keepAction: (action, silences) =>
      write(() =>
        client.transaction(async (session) => {
          await session.run(upsertRows(ACTIONS), encodeRows(ACTIONS, [action]));
          if (silences.length > 0) await session.run(...upsertSilences(silences));
        })
      ),
    endSilences: (checks, nowMs) =>
      write(async () => {
        if (checks === "all") return (await client.query(END_SILENCES, [nowMs])).count;
        if (checks.length === 0) return 0;
        const names = checks.filter((check) => check !== null).map(columnText.encode);
        const orAll = checks.includes(null) ? " OR check_name IS NULL" : "";
        const sql = `${END_SILENCES} AND (check_name = ANY($2::text[])${orAll})`;
        return (await client.query(sql, [nowMs, arrayText(names)])).count;
      }),
  };
}

function upsertSilences(silences: readonly Silence[]): readonly [sql: string, parameters: readonly string[]] {
  return [upsertRows(SILENCES), encodeRows(SILENCES, lastByKey(silences, ({ id }) => id))];
}

async function readOutbox(client: PostgresClient): Promise<KeptOutbox> {
  return await client.transaction(async (session) => {
    const rows = await readAll((...query) => session.run(...query), OUTBOX_ROWS);
    const [markers, counts] = [await session.run(SELECT_MARKERS), await session.run(SELECT_COUNTS)];
    return {
      notifications: rows.map(OUTBOX.decode).sort((one, other) => one.sequence - other.sequence),
      markers: markers.rows.map(DELIVERY_MARKERS.decode),
      counts: counts.rows.map(CHANNEL_COUNTS.decode),
    };
  }, "REPEATABLE READ");
}

async function changeOutbox(client: PostgresClient, change: OutboxChange): Promise<void> {
  const { removed, markers, cleared, counted = [], logged = [] } = change;
  const changed = lastByKey([...change.notices ?? [], ...change.changed], ({ id }) => id);
  const lastMarkers = lastByKey(markers, (marker) => JSON.stringify(keyOfMarker(marker)));
  const steps = [
    changed.length > 0 && [upsertRows(OUTBOX), encodeRows(OUTBOX, changed)] as const,
    removed.length > 0 && [DELETE_QUEUED, [arrayText(removed.map(columnText.encode))]] as const,
    cleared.length > 0 && [DELETE_MARKERS, toArrays(cleared.map(keyOfMarker), 2)] as const,
    markers.length > 0 && [upsertRows(DELIVERY_MARKERS), encodeRows(DELIVERY_MARKERS, lastMarkers)] as const,
    counted.length > 0 &&
    [upsertRows(CHANNEL_COUNTS), encodeRows(CHANNEL_COUNTS, addedCounts(counted))] as const,
    logged.length > 0 && logDeliveries(logged),
  ].filter((step) => step !== false);
  if (steps.length === 0) return;
  await client.transaction(async (session) => {
    for (const step of steps) await session.run(...step);
  });
}

function valuesOf({ schedule, scheduledMs }: QueuedSummary): readonly Parameter[] {
  return [columnText.encode(schedule), scheduledMs];
}

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
