import type { SqliteConnection } from "./sqlite_connection.ts";
import { type Migration, newerVersion } from "../sql/migration.ts";
import { CREATE_TABLES } from "../sql/tables.ts";

/** Marks a database as one of monitor's ("mntr" in ASCII; SQLite's header, offset 68). Never changes. */
export const APPLICATION_ID = 0x6d6e7472;

/**
 * The steps from an empty database to the present tables; the version of a database is the number of its applied
 * steps. A released step never changes: a release replaces the first one by its text, and later changes are new
 * steps.
 */
export const MIGRATIONS: readonly Migration[] = [CREATE_TABLES];

/** A database that a newer monitor has written. */
export class NewerVersionError extends Error {
  override readonly name = "NewerVersionError";
}

/**
 * Brings a database to the present version in one transaction: another process sees all of it or nothing. Safe
 * when two processes do it at once.
 *
 * @throws {NewerVersionError} If it has a version beyond the last step; nothing is touched then.
 */
export function migrate(connection: SqliteConnection, migrations: readonly Migration[] = MIGRATIONS): void {
  if (versionOf(connection, migrations) === migrations.length) return;
  // DEFERRED because a file's pages can't be laid out for `auto_vacuum` after an IMMEDIATE transaction has begun; the
  // pragma itself acquires the lock for writing. Outside of the transaction, a crash would leave a file without our
  // id.
  connection.transaction(() => {
    connection.run("PRAGMA auto_vacuum = INCREMENTAL");
    const version = versionOf(connection, migrations);
    for (const migration of migrations.slice(version)) {
      for (const statement of migration) connection.run(statement);
    }
    connection.run(`PRAGMA user_version = ${migrations.length}`);
    connection.run(`PRAGMA application_id = ${APPLICATION_ID}`);
  }, "DEFERRED");
}

/**
 * The version of a database; 0 for an empty one.
 *
 * @throws {NewerVersionError} If it is beyond the last step.
 */
export function versionOf(
  connection: SqliteConnection,
  migrations: readonly Migration[] = MIGRATIONS,
): number {
  const version = Number(connection.first("PRAGMA user_version")?.["user_version"]);
  if (version > migrations.length) throw new NewerVersionError(newerVersion(version, migrations.length));
  return version;
}
