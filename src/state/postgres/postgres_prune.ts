/** Deletes expired rows in PostgreSQL, as `createPruner` in `database_store.ts` does in SQLite: in batches of checks. */
import type { PruneProgress } from "../../domain/store.ts";
import { nameIn } from "../sql/rows.ts";
import { DELETE_STRAY_MARKERS } from "../sql/shared_statements.ts";
import { DAY_MS, HOUR_MS } from "../../shared/time_units.ts";
import {
  addReading,
  CHANGES_MAX,
  DELIVERIES_MAX,
  JOURNAL_BLOCKS_MAX,
  limitsAt,
  type RetentionLimits,
} from "../retention.ts";
import { CHECK_TABLES, CLOCK, ONLY_ROW, ROLLUPS } from "../sql/tables.ts";
import type { PostgresClient, Session } from "./postgres_client.ts";
import { encodeRows, onConflict, upsertRows } from "./postgres_tables.ts";

const CHECKS_MAX = 200;

const IN_STEP = "check_id IN (SELECT id FROM step)";

/** The checks of this step, `$1` being the last id of the one before. */
const STEP = `WITH step AS (SELECT id FROM checks WHERE id > $1 ORDER BY id LIMIT ${CHECKS_MAX})`;

const DELETE_OLD_CHANGES = `${STEP} DELETE FROM changes WHERE ${IN_STEP} AND at_ms < $2`;

const DELETE_SURPLUS_CHANGES = `${STEP} DELETE FROM changes WHERE id IN (SELECT id FROM
  (SELECT id, row_number() OVER (PARTITION BY check_id ORDER BY at_ms DESC, id DESC) AS place FROM changes WHERE ${IN_STEP}) AS placed
  WHERE place > ${CHANGES_MAX})`;

const DELETE_OLD_JOURNAL = `${STEP} DELETE FROM journal WHERE ${IN_STEP} AND last_ms < $2`;

const DELETE_SURPLUS_JOURNAL = `${STEP} DELETE FROM journal USING step WHERE check_id = step.id AND last_ms <=
  (SELECT last_ms FROM journal WHERE check_id = step.id ORDER BY last_ms DESC LIMIT 1 OFFSET ${JOURNAL_BLOCKS_MAX})`;

const DELETE_OLD_ROLLUPS = `${STEP} DELETE FROM rollups WHERE ${IN_STEP} AND start_ms + span_ms < $2`;

const START_OF_DAY = `floor(start_ms / ${DAY_MS}) * ${DAY_MS}`;

const ADD_HOURS_TO_DAYS =
  `${STEP}, gone AS (DELETE FROM rollups WHERE ${IN_STEP} AND start_ms < $2 AND span_ms = ${HOUR_MS} RETURNING *)
  INSERT INTO rollups (${ROLLUPS.columns}) SELECT check_id, ${START_OF_DAY}, ${DAY_MS}, ${ROLLUPS.aggregates}
  FROM gone GROUP BY check_id, ${START_OF_DAY} ${onConflict(ROLLUPS)}`;

const SELECT_STEP = `${STEP} SELECT max(id) AS last, count(*) AS count FROM step`;

/** A record that another process has saved meanwhile stays. */
const DELETE_CHECKS =
  `${STEP} DELETE FROM checks WHERE id IN (SELECT id FROM step) AND seen_at_ms < $2 RETURNING id, name`;

const OLD_JOBS = `SELECT id FROM jobs WHERE name NOT IN (SELECT name FROM checks) AND since_ms < $1
  AND NOT EXISTS (SELECT FROM job_runs WHERE job_id = jobs.id AND started_at_ms >= $1)`;

/** Not one with notifications, which may have been received under a token that would come again. */
const DELETE_QUEUES = `DELETE FROM queues WHERE (owner IS NULL OR owner NOT IN (SELECT process FROM members))
  AND NOT EXISTS (SELECT FROM outbox WHERE outbox.channel_key = queues.channel_key)`;

/** Makes the function that forgets some and goes on from there at its next call. */
export function createPruner(
  client: PostgresClient,
): (nowMs: number, journalMs: number | null | undefined) => Promise<PruneProgress> {
  let lastId = 0;
  return async (nowMs, journalMs) => {
    const { next, forgotten } = await client.transaction(async (session) => {
      const limits = limitsAt(await readClock(session, nowMs), journalMs);
      if (lastId === 0) await pruneOutbox(session, limits);
      return await pruneBehind(session, lastId, limits);
    });
    lastId = next ?? 0;
    return { finished: next === null, forgotten };
  };
}

async function readClock(session: Session, nowMs: number): Promise<number> {
  const [row] = (await session.run(`SELECT ${CLOCK.columns} FROM clock`)).rows;
  const before = row === undefined ? null : CLOCK.decode(row);
  const readings = addReading(before, nowMs);
  if (readings !== before) {
    await session.run(upsertRows(CLOCK), encodeRows(CLOCK, [{ ...readings, id: ONLY_ROW }]));
  }
  return readings.earlierMs;
}

async function pruneOutbox(session: Session, limits: RetentionLimits): Promise<void> {
  await session.run(
    `DELETE FROM outbox WHERE state = 'dropped' AND next_attempt_at_ms < $1
      AND coalesce(first_failed_at_ms, next_attempt_at_ms) < $1`,
    [limits.droppedMs],
  );
  await session.run("DELETE FROM members WHERE beat_at < clock_timestamp() - interval '1 day'");
  await session.run(DELETE_QUEUES);
  await session.run("DELETE FROM location_results WHERE ended_at < clock_timestamp() - interval '30 days'");
  // Of agents that left the config.
  await session.run("DELETE FROM received WHERE received_at < to_timestamp($1::float8 / 1000)", [
    limits.seenMs,
  ]);
  await session.run("DELETE FROM silences WHERE until_ms < $1", [limits.silenceEndMs]);
  await session.run(
    `DELETE FROM deliveries WHERE at_ms < $1 OR id <= (SELECT max(id) FROM deliveries) - ${DELIVERIES_MAX}`,
    [limits.journalMs],
  );
  await session.run("DELETE FROM actions WHERE at_ms < $1", [limits.journalMs]);
  await session.run("DELETE FROM channel_counts WHERE counted_at_ms < $1", [limits.countedMs]);
}

/** `next`: the id to go on from; `null` when there are no more checks behind it. */
async function pruneBehind(session: Session, id: number, limits: RetentionLimits) {
  const [step] = (await session.run(SELECT_STEP, [id])).rows;
  const gone = (await session.run(DELETE_CHECKS, [id, limits.seenMs])).rows;
  for (const table of gone.length > 0 ? CHECK_TABLES : []) {
    const ids = `{${gone.map((row) => row["id"]).join(",")}}`;
    await session.run(`DELETE FROM ${table} WHERE check_id = ANY($1::bigint[])`, [ids]);
  }
  await session.run(DELETE_OLD_CHANGES, [id, limits.changeMs]);
  await session.run(DELETE_SURPLUS_CHANGES, [id]);
  await session.run(DELETE_OLD_JOURNAL, [id, limits.journalMs]);
  await session.run(DELETE_SURPLUS_JOURNAL, [id]);
  await session.run(DELETE_OLD_ROLLUPS, [id, limits.rollupEndMs]);
  await session.run(ADD_HOURS_TO_DAYS, [id, limits.dailyMs]);
  const forgotten = gone.map(nameIn);
  if (Number(step?.["count"]) === CHECKS_MAX) return { next: Number(step?.["last"]), forgotten };
  await session.run(DELETE_STRAY_MARKERS);
  await session.run(`DELETE FROM job_runs WHERE job_id IN (${OLD_JOBS})`, [limits.seenMs]);
  await session.run(`DELETE FROM jobs WHERE id IN (${OLD_JOBS})`, [limits.seenMs]);
  return { next: null, forgotten };
}
