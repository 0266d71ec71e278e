/** Every statement on the tables of jobs. Names and keys are given as `encodeText` makes them. */

/** A job: its id and since when it is known. */
export const SELECT_JOB = "SELECT id, since_ms FROM jobs WHERE name = ?";

/** Notes a job and answers its id; a clock that was set back makes it known since earlier. */
export const UPSERT_JOB = `INSERT INTO jobs (name, since_ms) VALUES (?, ?)
  ON CONFLICT (name) DO UPDATE SET since_ms = min(since_ms, excluded.since_ms) RETURNING id, since_ms`;

/** The run of a job whose end was noted last. */
export const SELECT_LAST_RUN = `SELECT key, started_at_ms, ending FROM job_runs
  WHERE job_id = ? AND end_order IS NOT NULL ORDER BY end_order DESC LIMIT 1`;

/** The runs of a job without an end behind the newest one with an end, the oldest first. */
export const SELECT_RUNS_UNDER_WAY = `SELECT key, started_at_ms, ending FROM job_runs
  WHERE job_id = ?1 AND end_order IS NULL
    AND id > (SELECT coalesce(max(id), 0) FROM job_runs WHERE job_id = ?1 AND end_order IS NOT NULL)
  ORDER BY id`;

/** Keeps the beginning of a run that is not known yet: id of the job, key, time. */
export const INSERT_BEGUN_RUN =
  `INSERT INTO job_runs (job_id, key, started_at_ms) VALUES (?, ?, ?) ON CONFLICT (key) DO NOTHING`;

/** Keeps a run with its end: id of the job, key, time, end. */
export const UPSERT_ENDED_RUN = `INSERT INTO job_runs (job_id, key, started_at_ms, end_order, ending)
  VALUES (?1, ?2, ?3, (SELECT coalesce(max(end_order), 0) + 1 FROM job_runs WHERE job_id = ?1), ?4)
  ON CONFLICT (key) DO UPDATE SET started_at_ms = excluded.started_at_ms, end_order = excluded.end_order,
    ending = excluded.ending`;

/** Forgets the runs of a job beyond so many of the newest, but not the one whose end was noted last. */
export const DELETE_SURPLUS_RUNS = `DELETE FROM job_runs WHERE id IN (
    SELECT id FROM job_runs WHERE job_id = ?1 ORDER BY id DESC LIMIT -1 OFFSET ?2)
  AND id IS NOT (SELECT id FROM job_runs WHERE job_id = ?1 AND end_order IS NOT NULL
    ORDER BY end_order DESC LIMIT 1)`;

const OLD_JOBS = `SELECT id FROM jobs WHERE name NOT IN (SELECT name FROM checks) AND since_ms < ?1
    AND NOT EXISTS (SELECT 1 FROM job_runs WHERE job_id = jobs.id AND started_at_ms >= ?1)`;

/** Forgets the runs of jobs without a check that nothing was heard of since a time. */
export const DELETE_OLD_JOB_RUNS = `DELETE FROM job_runs WHERE job_id IN (${OLD_JOBS})`;

/** Forgets those jobs themselves, once their runs are. */
export const DELETE_OLD_JOBS = `DELETE FROM jobs WHERE id IN (${OLD_JOBS})`;
