import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { createRealClock } from "../../testing/real_clock.ts";
import { type Store, StoreError, type StoreFailure } from "../../src/domain/store.ts";
import type { OpenedStore } from "../../src/domain/stores.ts";
import { openSqliteStore, type SqliteStoreOptions } from "../../src/state/sqlite/sqlite_store.ts";
import { createStoreFiles } from "../../src/system/files.ts";
import { NOW_MS } from "./records.ts";
import { tempDirectory } from "../../testing/builders.ts";

/** Runs a test with the path of a state that does not exist yet, in a temporary directory. */
export async function withStatePath(use: (path: string) => Promise<void>): Promise<void> {
  await using temporary = await tempDirectory();
  await use(`${temporary.path}/state.sqlite`);
}

/** Opens a state as the monitor does, for this user and with a fixed time. */
export function openState(path: string, options: Partial<SqliteStoreOptions> = {}): Promise<OpenedStore> {
  return openSqliteStore(path, {
    files: createStoreFiles(createRealClock()),
    userId: Deno.uid(),
    nowMs: NOW_MS,
    access: "own",
    ...options,
  });
}

/** Opens a state, uses it and closes it. */
export async function withState<T>(
  path: string,
  use: (store: Store) => Promise<T>,
  options: Partial<SqliteStoreOptions> = {},
): Promise<T> {
  const { store } = await openState(path, options);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** Accepts an error of the state of this kind and with this reason, as `assert.rejects` calls it. */
export function failing(failure: StoreFailure, reason: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof StoreError, String(error));
    assert.equal(error.failure, failure, error.message);
    assert.match(error.message, reason);
    return true;
  };
}

/** Opens the file of a state as a database. */
export function withDatabase<T>(path: string, use: (database: DatabaseSync) => T): T {
  using database = new DatabaseSync(path);
  return use(database);
}

export function integrityOf(path: string): unknown {
  return withDatabase(
    path,
    (database) => database.prepare("PRAGMA integrity_check").get()?.["integrity_check"],
  );
}
