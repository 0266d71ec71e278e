import { createRealClock } from "../../testing/real_clock.ts";
import type { Store } from "../../src/domain/store.ts";
import { openSqliteStore } from "../../src/state/sqlite/sqlite_store.ts";
import { createStoreFiles } from "../../src/system/store_files.ts";

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
