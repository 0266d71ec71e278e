import type { Store } from "../domain/store.ts";
import { openConnection } from "./connection.ts";
import { createDatabaseStore } from "./database_store.ts";
import { migrate } from "./migrations.ts";

const PATH = ":memory:";

/** Opens a database that is gone with this process (`--state none`). */
export async function openInMemoryStore(): Promise<Store> {
  const connection = await openConnection(PATH, { readOnly: false });
  migrate(connection);
  return createDatabaseStore(connection, PATH);
}
