import type { DatabaseSync as Database, SQLInputValue } from "node:sqlite";
import { type Database as UsedDatabase, SqliteConnection } from "../../src/state/sqlite/sqlite_connection.ts";
import { type Node, prepared } from "./memory_files.ts";
import { KilledError, type Program } from "./program.ts";

/** SQLite's errors (sqlite.org/rescode.html), made once: a process that waits for a lock asks thousands of times. */
const ERRORS = {
  busy: sqliteError(5, "database is locked"),
  readonly: sqliteError(8, "attempt to write a readonly database"),
  corrupt: sqliteError(11, "database disk image is malformed"),
  full: sqliteError(13, "database or disk is full"),
} as const;

/** Statements that change nothing of a file. */
const READS = /^\s*(?:SELECT|WITH|PRAGMA|BEGIN|COMMIT|ROLLBACK)\b/i;
const WRITES_WITH = /^\s*WITH\b.*\b(?:INSERT|UPDATE|DELETE)\b/is;

/**
 * Opens the database in a file of a program's machine. The database itself is SQLite's own, in memory, and it stays with
 * the file. Since transactions are synchronous, a kill falls before or behind one.
 */
export async function connectToFile(
  program: Program,
  path: string,
  { readOnly }: { readonly readOnly: boolean },
): Promise<SqliteConnection> {
  const { DatabaseSync } = await import("node:sqlite");
  const { files } = program.machine;
  const node = files.node(path);
  if (!files.allows(node, readOnly ? 4 : 6)) throw ERRORS.readonly;
  node.database ??= new DatabaseSync(":memory:");
  return new SqliteConnection(new Connection(program, node, node.database));
}

class Connection implements UsedDatabase {
  readonly #program: Program;
  readonly #node: Node;
  readonly #database: Database;
  readonly #forget: () => void;
  #isOpen = true;
  /** Whether the transaction that is open was begun here. */
  #isInTransaction = false;
  /** Whether it has changed anything. */
  #hasChanges = false;

  constructor(program: Program, node: Node, database: Database) {
    this.#program = program;
    this.#node = node;
    this.#database = database;
    this.#forget = program.atEnd(() => this.#rollBack());
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get isTransaction(): boolean {
    return this.#isInTransaction;
  }

  exec(sql: string): void {
    this.#database.exec(sql);
  }

  close(): void {
    this.#rollBack();
    this.#forget();
    this.#isOpen = false;
  }

  prepare(sql: string): ReturnType<UsedDatabase["prepare"]> {
    const kind = /^\s*(BEGIN|COMMIT|ROLLBACK)/i.exec(sql)?.[1]?.toUpperCase();
    if (kind !== undefined) {
      const statement = prepared(this.#database, sql);
      const isForWriting = /IMMEDIATE/i.test(sql);
      const run = (): { changes: number } => {
        this.#turn(kind, { isForWriting, run: () => void statement.run() });
        return { changes: 0 };
      };
      return { run, all: () => (run(), []), get: () => (run(), undefined) };
    }
    this.#mayRead();
    const statement = prepared(this.#database, sql);
    const isWriting = !READS.test(sql) || WRITES_WITH.test(sql);
    const isDamageSearch = /quick_check/.test(sql);
    const before = (): void => {
      if (!isDamageSearch) this.#mayRead();
      if (!isWriting) return;
      this.#mayWrite();
      if (!this.#isInTransaction) this.#program.step("before a statement");
      this.#hasChanges = true;
    };
    return {
      run: (...values: SQLInputValue[]) => {
        before();
        return statement.run(...values);
      },
      all: (...values: SQLInputValue[]) => {
        before();
        return statement.all(...values);
      },
      get: (...values: SQLInputValue[]) => {
        before();
        if (!isDamageSearch) return statement.get(...values);
        // Tests alone damage what is in memory.
        return {
          quick_check: this.#node.damage === null
            ? "ok"
            : "Tree 2 page 2: btreeInitPage() returns error code 11",
        };
      },
    };
  }

  #turn(kind: string, { isForWriting, run }: { readonly isForWriting: boolean; run(): void }): void {
    if (kind === "BEGIN") {
      this.#mayRead();
      if (isForWriting) this.#mayWrite({ isEnd: false });
      run();
      this.#isInTransaction = true;
      this.#hasChanges = false;
      return;
    }
    if (kind === "ROLLBACK") return this.#rollBack();
    try {
      this.#program.step("before a commit");
      if (this.#hasChanges && this.#program.machine.files.isFull) throw ERRORS.full;
    } catch (error) {
      // A full disk ends the transaction by itself.
      this.#rollBack();
      throw error;
    }
    run();
    this.#isInTransaction = false;
    this.#program.step("after a commit");
  }

  #rollBack(): void {
    if (!this.#isInTransaction) return;
    this.#isInTransaction = false;
    this.#database.exec("ROLLBACK");
  }

  #mayRead(): void {
    if (this.#program.hasEnded) throw new KilledError();
    if (this.#node.damage !== null) throw ERRORS.corrupt;
  }

  #mayWrite({ isEnd = !this.#isInTransaction } = {}): void {
    const { files, lockedDatabases } = this.#program.machine;
    if (lockedDatabases.has(this.#node)) throw ERRORS.busy;
    if (files.isReadOnly || !files.allows(this.#node, 2)) throw ERRORS.readonly;
    if (isEnd && files.isFull) throw ERRORS.full;
  }
}

function sqliteError(errcode: number, words: string): Error {
  return Object.assign(new Error(words), { code: "ERR_SQLITE_ERROR", errcode });
}
