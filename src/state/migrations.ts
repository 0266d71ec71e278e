import type { Connection } from "./connection.ts";

/** Marks a database as one of monitor's ("mntr" in ASCII; SQLite's header, offset 68). Never changes. */
export const APPLICATION_ID = 0x6d6e7472;

/**
 * The steps from nothing to the present tables; the version of a database is how many of them it has seen. What
 * was released never changes: a new step goes to the end.
 *
 * `fresh_runs` and `runs` are what recent_runs.ts packs. Conditions are kept as their names, times as wall time in milliseconds since 1970. `condition` and `last` of a
 * check, the `notification` of the outbox, the `ending` of a job's run and the `text` of `monitor` are JSON; other text is as `encodeText` in members.ts makes it. A `key` is what
 * everything but the tables calls an id; the ids of the tables keep the order in which things came.
 *
 * `told` and `outbox` name their checks rather than refer to them: when a record cannot be kept just now, what its
 * channels were told is kept nevertheless. So do `jobs`, which may report before anybody has checked them; the ids of
 * their runs keep the order in which these began, `end_order` that in which they ended, whatever the clock said.
 * `sequence` is not UNIQUE, so that no mistake with it stops a `save`.
 */
export const MIGRATIONS: readonly Migration[] = [
  [
    `CREATE TABLE checks (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      condition TEXT NOT NULL,
      last TEXT,
      next_run_at_ms INTEGER,
      interval_ms INTEGER NOT NULL,
      missed_runs INTEGER NOT NULL,
      seen_at_ms INTEGER NOT NULL,
      runs_ok INTEGER NOT NULL DEFAULT 0,
      runs_unknown INTEGER NOT NULL DEFAULT 0,
      runs_warning INTEGER NOT NULL DEFAULT 0,
      runs_critical INTEGER NOT NULL DEFAULT 0,
      duration_total_ms REAL NOT NULL DEFAULT 0,
      fresh_runs BLOB NOT NULL DEFAULT x''
    )`,
    `CREATE TABLE changes (
      id INTEGER PRIMARY KEY,
      check_id INTEGER NOT NULL REFERENCES checks (id),
      at_ms INTEGER NOT NULL,
      from_condition TEXT NOT NULL,
      to_condition TEXT NOT NULL,
      output TEXT NOT NULL
    )`,
    "CREATE INDEX changes_by_time ON changes (check_id, at_ms)",
    `CREATE TABLE rollups (
      check_id INTEGER NOT NULL REFERENCES checks (id),
      start_ms INTEGER NOT NULL,
      span_ms INTEGER NOT NULL,
      observed_ok INTEGER NOT NULL,
      observed_unknown INTEGER NOT NULL,
      observed_warning INTEGER NOT NULL,
      observed_critical INTEGER NOT NULL,
      lasted_ok_ms INTEGER NOT NULL,
      lasted_unknown_ms INTEGER NOT NULL,
      lasted_warning_ms INTEGER NOT NULL,
      lasted_critical_ms INTEGER NOT NULL,
      duration_total_ms REAL NOT NULL,
      duration_max_ms REAL NOT NULL,
      failed_streak_max INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (check_id, start_ms, span_ms)
    ) WITHOUT ROWID`,
    "CREATE TABLE recent_runs (check_id INTEGER PRIMARY KEY REFERENCES checks (id), runs BLOB NOT NULL)",
    `CREATE TABLE outbox (
      id INTEGER PRIMARY KEY,
      key TEXT NOT NULL UNIQUE,
      sequence INTEGER NOT NULL,
      channel_key TEXT NOT NULL,
      channel_name TEXT NOT NULL,
      state TEXT NOT NULL,
      attempts INTEGER NOT NULL,
      next_attempt_at_ms INTEGER NOT NULL,
      last_failure TEXT,
      first_failed_at_ms INTEGER,
      message_id TEXT,
      notification TEXT NOT NULL,
      missed_problem TEXT,
      summarized INTEGER NOT NULL DEFAULT 0
    )`,
    "CREATE INDEX outbox_dropped ON outbox (next_attempt_at_ms, first_failed_at_ms) WHERE state = 'dropped'",
    `CREATE TABLE told (
      id INTEGER PRIMARY KEY,
      check_name TEXT NOT NULL,
      channel_key TEXT NOT NULL,
      message_id TEXT NOT NULL,
      condition TEXT NOT NULL,
      certain INTEGER NOT NULL DEFAULT 1,
      UNIQUE (check_name, channel_key)
    )`,
    `CREATE TABLE channels (
      id INTEGER PRIMARY KEY,
      key TEXT NOT NULL UNIQUE,
      name TEXT NOT NULL,
      sent INTEGER NOT NULL,
      failed_attempts INTEGER NOT NULL,
      dropped INTEGER NOT NULL,
      summarized INTEGER NOT NULL DEFAULT 0,
      counted_at_ms INTEGER NOT NULL
    )`,
    `CREATE TABLE silences (
      id INTEGER PRIMARY KEY,
      key TEXT NOT NULL UNIQUE,
      check_name TEXT,
      from_ms INTEGER NOT NULL,
      until_ms INTEGER NOT NULL,
      reason TEXT NOT NULL
    )`,
    "CREATE INDEX silences_by_end ON silences (until_ms)",
    `CREATE TABLE jobs (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      since_ms INTEGER NOT NULL
    )`,
    `CREATE TABLE job_runs (
      id INTEGER PRIMARY KEY,
      job_id INTEGER NOT NULL REFERENCES jobs (id),
      key TEXT NOT NULL UNIQUE,
      started_at_ms INTEGER NOT NULL,
      end_order INTEGER,
      ending TEXT
    )`,
    "CREATE INDEX job_runs_by_job ON job_runs (job_id)",
    "CREATE TABLE clock (id INTEGER PRIMARY KEY, earlier_ms INTEGER NOT NULL, later_ms INTEGER NOT NULL)",
    "CREATE TABLE monitor (id INTEGER PRIMARY KEY, text TEXT NOT NULL)",
  ],
];

/** The statements of one step. */
export type Migration = readonly string[];

/** A database that a newer monitor has written. */
export class NewerVersionError extends Error {
  /** The name of the class. */
  override readonly name = "NewerVersionError";
}

/**
 * Brings a database to the present version in one transaction: another process sees all of it or nothing. Safe
 * when two processes do it at once.
 *
 * @throws {NewerVersionError} If it has a version beyond the last step; nothing is touched then.
 */
export function migrate(connection: Connection, migrations: readonly Migration[] = MIGRATIONS): void {
  if (versionOf(connection, migrations) === migrations.length) return;
  connection.transaction(() => {
    const version = versionOf(connection, migrations);
    for (const migration of migrations.slice(version)) {
      for (const statement of migration) connection.run(statement);
    }
    connection.run(`PRAGMA user_version = ${migrations.length}`);
    connection.run(`PRAGMA application_id = ${APPLICATION_ID}`);
  });
}

/**
 * The version of a database; 0 for an empty one.
 *
 * @throws {NewerVersionError} If it is beyond the last step.
 */
export function versionOf(connection: Connection, migrations: readonly Migration[] = MIGRATIONS): number {
  const version = Number(connection.first("PRAGMA user_version")?.["user_version"]);
  if (version > migrations.length) throw new NewerVersionError(newerVersion(version, migrations.length));
  return version;
}

/** Says that a state is newer than this program. */
export function newerVersion(version: number, versionMax: number): string {
  return `it is of version ${version}, and this monitor knows versions up to ${versionMax}; use the newer monitor, ` +
    "or keep the state elsewhere";
}
