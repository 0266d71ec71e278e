import type { Store } from "../../domain/store.ts";
import { openConnection } from "./sqlite_connection.ts";
import { createDatabaseStore } from "./database_store.ts";
import { STEPS } from "../sql/tables.ts";

const PATH = ":memory:";

/** Opens a database that is gone with this process (`--state none`). */
export async function openInMemoryStore(): Promise<Store> {
  const connection = await openConnection(PATH, { readOnly: false });
  connection.execute(STEPS.flat());
  return createDatabaseStore(connection, PATH);
}
