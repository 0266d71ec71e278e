/** Outbox of a shared state. A sender changes, and locks, only rows in queues of which it still has the token. */
import {
  CHECK_INS_FOR_MS,
  type HeartbeatStore,
  type JobCheckIn,
  type KnownNotification,
  type MemberStatus,
  type QueueRow,
  type ReceivedReports,
} from "../../domain/membership.ts";
import type { OutboxChange, QueuedNotification, SentOpen } from "../../domain/outbox.ts";
import { type Codec, columnText, json, list, nullable, number, object, objectIn } from "../codec.ts";
import type { Row, Table } from "../sql/table_declaration.ts";
import { addedCounts, keyOfMarker, lastByKey, OUTBOX_ROWS } from "../sql/outbox_and_jobs.ts";
import { CHANNEL_COUNTS, DELIVERIES, DELIVERY_MARKERS, OUTBOX, SILENCES } from "../sql/tables.ts";
import type { ClaimedQueues } from "./sender_queues.ts";
import { explaining, PostgresClient, type PostgresClientOptions, type Session } from "./postgres_client.ts";
import {
  additions,
  drive,
  EARLY_LOOKS,
  encodeRows,
  insertRows,
  MEMBERS,
  newRows,
  onConflict,
  QUEUES,
  readAll,
  runEach,
  toArrays,
  upserts,
} from "./postgres_tables.ts";
import { arrayText } from "../../shared/postgres/protocol.ts";
import type { PostgresPlace } from "../../domain/stores.ts";

const ADD_QUEUE =
  "INSERT INTO queues (channel_key, owner, token) VALUES ($1, NULL, 0) ON CONFLICT DO NOTHING";

const TAKE = `UPDATE queues SET owner = $2, token = token + 1 WHERE channel_key = $1 AND token = $3
  RETURNING ${QUEUES.columns}`;

const GIVE_BACK = "UPDATE queues SET owner = NULL WHERE channel_key = $1 AND owner = $2 AND token = $3";

const SELECT_MARKERS = `SELECT ${DELIVERY_MARKERS.columns} FROM delivery_markers`;

const SELECT_MARKERS_OF_CHECKS = `${SELECT_MARKERS} WHERE check_name = ANY($1::text[])`;

const SELECT_COUNT = `SELECT ${CHANNEL_COUNTS.columns} FROM channel_counts WHERE channel_key = $1`;

const IS_SENDING = `SELECT EXISTS (SELECT FROM outbox WHERE channel_key = $1 AND message_id IS NOT NULL
  AND state <> 'dropped')::integer AS sending`;

/** The queues that a sender still owns: arrays of their channels and tokens, and the owner. */
const OWNED = `SELECT queues.channel_key, token FROM queues
  JOIN unnest($1::text[], $2::float8[]) AS own (channel, expected) ON channel_key = channel AND token = expected
  WHERE owner = $3 FOR SHARE OF queues`;

const RECEIVED_MAX = 1_000;

/** Marks notifications as received under the token of their queue, and returns them. */
const RECEIVE = `WITH owned AS (${OWNED}),
  next AS (
    SELECT id, token FROM outbox JOIN owned USING (channel_key)
    WHERE state <> 'dropped' AND (received_token IS DISTINCT FROM token OR received_call = $4)
    ORDER BY id LIMIT ${RECEIVED_MAX})
  UPDATE outbox SET received_token = next.token, received_call = $4 FROM next WHERE outbox.id = next.id
  RETURNING outbox.id, ${OUTBOX.columns}`;

const DELETE_QUEUED = `DELETE FROM outbox WHERE key = ANY($1::text[]) RETURNING ${OUTBOX.columns}`;
const SELECT_CHANNELS_OF = `SELECT ${OUTBOX.columns} FROM outbox WHERE state <> 'dropped'
  AND channel_key IN (SELECT channel_key FROM outbox WHERE key = ANY($1::text[])) ORDER BY id`;
const DELETE_OWNED = `DELETE FROM outbox WHERE key = ANY($1::text[]) AND channel_key = ANY($2::text[])
  RETURNING ${OUTBOX.columns}`;

/** Deletes markers: an array of checks and one of channels. */
const DELETE_MARKERS =
  `DELETE FROM delivery_markers USING unnest($1::text[], $2::text[]) AS gone (name, channel)
  WHERE check_name = gone.name AND channel_key = gone.channel`;

const CHANGED = OUTBOX.declared.map(({ name }) => name).filter((name) =>
  name !== "key" && name !== "sequence"
);
const UPDATE_QUEUED = `UPDATE outbox SET ${CHANGED.map((name) => `${name} = new.${name}`).join(", ")}
  FROM ${newRows(OUTBOX)} WHERE outbox.key = new.key RETURNING outbox.key`;

type CheckChannel = { readonly check: string; readonly channelKey: string };

/** The queues in PostgreSQL, for the sender of a process. */
export function createPostgresQueues(client: PostgresClient): ClaimedQueues {
  return {
    take: ({ channelKey, token }, owner) =>
      client.transaction(async (session) => {
        const key = columnText.encode(channelKey);
        await session.run(ADD_QUEUE, [key]);
        const [row] = (await session.run(TAKE, [key, owner, token])).rows;
        if (row === undefined) return null;
        const { rows } = await session.run(`${SELECT_MARKERS} WHERE channel_key = $1`, [key]);
        const [count] = (await session.run(SELECT_COUNT, [key])).rows;
        const [sending] = (await session.run(IS_SENDING, [key])).rows;
        return {
          queue: QUEUES.decode(row),
          markers: rows.map(DELIVERY_MARKERS.decode),
          limitUse: count === undefined ? null : CHANNEL_COUNTS.decode(count).limitUse,
          isSending: sending?.["sending"] === 1,
        };
      }),
    giveBack: async ({ channelKey, owner, token }) => {
      await client.query(GIVE_BACK, [columnText.encode(channelKey), owner, token]);
    },
    receive: async (queues, call) => {
      const { rows } = await client.query(RECEIVE, [...ownedParameters(queues), call]);
      const notifications = rows.map(inDatabaseOrder).sort((one, other) => one.sequence - other.sequence);
      const checks = notifications.map(({ notification: { check } }) => columnText.encode(check));
      const markers = checks.length === 0
        ? []
        : (await client.query(SELECT_MARKERS_OF_CHECKS, [arrayText(checks)])).rows;
      return { notifications, markers: markers.map(DELIVERY_MARKERS.decode) };
    },
    change: (change, queues) =>
      client.transaction(async (session) => {
        const owned = await lock(session, queues);
        await writeChange(session, change, owned);
        return owned;
      }),
  };
}

/** Locks queues, and returns the channels of those that are still owned. */
async function lock(session: Session, queues: readonly QueueRow[]): Promise<ReadonlySet<string>> {
  if (queues.length === 0) return new Set();
  const { rows } = await session.run(OWNED, ownedParameters(queues));
  return new Set(rows.map(channelKeyIn));
}

async function writeChange(
  session: Session,
  change: OutboxChange,
  owned: ReadonlySet<string>,
): Promise<void> {
  const {
    changed,
    removed,
    delivered = [],
    markers,
    cleared,
    notices = [],
    counted = [],
    logged = [],
    sentOpen,
  } = change;
  const isOwned = ({ channelKey }: { readonly channelKey: string }): boolean => owned.has(channelKey);
  // What a member has merged, moved or dropped after the queue was lost is the next owner's to send.
  // What was sent without the database may have overtaken what its own sender had not received yet.
  const unordered = new Set(sentOpen === undefined ? [] : delivered);
  const claimed = removed.filter((id) => !unordered.has(id));
  const deleted = await deleteQueued(session, DELETE_OWNED, [claimed, [...owned]]);
  // A message that was sent without a claim counts if its notifications were still in the queue.
  const late = await deleteDelivered(session, delivered);
  const sent = new Set(late.map(({ notification: { check }, channelKey }) => keyOf({ check, channelKey })));
  const counts = (marker: CheckChannel): boolean => isOwned(marker) || sent.has(keyOf(marker));
  await insertMoved(session, notices);
  await updateQueued(session, changed.filter(isOwned));
  // A reload has moved these from another channel.
  const moved = new Set(deleted.map(({ notification: { id } }) => id));
  await insertMoved(session, changed.filter((one) => !isOwned(one) && moved.has(one.notification.id)));
  const isOpen = sentOpen !== undefined;
  const ended = cleared.filter(counts);
  if (ended.length > 0) {
    await session.run(isOpen ? DELETE_CERTAIN_MARKERS : DELETE_MARKERS, toArrays(ended.map(keyOfMarker), 2));
  }
  const kept = lastByKey(markers.filter(counts), keyOf);
  if (isOpen && kept.length > 0) await session.run(UPSERT_SENT_OPEN, encodeRows(DELIVERY_MARKERS, kept));
  const noted = new Set([...ended, ...kept].map(keyOf));
  await noteSentOpen(session, (sentOpen ?? []).filter((one) => !noted.has(keyOf(one))));
  await runEach(session, [
    ...isOpen ? [] : upserts(DELIVERY_MARKERS, kept),
    // The next owner has read the use of the limit, attempts in progress included.
    ...upserts(
      CHANNEL_COUNTS,
      addedCounts(counted.map((count) => isOwned(count) ? count : { ...count, limitUse: null })),
    ),
    ...additions(DELIVERIES, logged.filter((one) => one.outcome !== "dropped" || isOwned(one))),
  ]);
}

async function deleteQueued(
  session: Session,
  sql: string,
  [ids, ...others]: readonly [ids: readonly string[], channelKeys?: readonly string[]],
): Promise<readonly QueuedNotification[]> {
  if (ids.length === 0) return [];
  const parameters = [ids, ...others].map((texts = []) => arrayText(texts.map(columnText.encode)));
  return (await session.run(sql, parameters)).rows.map(OUTBOX.decode);
}

/**
 * Deletes notifications that were delivered without a claim. One that has overtaken others of its check stays: it is sent
 * again behind them, as a duplicate, so that the receiver hears of the last condition last. So does one that its owner
 * has merged with an older one meanwhile.
 */
async function deleteDelivered(session: Session, ids: readonly string[]) {
  if (ids.length === 0) return [];
  const { rows } = await session.run(SELECT_CHANNELS_OF, [arrayText(ids.map(columnText.encode))]);
  const delivered = new Set(ids);
  const isBehind = new Set<string>();
  const inOrder = rows.map(OUTBOX.decode).filter((queued) => {
    const place = keyOf({ check: queued.notification.check, channelKey: queued.channelKey });
    const isMerged = queued.messageId === null && queued.missedProblem !== null;
    if (!delivered.has(queued.id) || isMerged) isBehind.add(place);
    return delivered.has(queued.id) && !isBehind.has(place);
  });
  return await deleteQueued(session, DELETE_QUEUED, [inOrder.map(({ id }) => id)]);
}

/**
 * Markers of messages that were sent without a claim, of checks whose present record or queue is another member's.
 * Both may have sent, in either order, and an unrecorded notification may be a recovery. So only the same condition
 * leaves a marker certain: otherwise the next problem would count as notified already, and a duplicate is better than
 * silence.
 */
const ADD_SENT_OPEN = `INSERT INTO delivery_markers (${DELIVERY_MARKERS.columns})
  SELECT ${DELIVERY_MARKERS.columns} FROM ${newRows(DELIVERY_MARKERS)} WHERE condition <> 'ok'
  ON CONFLICT (check_name, channel_key) DO UPDATE
  SET certain = CASE WHEN delivery_markers.condition = excluded.condition THEN delivery_markers.certain ELSE 0 END`;

const MARK_UNCERTAIN = `UPDATE delivery_markers SET certain = 0 FROM ${newRows(DELIVERY_MARKERS)}
  WHERE new.condition = 'ok' AND delivery_markers.check_name = new.check_name
    AND delivery_markers.channel_key = new.channel_key`;

/** Of one check, several members may have sent, in any order: what is uncertain by then stays so. */
const UPSERT_SENT_OPEN = `${insertRows(DELIVERY_MARKERS)} ${
  onConflict(DELIVERY_MARKERS, { certain: "LEAST(delivery_markers.certain, excluded.certain)" })
}`;

const DELETE_CERTAIN_MARKERS = `${DELETE_MARKERS} AND certain = 1`;

async function noteSentOpen(session: Session, sentOpen: readonly SentOpen[]): Promise<void> {
  if (sentOpen.length === 0) return;
  const rows = encodeRows(
    DELIVERY_MARKERS,
    lastByKey(sentOpen, keyOf).map((sent) => ({ ...sent, certain: false })),
  );
  await session.run(ADD_SENT_OPEN, rows);
  await session.run(MARK_UNCERTAIN, rows);
}

async function updateQueued(session: Session, changed: readonly QueuedNotification[]): Promise<void> {
  if (changed.length === 0) return;
  const last = lastByKey(changed, ({ id }) => id);
  const { rows } = await session.run(UPDATE_QUEUED, encodeRows(OUTBOX, last));
  const updated = new Set(rows.map((row) => columnText.decode(row["key"], "key")));
  await insertMoved(session, last.filter(({ id }) => !updated.has(id)));
}

/** A notification that was attempted before is not inserted: another member has delivered it. */
async function insertMoved(session: Session, changed: readonly QueuedNotification[]): Promise<void> {
  const moved = changed.filter(({ attempts, state }) => attempts === 0 && state === "pending");
  await runEach(session, upserts(OUTBOX, moved));
}

function ownedParameters(queues: readonly QueueRow[]): readonly [string, string, string] {
  return [
    arrayText(queues.map(({ channelKey }) => columnText.encode(channelKey))),
    arrayText(queues.map(({ token }) => token)),
    queues[0]?.owner ?? "",
  ];
}

/** The order in which they were saved: for each check, one process saves after the other. */
function inDatabaseOrder(row: Row): QueuedNotification {
  return { ...OUTBOX.decode(row), sequence: Number(row["id"]) };
}

function keyOf({ check, channelKey }: { readonly check: string; readonly channelKey: string }): string {
  return JSON.stringify([check, channelKey]);
}

export const SELECT_PENDING_CHANNELS = "SELECT DISTINCT channel_key FROM outbox WHERE state <> 'dropped'";

export function channelKeyIn(row: Row): string {
  return columnText.decode(row["channel_key"], "channel_key");
}

const PENDING_ROWS = { ...OUTBOX_ROWS, where: "state <> 'dropped'" };

/** Returns the last notifications of the channels, for some checks. */
export async function readKnown(
  client: PostgresClient,
  names: readonly string[],
): Promise<readonly KnownNotification[]> {
  const checks = new Set(names);
  const { markers, pending } = await client.transaction(async (session) => ({
    markers: (await session.run(SELECT_MARKERS_OF_CHECKS, [
      arrayText(names.map(columnText.encode)),
    ])).rows.map(DELIVERY_MARKERS.decode),
    pending: (await drive(session, readAll(PENDING_ROWS))).map(inDatabaseOrder),
  }), "REPEATABLE READ");
  const known = new Map<string, KnownNotification>(markers.map((marker) => [keyOf(marker), marker]));
  for (const { notification: { check, event, condition: last }, channelKey } of pending) {
    // One of a burn changes nothing about what the receiver knows of the condition.
    if (checks.has(check) && event !== "burning") {
      const condition = event === "recovery" ? "ok" : last;
      known.set(keyOf({ check, channelKey }), { check, channelKey, condition, certain: true });
    }
  }
  return [...known.values()];
}

// The heartbeats of members in PostgreSQL, and the owners of the channel queues.

/** A slower heartbeat has failed. */
const HEARTBEAT_TIMEOUT_MS = 2_000;

/** An older process of the host, or the same one; `$6` is true for the first heartbeat of a process. */
const BEAT = `WITH beat AS (
    INSERT INTO members (host, process, heartbeats, config, active_config, location, early_looks)
    VALUES ($1, $2, 1, $3, $4, $5, $8)
    ON CONFLICT (host) DO UPDATE SET process = excluded.process, heartbeats = members.heartbeats + 1, config = excluded.config,
      active_config = excluded.active_config, location = excluded.location, early_looks = excluded.early_looks, beat_at = clock_timestamp()
    WHERE members.process = excluded.process OR $6::boolean
    RETURNING host)
  SELECT (SELECT count(*) FROM beat)::integer AS written,
    (SELECT coalesce(json_agg(members), '[]') FROM members)::text AS members,
    (SELECT coalesce(json_agg(queues), '[]') FROM queues)::text AS queues,
    (SELECT coalesce(json_agg(silences ORDER BY until_ms, id), '[]') FROM silences WHERE until_ms > $7)::text AS silences,
    (SELECT coalesce(json_agg(DISTINCT check_name), '[]') FROM delivery_markers WHERE certain = 0)::text AS uncertain,
    (SELECT coalesce(json_agg(json_build_object('job', name, 'atMs', extract(epoch FROM checked_in_at)::float8 * 1000)), '[]')
      FROM jobs WHERE checked_in_at > clock_timestamp() - interval '${CHECK_INS_FOR_MS} ms')::text AS check_ins,
    (SELECT coalesce(json_agg(agents), '[]') FROM
      (SELECT agent, max(id) AS last, count(*) AS count FROM received GROUP BY agent) AS agents)::text AS received`;

const CHECK_INS: Codec<readonly JobCheckIn[], string> = json(list(object({ job: columnText, atMs: number })));

const RECEIVED_REPORTS: Codec<readonly ReceivedReports[], string> = json(
  list(object({ agent: columnText, last: number, count: number })),
);

const LEAVE = "DELETE FROM members WHERE host = $1 AND process = $2";

/** Opens the connection for heartbeats, which wait for nothing else once the state is open. */
export function openHeartbeats(
  place: PostgresPlace,
  options: PostgresClientOptions & { readonly open?: () => Promise<void> },
): HeartbeatStore {
  const client = new PostgresClient(place, { ...options, timeoutMs: HEARTBEAT_TIMEOUT_MS });
  const write = <T>(work: () => Promise<T>): Promise<T> => explaining({ action: "write", place }, work);
  return {
    beat: (own, isFirst) =>
      write(async () => {
        await options.open?.();
        const { host, id, config, active, location, looks } = own;
        const { rows: [row = {}] } = await client.query(BEAT, [
          columnText.encode(host),
          id,
          config,
          active,
          nullable(columnText).encode(location),
          String(isFirst),
          options.clock.wallMs(),
          EARLY_LOOKS.encode(looks),
        ]);
        return {
          isSuperseded: row["written"] === 0,
          members: rowsIn(MEMBERS, row["members"]),
          queues: rowsIn(QUEUES, row["queues"]),
          silences: rowsIn(SILENCES, row["silences"]),
          uncertain: json(list(columnText)).decode(row["uncertain"], "uncertain"),
          checkIns: CHECK_INS.decode(row["check_ins"], "check_ins"),
          received: RECEIVED_REPORTS.decode(row["received"], "received"),
        };
      }),
    leave: ({ host, id }) => write(async () => void await client.query(LEAVE, [columnText.encode(host), id])),
    close: () => Promise.resolve(client.close()),
  };
}

function rowsIn<T>(table: Table<T>, stored: unknown): readonly T[] {
  const row: Codec<T> = {
    encode: (value) => value,
    decode: (value, name) => table.decode(objectIn(value, name) as Row),
  };
  return json(list(row)).decode(stored, table.name);
}

export const SELECT_MEMBERS =
  `SELECT ${MEMBERS.columns}, extract(epoch FROM clock_timestamp() - beat_at)::float8 * 1000 AS silent_for_ms,
    (SELECT coalesce(json_agg(channel_key ORDER BY channel_key), '[]') FROM queues WHERE owner = process)::text AS channel_keys
  FROM members ORDER BY host`;

export function memberIn(row: Row): MemberStatus {
  return {
    ...MEMBERS.decode(row),
    silentForMs: Number(row["silent_for_ms"]),
    channelKeys: json(list(columnText)).decode(row["channel_keys"], "channel_keys"),
  };
}
