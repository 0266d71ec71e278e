import assert from "node:assert/strict";
import { StoreError } from "../../../src/domain/store.ts";
import { PostgresClient } from "../../../src/state/postgres/postgres_client.ts";
import { schemaSql } from "../../../src/state/postgres/postgres_schema.ts";
import { openPostgresStore } from "../../../src/state/postgres/postgres_store.ts";
import { clientOptions, POSTGRES, sharedPostgres, storeOptions } from "../../support/postgres.ts";
import { updateOf } from "../records.ts";

const postgres = sharedPostgres();

Deno.test({
  ...POSTGRES,
  name: "schemaSql() creates the tables for a role without the right to create them",
  fn: async () => {
    const client = new PostgresClient(postgres().place(), clientOptions());
    const grants = [
      'CREATE ROLE "poor" LOGIN',
      'GRANT USAGE ON SCHEMA "for dba" TO "poor"',
      'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "for dba" TO "poor"',
    ];
    for (const statement of [...schemaSql("for dba").split(";\n").filter((sql) => sql !== ""), ...grants]) {
      await client.query(statement);
    }
    client.close();
    const store = await openPostgresStore(
      postgres().place({ schema: "for dba", user: "poor" }),
      storeOptions(),
    );
    await store.save([updateOf("web")]);
    assert.equal((await store.records()).length, 1);
    await store.close();
  },
});

Deno.test({
  ...POSTGRES,
  name: "openPostgresStore() creates the tables once if several processes start at the same time",
  fn: async () => {
    const { schema } = postgres().place();
    const stores = await Promise.all(
      Array.from({ length: 6 }, () => openPostgresStore(postgres().place({ schema }), storeOptions())),
    );
    await stores[0]?.save([updateOf("web")]);
    for (const store of stores) {
      assert.equal((await store.records()).length, 1);
      await store.close();
    }
  },
});

Deno.test({
  ...POSTGRES,
  name: "openPostgresStore() creates nothing if it is read-only",
  fn: async () => {
    const place = postgres().place();
    await assert.rejects(
      openPostgresStore(place, storeOptions({ access: "read" })),
      (error) => error instanceof StoreError && error.failure === "missing",
    );
    const client = new PostgresClient(place, clientOptions());
    const { count } = await client.query("SELECT FROM pg_namespace WHERE nspname = $1", [place.schema]);
    client.close();
    assert.equal(count, 0);
  },
});

Deno.test({
  ...POSTGRES,
  name: "openPostgresStore() applies the settings of the role behind a pooler",
  fn: async () => {
    const client = new PostgresClient(postgres().place(), clientOptions());
    await client.query("CREATE SCHEMA pooled");
    await client.query("ALTER ROLE monitor SET search_path = pooled");
    const store = await openPostgresStore(postgres().place({ prepare: false }), storeOptions());
    await store.save([updateOf("web")]);
    assert.equal((await client.query("SELECT FROM pooled.checks")).count, 1);
    client.close();
    await store.close();
  },
});
