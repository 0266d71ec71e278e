/** A PostgreSQL server for all tests of a module, and stores on it. */
import type { PostgresStoreOptions } from "../../src/state/postgres/postgres_store.ts";
import {
  clientOptions,
  type PostgresServer,
  type PostgresServerOptions,
  startPostgres,
} from "../../testing/postgres_server.ts";
import { testRandom } from "../../testing/seed.ts";
import { requiresTools } from "../../testing/tools.ts";

export { clientOptions, type PostgresServer, ROLE, startPostgres } from "../../testing/postgres_server.ts";

/** The requirements of a test that starts a server. */
export const POSTGRES: { readonly ignore: boolean } = requiresTools("initdb", "postgres");

/** Registers a test that needs PostgreSQL. */
export function testPostgres(name: string, fn: (t: Deno.TestContext) => Promise<void>): void {
  Deno.test({ ...POSTGRES, name, fn });
}

let stores = 0;

/** Returns the options of a store, as another process has them: no two make the same versions of records. */
export function storeOptions(members: Partial<PostgresStoreOptions> = {}): PostgresStoreOptions {
  const random = testRandom(`PostgreSQL ${stores++}`).next;
  return { ...clientOptions(), random, access: "own", ...members };
}

let common: (() => PostgresServer) | null = null;

/** Returns the server for all tests of a process that need no other one; it is started unless PostgreSQL is missing. */
export function sharedPostgres(options?: PostgresServerOptions): () => PostgresServer {
  return options === undefined ? common ??= serverForTests() : serverForTests(options);
}

function serverForTests(options?: PostgresServerOptions): () => PostgresServer {
  let server: PostgresServer | null = null;
  if (!POSTGRES.ignore) {
    Deno.test.beforeAll(async () => void (server = await startPostgres(options)));
    Deno.test.afterAll(async () => await server?.[Symbol.asyncDispose]());
  }
  return () => {
    if (server === null) throw new Error("The server runs while tests run");
    return server;
  };
}
