import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { Dialect } from "../sql/rows.ts";
import type { Row } from "../sql/table_declaration.ts";
import { type Migration, newerVersion, STEPS, WHOLE } from "../sql/tables.ts";
import { StoreError, type StoreFailure } from "../../domain/store.ts";
import { UnreadableRowError } from "../codec.ts";
import { pause } from "../../shared/deadline.ts";
import type { Clock } from "../../domain/clock.ts";
import { missingUserId } from "../../domain/runtime_permissions.ts";
import { COMPANIONS, type FileStoreOptions, type PathFacts, type StoreFiles } from "../../domain/stores.ts";

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

  run(sql: string, ...values: SQLInputValue[]): number {
    shareBuffer(values);
    return Number(this.#statement(sql).run(...values).changes);
  }

  all(sql: string, ...values: readonly SQLInputValue[]): readonly Row[] {
    return this.#statement(sql).all(...values);
  }

  /** The first row of a query; `undefined` when there is none. */
  first(sql: string, ...values: SQLInputValue[]): Row | undefined {
    shareBuffer(values);
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

/** Small bytes of one statement: the database copies what is bound. */
const BOUND = new Uint8Array(4_096);

/** Puts small bytes into one buffer: for those that have none yet, the runtime makes one, at ten times the cost. */
function shareBuffer(values: SQLInputValue[]): void {
  let end = 0;
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (!(value instanceof Uint8Array) || end + value.length > BOUND.length) continue;
    BOUND.set(value, end);
    values[index] = BOUND.subarray(end, end += value.length);
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
export function versionOf(connection: SqliteConnection, migrations: readonly Migration[] = STEPS): number {
  const version = Number(connection.first("PRAGMA user_version")?.["user_version"]);
  if (version > migrations.length) throw new NewerVersionError(newerVersion(version, migrations.length));
  return version;
}

interface Attempt {
  /** Completes "Cannot … state". */
  readonly action: "open" | "read" | "write" | "quarantine";
  readonly path: string;
}

type Explanation = readonly [failure: StoreFailure, reason: string];

/** Turns an error of the database or of its files into a {@linkcode StoreError}; `null` for a bug. */
export function explainStoreFailure(error: unknown, { action, path }: Attempt): StoreError | null {
  if (error instanceof StoreError) return error;
  const explanation = explain(error);
  if (explanation === null) return null;
  const [failure, reason] = explanation;
  return new StoreError(`cannot ${action} state "${path}": ${reason}`, failure, { cause: error });
}

export async function explaining<T>(attempt: Attempt, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw explainStoreFailure(error, attempt) ?? error;
  }
}

/** Returns whether another process has a lock that the database requires (SQLITE_BUSY in any of its forms). */
export function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && (Number(error.errcode) & PRIMARY_CODE) === BUSY;
}

const PRIMARY_CODE = 0xff;
const BUSY = 5;

const FULL: Explanation = ["full", "the disk is full; free some space"];
const READ_ONLY: Explanation = [
  "denied",
  "read-only; make the file and its directory writable for this user",
];
const NO_PERMISSION: Explanation = [
  "denied",
  "permission denied; make the file and its directory writable for this user",
];
const CANNOT_OPEN: Explanation = [
  "denied",
  "the file, its -wal or its -shm cannot be opened; make them and the directory writable for this user",
];

/** By SQLite's primary result code (sqlite.org/rescode.html). */
const BY_RESULT_CODE: ReadonlyMap<number, Explanation> = new Map([
  [3, NO_PERMISSION],
  [BUSY, ["busy", "locked by another process for too long; run it again"]],
  [8, READ_ONLY],
  [11, ["damaged", "the file is damaged"]],
  [13, FULL],
  [14, CANNOT_OPEN],
  [26, ["damaged", "the file is not a database"]],
]);

/** By the system's name of an error, where the runtime has no class for it. */
const BY_SYSTEM_CODE: ReadonlyMap<string, Explanation> = new Map([
  ["EDQUOT", ["full", "the disk quota is exceeded; free some space"]],
  ["ENOSPC", FULL],
  ["EROFS", READ_ONLY],
]);

/** The runtime's own codes have underscores. */
const SYSTEM_CODE = /^E[A-Z0-9]+$/;

/** The error of the database's shared memory on a full disk (SQLITE_IOERR_SHMSIZE). */
const SHARED_MEMORY_TOO_SMALL = 4874;
const IO_ERROR = 10;

function explain(error: unknown): Explanation | null {
  if (!(error instanceof Error)) return null;
  if (error instanceof Deno.errors.NotCapable) return ["denied", `missing permission: ${error.message}`];
  if (error instanceof Deno.errors.PermissionDenied) return NO_PERMISSION;
  if (error instanceof Deno.errors.TimedOut) return ["other", error.message];
  if (error instanceof NewerVersionError) return ["other", error.message];
  if (error instanceof DamagedFileError || error instanceof UnreadableRowError) {
    return ["damaged", error.message];
  }
  const code = "code" in error ? error.code : undefined;
  if (code === "ERR_SQLITE_ERROR") return explainDatabaseError(error);
  if (code === "ERR_INVALID_STATE") return ["other", "it was closed"];
  // A number in a row that is beyond JavaScript's numbers; monitor never wrote it.
  if (code === "ERR_OUT_OF_RANGE") return ["damaged", "a number in a row is out of range"];
  if (typeof code !== "string" || !SYSTEM_CODE.test(code)) return null;
  return BY_SYSTEM_CODE.get(code) ?? ["other", error.message];
}

function explainDatabaseError(error: Error): Explanation {
  const extended = "errcode" in error ? Number(error.errcode) : undefined;
  // Only opening has no code, and only one way to fail.
  if (extended === undefined) return CANNOT_OPEN;
  if (extended === SHARED_MEMORY_TOO_SMALL) return FULL;
  const code = extended & PRIMARY_CODE;
  if (code === IO_ERROR) {
    const shown = `${error.message}, code ${extended}`;
    return ["other", `the disk reports an error (${shown}); check the disk, its quota and the system log`];
  }
  const known = BY_RESULT_CODE.get(code);
  if (known !== undefined) return known;
  if (/^no such (table|column)/.test(error.message)) return ["damaged", error.message];
  return ["other", `${error.message} (code ${extended})`];
}

/** How long a store waits for its turn while other processes write. */
export interface Patience extends Pick<FileStoreOptions, "pauseMsMax" | "signal"> {
  readonly clock: Pick<Clock, "monotonicMs" | "after">;
  readonly timeoutMs: number;
}

/** Between two tries: a tenth of the time that has passed, but no less. */
const PAUSE_MS_MIN = 5;

/** Does some work, and retries it while another process has the locks that it needs. */
export async function whileBusy<T>(work: () => T | Promise<T>, patience: Patience | undefined): Promise<T> {
  if (patience === undefined) return await work();
  const { clock, timeoutMs, pauseMsMax = 1_000, signal } = patience;
  const startMs = clock.monotonicMs();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const isRetryable = isBusy(error) || error instanceof StoreError && error.failure === "busy";
      const passedMs = clock.monotonicMs() - startMs;
      if (!isRetryable || passedMs >= timeoutMs || signal?.aborted) throw error;
      const pauseMs = Math.min(Math.max(passedMs / 10, PAUSE_MS_MIN), pauseMsMax);
      await pause(clock, pauseMs);
    }
  }
}

/** Runs work on a database; errors become a {@linkcode StoreError}. */
export interface Access extends Dialect {
  read<T>(work: () => T): Promise<T>;
  /** Each write waits for the one before, so that their order stays even if they wait for other processes. */
  write<T>(work: () => T): Promise<T>;
}

/** A file that is no state that a monitor can have left like this. */
export class DamagedFileError extends Error {
  override readonly name = "DamagedFileError";
}

export interface FileAccess {
  readonly files: StoreFiles;
  /** The user that runs this, whose file it must be; root (0) may use any. `null` on systems without ids, and if it may not be read. */
  readonly userId: number | null;
}

/**
 * Returns the type of a state's path; `null` if it does not exist.
 *
 * Rejects, for the file and its companions alike, files that another user may have created there: a symlink (the
 * database would follow it and write to its target), or a file of another user (the database would replay a planted
 * -wal). Root may use the state of any user.
 *
 * @throws {StoreError} If it is rejected.
 * @throws {Deno.errors.NotCapable} If the owner of the file cannot be read.
 */
export async function inspectPlace(path: string, { files, userId }: FileAccess): Promise<PathFacts | null> {
  const paths = ["", ...COMPANIONS].map((companion) => path + companion);
  const found = await Promise.all(paths.map((one) => files.look(one)));
  const [file = null] = found;
  for (const [index, facts] of found.entries()) {
    if (facts === null) continue;
    const { kind, ownerId } = facts;
    const place = paths[index] ?? path;
    if (kind !== "file") {
      const what = kind === "symlink"
        ? "a symlink, which is not followed"
        : `a ${kind === "directory" ? kind : "device or a pipe"}`;
      throw refusal(path, `"${place}" is ${what}; name a file`, "denied");
    }
    const owners = index === 0 ? [userId, userId === 0 ? ownerId : null] : [userId, file?.ownerId ?? null];
    if (ownerId === null || owners.includes(ownerId)) continue;
    if (userId === null) throw missingUserId("ownership of files");
    throw refusal(
      path,
      `"${place}" belongs to another user (id ${ownerId}); run as that user, or name another file`,
      "denied",
    );
  }
  return file;
}

/**
 * Reads the header (sqlite.org/fileformat2.html, section 1.3) without the database, which might write to a file
 * that is not ours just by opening and closing it.
 *
 * @throws {DamagedFileError} If it is no header of a database.
 * @throws {NewerVersionError} If a newer monitor wrote it.
 * @throws {StoreError} If another program wrote it.
 */
export async function inspectHeader(path: string, files: StoreFiles): Promise<void> {
  const header = await files.readStart(path, HEADER_BYTES);
  const magic = new TextEncoder().encode("SQLite format 3\0");
  if (header.length < HEADER_BYTES || magic.some((byte, index) => header[index] !== byte)) {
    throw new DamagedFileError("the file is not a database");
  }
  const view = new DataView(header.buffer, header.byteOffset);
  if (view.getUint32(APPLICATION_ID_OFFSET) !== APPLICATION_ID) {
    throw refusal(path, "it is a database of another program", "other");
  }
  const version = view.getUint32(USER_VERSION_OFFSET);
  if (version > STEPS.length) throw new NewerVersionError(newerVersion(version, STEPS.length));
}

/**
 * Examines the companions of an empty file. It may be new; but a journal with contents is written after the file's
 * first page, and the database would delete it. Another process may be filling the file at this moment, so the file
 * is examined again after the journal.
 *
 * @throws {DamagedFileError} If the file has lost its contents.
 */
export async function inspectEmptyFile(path: string, files: StoreFiles): Promise<void> {
  const journal = await files.look(`${path}-wal`);
  if (journal === null || journal.sizeBytes === 0) return;
  const file = await files.look(path);
  if (file?.sizeBytes === 0) throw new DamagedFileError("the file is empty, its journal is not");
}

const HEADER_BYTES = 100;
const USER_VERSION_OFFSET = 60;
const APPLICATION_ID_OFFSET = 68;

function refusal(path: string, reason: string, failure: "denied" | "other"): StoreError {
  return new StoreError(`cannot open state "${path}": ${reason}`, failure);
}
