/** The statements on jobs that are more than an upsert of a row. Names and keys are encoded as column text. */
import { JOB_RUNS, JOBS } from "../sql/tables.ts";

/** A job: its id and the time when it was first recorded. */
export const SELECT_JOB = "SELECT id, since_ms FROM jobs WHERE name = ?";

export const UPSERT_JOB = `${JOBS.upsert} RETURNING id`;

/** The run of a job whose end was noted last. */
export const SELECT_LAST_RUN = `SELECT ${JOB_RUNS.columns} FROM job_runs
  WHERE job_id = ? AND end_order IS NOT NULL ORDER BY end_order DESC LIMIT 1`;

/** The runs of a job without an end behind the newest one with an end, the oldest first. */
export const SELECT_RUNS_IN_PROGRESS = `SELECT ${JOB_RUNS.columns} FROM job_runs
  WHERE job_id = ?1 AND end_order IS NULL
    AND id > (SELECT coalesce(max(id), 0) FROM job_runs WHERE job_id = ?1 AND end_order IS NOT NULL)
  ORDER BY id`;

/** Inserts the start of a run that is not recorded yet. */
export const INSERT_BEGUN_RUN = `${JOB_RUNS.insert} ON CONFLICT (key) DO NOTHING`;

/** The number of the next end of a job's run. */
export const SELECT_END_ORDER =
  "SELECT coalesce(max(end_order), 0) + 1 AS end_order FROM job_runs WHERE job_id = ?";

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
