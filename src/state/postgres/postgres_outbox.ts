/** The outbox, delivery markers, counts of channels, and silences in PostgreSQL. */
import {
  addCounts,
  type ChannelCount,
  type OutboxChange,
  type QueuedNotification,
  type Silence,
} from "../../domain/outbox.ts";
import type { KeptOutbox, QueuedSummary } from "../../domain/store.ts";
import { columnText } from "../codec.ts";
import { SELECT_COUNTS, SELECT_MARKERS, SELECT_SUMMARY } from "../sql/shared_statements.ts";
import { CHANNEL_COUNTS, DELIVERY_MARKERS, ONLY_ROW, OUTBOX, SILENCES, SUMMARY } from "../sql/tables.ts";
import type { PostgresClient } from "./postgres_client.ts";
import { encodeRows, lastByKey, readAll, toArrays, upsertRows } from "./postgres_tables.ts";
import { arrayText, type Parameter } from "./protocol.ts";

export const OUTBOX_ROWS = { table: "outbox", columns: OUTBOX.columns } as const;

/** Implements `outbox()` of the store. */
export async function readOutbox(client: PostgresClient): Promise<KeptOutbox> {
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

const DELETE_QUEUED = "DELETE FROM outbox WHERE key = ANY($1::text[])";
/** Deletes markers: an array of checks and one of channels. */
export const DELETE_MARKERS =
  `DELETE FROM delivery_markers USING unnest($1::text[], $2::text[]) AS gone (name, channel)
  WHERE check_name = gone.name AND channel_key = gone.channel`;

/** Implements `changeOutbox()` of the store. */
export async function changeOutbox(client: PostgresClient, change: OutboxChange): Promise<void> {
  const { removed, markers, cleared, counted = [] } = change;
  const changed = [...change.notices ?? [], ...change.changed];
  const steps = [
    {
      sql: upsertRows(OUTBOX),
      rows: encodeRows(OUTBOX, lastByKey(changed, ({ id }) => id)),
      count: changed.length,
    },
    { sql: DELETE_QUEUED, rows: [arrayText(removed.map(columnText.encode))], count: removed.length },
    {
      sql: DELETE_MARKERS,
      rows: toArrays(cleared.map(keyOfMarker), 2),
      count: cleared.length,
    },
    {
      sql: upsertRows(DELIVERY_MARKERS),
      rows: encodeRows(DELIVERY_MARKERS, lastByKey(markers, (marker) => JSON.stringify(keyOfMarker(marker)))),
      count: markers.length,
    },
    {
      sql: upsertRows(CHANNEL_COUNTS),
      rows: encodeRows(CHANNEL_COUNTS, addedCounts(counted)),
      count: counted.length,
    },
  ].filter(({ count }) => count > 0);
  if (steps.length === 0) return;
  await client.transaction(async (session) => {
    for (const { sql, rows } of steps) await session.run(sql, rows);
  });
}

/** The key of a marker as parameters. */
export function keyOfMarker({ check, channelKey }: OutboxChange["cleared"][number]): readonly string[] {
  return [columnText.encode(check), columnText.encode(channelKey)];
}

/** Adds counts of one channel up: a statement can't merge into a row twice. */
export function addedCounts(counted: readonly ChannelCount[]): readonly ChannelCount[] {
  const sums = new Map<string, ChannelCount>();
  for (const count of counted) sums.set(count.channelKey, addCounts(sums.get(count.channelKey), count));
  return [...sums.values()];
}

/** Implements `queuedSummary()` of the store. */
export async function readQueuedSummary(client: PostgresClient): Promise<QueuedSummary | null> {
  const [row] = (await client.query(SELECT_SUMMARY)).rows;
  if (row === undefined) return null;
  const { schedule, scheduledMs } = SUMMARY.decode(row);
  return { schedule, scheduledMs };
}

const INSERT_SUMMARY = `INSERT INTO summary (id, schedule, scheduled_at_ms) VALUES (${ONLY_ROW}, $1, $2)
  ON CONFLICT DO NOTHING`;
const UPDATE_SUMMARY = `UPDATE summary SET schedule = $1, scheduled_at_ms = $2
  WHERE schedule = $3 AND scheduled_at_ms = $4`;

/** Implements `queueSummary()` of the store. */
export async function queueSummary(
  client: PostgresClient,
  { summary, before, queued }: {
    readonly summary: QueuedSummary;
    readonly before: QueuedSummary | null;
    readonly queued: readonly QueuedNotification[];
  },
): Promise<boolean> {
  const values = ({ schedule, scheduledMs }: QueuedSummary): readonly Parameter[] => [
    columnText.encode(schedule),
    scheduledMs,
  ];
  return await client.transaction(async (session) => {
    const { count } = before === null
      ? await session.run(INSERT_SUMMARY, values(summary))
      : await session.run(UPDATE_SUMMARY, [...values(summary), ...values(before)]);
    if (count > 0 && queued.length > 0) await session.run(upsertRows(OUTBOX), encodeRows(OUTBOX, queued));
    return count > 0;
  });
}

const SELECT_SILENCES = `SELECT ${SILENCES.columns} FROM silences WHERE until_ms > $1 ORDER BY until_ms, id`;

/** Implements `silences()` of the store. */
export async function readSilences(client: PostgresClient, nowMs: number): Promise<readonly Silence[]> {
  return (await client.query(SELECT_SILENCES, [nowMs])).rows.map(SILENCES.decode);
}

/** Implements `addSilences()` of the store. */
export async function addSilences(client: PostgresClient, silences: readonly Silence[]): Promise<void> {
  if (silences.length === 0) return;
  await client.query(upsertRows(SILENCES), encodeRows(SILENCES, lastByKey(silences, ({ id }) => id)));
}

const END_SILENCES = "UPDATE silences SET until_ms = $1 WHERE until_ms > $1 AND kind <> 'maintenance'";

/** Implements `endSilences()` of the store. */
export async function endSilences(
  client: PostgresClient,
  checks: readonly (string | null)[] | "all",
  nowMs: number,
): Promise<number> {
  if (checks === "all") return (await client.query(END_SILENCES, [nowMs])).count;
  if (checks.length === 0) return 0;
  const names = checks.filter((check) => check !== null).map(columnText.encode);
  const sql = `${END_SILENCES} AND (check_name = ANY($2::text[])${
    checks.includes(null) ? " OR check_name IS NULL" : ""
  })`;
  return (await client.query(sql, [nowMs, arrayText(names)])).count;
}
