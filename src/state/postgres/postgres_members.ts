/** The heartbeats of members in PostgreSQL, and the owners of the channel queues. */
import {
  CHECK_INS_FOR_MS,
  type HeartbeatStore,
  type JobCheckIn,
  type MemberStatus,
  type ReceivedReports,
} from "../../domain/membership.ts";
import type { PostgresPlace } from "../../domain/stores.ts";
import { type Codec, columnText, json, list, nullable, number, object, objectIn } from "../codec.ts";
import type { Row, Table } from "../sql/table_declaration.ts";
import { SILENCES } from "../sql/tables.ts";
import { EARLY_LOOKS, MEMBERS, QUEUES } from "./postgres_tables.ts";
import { explaining, PostgresClient, type PostgresClientOptions } from "./postgres_client.ts";

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

const CHECK_INS: Codec<readonly JobCheckIn[], string> = json(
  list(object({ job: columnText, atMs: number })),
);

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
    close: () => {
      client.close();
      return Promise.resolve();
    },
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
