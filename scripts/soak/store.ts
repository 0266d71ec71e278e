import { createRealClock } from "../../testing/real_clock.ts";
import type { Store } from "../../src/domain/store.ts";
import { openSqliteStore } from "../../src/state/sqlite/sqlite_store.ts";
import { openPostgresStore } from "../../src/state/postgres/postgres_store.ts";
import { createStoreFiles } from "../../src/system/files.ts";
import { clientOptions, startPostgres } from "../../testing/postgres_server.ts";

/** Runs some work with a real state in a temporary directory. */
export async function withRealStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
  const directory = await Deno.makeTempDir({ prefix: "monitor-soak-" });
  try {
    const { store } = await openSqliteStore(`${directory}/state.sqlite`, {
      files: createStoreFiles(createRealClock()),
      userId: Deno.uid(),
      nowMs: Date.now(),
      access: "own",
    });
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** The same on a PostgreSQL server of its own. */
export async function withPostgresStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
  await using server = await startPostgres();
  const store = await openPostgresStore(server.place(), {
    ...clientOptions(),
    random: Math.random,
    access: "own",
  });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
