import { dirname } from "node:path";
import { type Store, StoreError } from "../../domain/store.ts";
import { COMPANIONS, type FileStoreOptions, type OpenedStore, type StoreFiles } from "../../domain/stores.ts";
import {
  BUSY_TIMEOUT_MS,
  DamagedFileError,
  explaining,
  type FileAccess,
  inspectEmptyFile,
  inspectHeader,
  inspectPlace,
  isBusy,
  migrate,
  openConnection,
  type Patience,
  type SqliteConnection,
  versionOf,
  whileBusy,
} from "./sqlite_connection.ts";
import { createDatabaseStore } from "./database_store.ts";
import { STEPS, unreadableState, WHOLE } from "../sql/tables.ts";

export interface SqliteStoreOptions extends FileAccess, Pick<FileStoreOptions, "access" | "damage"> {
  /** Wall time, milliseconds since 1970; part of a damaged file's new name. */
  readonly nowMs: number;
  /**
   * How long it is waited for other processes, at the opening and at everything after it, while this one goes on.
   * Without it each statement blocks this process for a while, and then the state is busy.
   */
  readonly patience?: Patience;
  /** Opens the database in the file. @default that of the runtime */
  readonly connect?: typeof openConnection;
}

/**
 * Opens a state that is kept in a SQLite database at an absolute path.
 *
 * The file and its directory are for their owner alone when they are made here. Symlinks, other users' files, other
 * programs' databases and states of a newer monitor are refused and never written to.
 *
 * @throws {StoreError} If it cannot be opened; `missing` when it is to be read and there is none.
 */
export async function openSqliteStore(path: string, options: SqliteStoreOptions): Promise<OpenedStore> {
  const { access, patience } = options;
  const open = async (connect: typeof connectToWrite): Promise<Store> => {
    const connection = await explaining(
      { action: "open", path },
      () => whileBusy(() => connect(path, options), patience),
    );
    return createDatabaseStore(connection, path, patience);
  };
  let reason = access === "own" ? options.damage : undefined;
  if (reason === undefined) {
    try {
      return { store: await open(access === "read" ? connectToRead : connectToWrite), quarantined: null };
    } catch (error) {
      if (access !== "own" || !(error instanceof StoreError && error.failure === "damaged")) throw error;
      reason = error.message;
    }
  }
  const newPath = await explaining({ action: "quarantine", path }, () => quarantine(path, options));
  return { store: await open(connectToWrite), quarantined: { path: newPath, reason } };
}

/** One process owns the state, but others may be making it at the same moment, to keep a silence or a beat. */
async function connectToWrite(path: string, options: SqliteStoreOptions): Promise<SqliteConnection> {
  const sizeBytes = await prepareFile(path, options);
  const busyTimeoutMs = options.access === "own"
    ? OPENING_BUSY_TIMEOUT_MS
    : options.patience === undefined
    ? ALONGSIDE_BUSY_TIMEOUT_MS
    : 0; // it waits between its tries
  const { connect = openConnection } = options;
  const connection = await connect(path, { readOnly: false, busyTimeoutMs });
  return await usingOrClosing(connection, (connection) => {
    if (sizeBytes > 0) findDamage(connection, sizeBytes);
    connection.first("PRAGMA synchronous = FULL");
    migrate(connection);
    useWriteAheadLog(connection);
    connection.first(`PRAGMA journal_size_limit = ${JOURNAL_BYTES_MAX}`);
    if (options.access !== "own") return;
    connection.waitForOthers(options.patience === undefined ? BUSY_TIMEOUT_MS : 0);
  });
}

/**
 * Processes that switch a new state at once require each other's locks. The database serves one of them, and returns
 * "busy" to the others without waiting as it does elsewhere. So those wait here, for their turn to write.
 */
function useWriteAheadLog(connection: SqliteConnection): void {
  for (let triesLeft = SWITCH_TRIES - 1;; triesLeft--) {
    try {
      connection.first("PRAGMA journal_mode = WAL");
      return;
    } catch (error) {
      if (triesLeft === 0 || !isBusy(error)) throw error;
    }
    connection.transaction(() => {});
  }
}

/** Creates the file if there is none, and validates it before the database opens it. Returns its size. */
async function prepareFile(path: string, options: SqliteStoreOptions): Promise<number> {
  const { files } = options;
  let file = await inspectPlace(path, options);
  if (file === null) {
    if (await createStateFile(path, files)) return 0;
    // Another process was faster, and its file is validated like any other.
    file = await inspectPlace(path, options);
  }
  if (file === null) {
    throw new StoreError(
      `cannot open state "${path}": the file is made and removed again; try again`,
      "busy",
    );
  }
  await (file.sizeBytes > 0 ? inspectHeader(path, files) : inspectEmptyFile(path, files));
  return file.sizeBytes;
}

async function connectToRead(path: string, options: SqliteStoreOptions): Promise<SqliteConnection> {
  const file = await inspectPlace(path, options);
  if (file === null || file.sizeBytes === 0) throw unreadableState(path, 0);
  await inspectHeader(path, options.files);
  const { connect = openConnection } = options;
  return await usingOrClosing(await connect(path, { readOnly: true }), (connection) => {
    const version = versionOf(connection);
    if (version !== STEPS.length) throw unreadableState(path, version);
  });
}

/** The owner of a state does nothing else before it is open; on a slow disk a check-in takes time. */
const OPENING_BUSY_TIMEOUT_MS = 2000;

/** Such a process has nothing else to do meanwhile, and the monitor may be writing a great deal. */
const ALONGSIDE_BUSY_TIMEOUT_MS = 5000;

/** After one wait it is done, unless the process that was let through has failed, or been killed. */
const SWITCH_TRIES = 10;

/** The maximum size of the journal on the disk after many writes at once. */
const JOURNAL_BYTES_MAX = 8 * 1024 * 1024;

/**
 * Files up to this size are validated completely, which takes some 3 ms for each megabyte. Of a larger one only the
 * table of checks is; damage to the history is detected when it is read.
 */
const WHOLE_CHECK_BYTES_MAX = 2 * 1024 * 1024;

function findDamage(connection: SqliteConnection, sizeBytes: number): void {
  const scope = sizeBytes <= WHOLE_CHECK_BYTES_MAX ? 1 : "checks";
  const verdict = String(connection.first(`PRAGMA quick_check(${scope})`)?.["quick_check"]);
  if (verdict === "ok") return;
  // Several findings come as lines under a headline between asterisks.
  const finding = verdict.split("\n").find((line) => !line.startsWith("*")) ?? verdict;
  throw new DamagedFileError(`the file is damaged (${finding})`);
}

async function createStateFile(path: string, files: StoreFiles): Promise<boolean> {
  const create = (): Promise<boolean> =>
    files.createFile(path).then(() => true, (error) => {
      if (error instanceof Deno.errors.AlreadyExists) return false;
      throw error;
    });
  try {
    return await create();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  // Only if it is missing: it requires a permission for the directory, while an existing file requires one only for
  // itself.
  await files.createDirectory(dirname(path));
  return await create();
}

async function usingOrClosing(connection: SqliteConnection, work: (connection: SqliteConnection) => void) {
  try {
    await work(connection);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** Renames a damaged state, which no process may have open, and its companion files. Nothing is replaced. */
async function quarantine(path: string, { files, nowMs }: Pick<SqliteStoreOptions, "files" | "nowMs">) {
  const newPath = await findFreeName(`${path}.damaged-${stamp(nowMs)}`, files);
  // The file is moved last: otherwise the database would treat the remaining files as leftovers and delete them.
  for (const companion of [...COMPANIONS, ""]) {
    if (await files.look(path + companion) !== null) {
      await files.rename(path + companion, newPath + companion);
    }
  }
  return newPath;
}

async function findFreeName(wanted: string, files: StoreFiles): Promise<string> {
  for (let count = 1;; count++) {
    const candidate = count === 1 ? wanted : `${wanted}-${count}`;
    const found = await Promise.all(
      [...COMPANIONS, ""].map((companion) => files.look(candidate + companion)),
    );
    if (found.every((facts) => facts === null)) return candidate;
  }
}

/** Such as `20260131T100000Z`. */
function stamp(nowMs: number): string {
  return new Date(nowMs).toISOString().replace(/\.\d+/, "").replaceAll(/[-:]/g, "");
}

/** Opens a database that is gone with this process (`--state none`). */
export async function openInMemoryStore(): Promise<Store> {
  const connection = await openConnection(":memory:", { readOnly: false });
  connection.execute(WHOLE);
  return createDatabaseStore(connection, ":memory:");
}
