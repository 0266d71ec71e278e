import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { Row } from "../sql/table_declaration.ts";
import { type Migration, newerVersion, STEPS, WHOLE } from "../sql/tables.ts";

/** The parts of the runtime's database that are used. */
export interface Database extends Pick<DatabaseSync, "isOpen" | "isTransaction" | "exec" | "close"> {
  prepare(sql: string): Statement;
}

interface Statement {
  run(...values: SQLInputValue[]): { readonly changes: number | bigint };
  all(...values: SQLInputValue[]): Row[];
  get(...values: SQLInputValue[]): Row | undefined;
}

/** How long a statement waits for another process's lock by default; it blocks everything else meanwhile. */
export const BUSY_TIMEOUT_MS = 200;

/**
 * An open database. Every statement is prepared once and reused, also those that begin and end a transaction: only
 * errors of prepared statements have an error code.
 *
 * A query names its columns: on some versions of the runtime, a statement with `*` keeps returning the columns of its
 * first call after the tables have changed.
 *
 * Invariant: no transaction is open when `transaction` returns or throws, unless the database itself fails to roll
 * back; then the next one does so first.
 */
export class SqliteConnection {
  readonly #database: Database;
  readonly #statements = new Map<string, Statement>();

  constructor(database: Database) {
    this.#database = database;
  }

  get isOpen(): boolean {
    return this.#database.isOpen;
  }

  /** Runs statements that need no result, in half the time; errors have no code. */
  execute(statements: readonly string[]): void {
    this.#database.exec(statements.join(";"));
  }

  run(sql: string, ...values: readonly SQLInputValue[]): number {
    return Number(this.#statement(sql).run(...values).changes);
  }

  all(sql: string, ...values: readonly SQLInputValue[]): readonly Row[] {
    return this.#statement(sql).all(...values);
  }

  /** The first row of a query; `undefined` when there is none. */
  first(sql: string, ...values: readonly SQLInputValue[]): Row | undefined {
    return this.#statement(sql).get(...values);
  }

  /** Runs some work, on disk when this returns. `DEFERRED`: it reads a consistent snapshot without a write lock. */
  transaction<T>(work: () => T, mode: "IMMEDIATE" | "DEFERRED" = "IMMEDIATE"): T {
    this.#rollBack();
    this.run(`BEGIN ${mode}`);
    try {
      const answer = work();
      this.run("COMMIT");
      return answer;
    } catch (error) {
      try {
        this.#rollBack();
      } catch {
        // The first error is the one that matters.
      }
      throw error;
    }
  }

  waitForOthers(timeoutMs: number): void {
    this.execute([`PRAGMA busy_timeout = ${timeoutMs}`]);
  }

  /** Ends the use of it; fine when that was done before. */
  close(): void {
    this.#statements.clear();
    if (this.#database.isOpen) this.#database.close();
  }

  #statement(sql: string): Statement {
    return this.#statements.getOrInsertComputed(sql, () => this.#database.prepare(sql));
  }

  /** A full disk often ends the transaction by itself. */
  #rollBack(): void {
    if (this.#database.isTransaction) this.run("ROLLBACK");
  }
}

/** Opens an existing database file. The module is loaded only here: a run without a state avoids it. */
export async function openConnection(
  path: string,
  { readOnly, busyTimeoutMs = BUSY_TIMEOUT_MS }: {
    readonly readOnly: boolean;
    readonly busyTimeoutMs?: number;
  },
): Promise<SqliteConnection> {
  const { DatabaseSync } = await import("node:sqlite");
  const connection = new SqliteConnection(new DatabaseSync(path, { readOnly }));
  connection.waitForOthers(busyTimeoutMs);
  return connection;
}

/** Marks a database as one of monitor's ("mntr" in ASCII; SQLite's header, offset 68). Never changes. */
export const APPLICATION_ID = 0x6d6e7472;

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
export function migrate(connection: SqliteConnection, migrations: readonly Migration[] = STEPS): void {
  if (versionOf(connection, migrations) === migrations.length) return;
  // DEFERRED because a file's pages can't be laid out for `auto_vacuum` after an IMMEDIATE transaction has begun; the
  // pragma itself acquires the lock for writing. Outside of the transaction, a crash would leave a file without our
  // id.
  connection.transaction(() => {
    connection.run("PRAGMA auto_vacuum = INCREMENTAL");
    const version = versionOf(connection, migrations);
    const isNew = version === 0 && migrations === STEPS;
    for (const migration of isNew ? [WHOLE] : migrations.slice(version)) {
      for (const statement of migration) connection.run(statement);
    }
    connection.run(`PRAGMA user_version = ${migrations.length}`);
    connection.run(`PRAGMA application_id = ${APPLICATION_ID}`);
  }, "DEFERRED");
}

/** The version of a database; 0 for an empty one. Throws a {@linkcode NewerVersionError} if it is beyond the last step. */
export function versionOf(
  connection: SqliteConnection,
  migrations: readonly Migration[] = STEPS,
): number {
  const version = Number(connection.first("PRAGMA user_version")?.["user_version"]);
  if (version > migrations.length) throw new NewerVersionError(newerVersion(version, migrations.length));
  return version;
}
