import assert from "node:assert/strict";
import { StoreError } from "../../../src/domain/store.ts";
import { PostgresClient } from "../../../src/state/postgres/postgres_client.ts";
import {
  POSTGRES_MIGRATIONS,
  prepareSchema,
  schemaSql,
} from "../../../src/state/postgres/postgres_tables.ts";
import { openPostgresStore } from "../../../src/state/postgres/postgres_store.ts";
import { clientOptions, sharedPostgres, storeOptions, testPostgres } from "../../support/postgres.ts";
import type { Parameter } from "../../../src/shared/postgres/protocol.ts";
import { RECORDS } from "../../../src/state/sql/tables.ts";
import { percentilesOf } from "../../../src/shared/histograms.ts";
import { entryOf, NOW_MS, recordOf, recordsIn, updateOf } from "../records.ts";

const postgres = sharedPostgres();

testPostgres("schemaSql() creates the tables for a role without the right to create them", async () => {
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
});

testPostgres(
  "openPostgresStore() creates the tables once if several processes start at the same time",
  async () => {
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
);

const VERSION = POSTGRES_MIGRATIONS.length;
const SECOND = ["ALTER TABLE checks ADD COLUMN site text NOT NULL DEFAULT 'north'"];

testPostgres(
  "prepareSchema() updates tables once, and members of the version before keep running on them",
  async () => {
    const place = postgres().place();
    const store = await openPostgresStore(place, storeOptions());
    await store.save([updateOf("web")]);
    const migrations = [...POSTGRES_MIGRATIONS, SECOND];
    const clients = Array.from({ length: 6 }, () => new PostgresClient(place, clientOptions()));
    await Promise.all(clients.map((client) => prepareSchema(client, place, "alongside", migrations)));
    await store.save([updateOf("api")]);
    assert.deepEqual((await store.records()).map(({ name }) => name).sort(), ["api", "web"]);
    const [client = assert.fail()] = clients;
    const { rows } = await client.query("SELECT name, site FROM checks ORDER BY name");
    assert.deepEqual(rows.map(({ name, site }) => [name, site]), [["api", "north"], ["web", "north"]]);
    await store.close();
    await assert.rejects(
      openPostgresStore(place, storeOptions()),
      new RegExp(`is of version ${VERSION + 1}, .* up to ${VERSION}; use the newer`),
    );
    for (const one of clients) one.close();
  },
);

testPostgres("openPostgresStore() opens a state of the version before the journal", async () => {
  const place = postgres().place();
  const client = new PostgresClient(place, clientOptions());
  await prepareSchema(client, place, "own", POSTGRES_MIGRATIONS.slice(0, 1));
  const record = {
    ...recordOf("web"),
    journal: null,
    durationHistory: null,
    metricHour: null,
    metricHistory: null,
  };
  const columns = RECORDS.columns.replace(
    ", journal, duration_history, metric_hour, metric_history",
    ", fresh_runs, version, replaces",
  );
  const values = [...RECORDS.encode(record).slice(0, -4), "\\x", 1, 0];
  const places = values.map((_, index) => `$${index + 1}`).join(", ");
  await client.query(`INSERT INTO checks (${columns}) VALUES (${places})`, values as Parameter[]);
  client.close();
  const store = await openPostgresStore(place, storeOptions());
  assert.deepEqual(await recordsIn(store), [record]);
  await store.save([updateOf("web")]);
  assert.deepEqual(await recordsIn(store), [recordOf("web")]);
  await store.close();
});

testPostgres(
  "a member of the version before keeps running on histograms, and makes percentiles unknown",
  async () => {
    const place = postgres().place();
    const store = await openPostgresStore(place, storeOptions());
    await store.save([updateOf("web", { rollup: entryOf(NOW_MS) })]);
    const client = new PostgresClient(place, clientOptions());
    await client.query(
      "UPDATE rollups SET observed_ok = observed_ok + 1, duration_total_ms = duration_total_ms + 10",
    );
    client.close();
    const [sum = assert.fail()] = await store.rollupSums(["web"], {
      sinceMs: 0,
      untilMs: NOW_MS,
      each: "hour",
    });
    assert.equal(sum.runs, 2);
    assert.equal(percentilesOf(sum), null);
    await store.close();
  },
);

testPostgres("prepareSchema() changes nothing if a step fails, or if it is read-only", async () => {
  const place = postgres().place();
  const store = await openPostgresStore(place, storeOptions());
  await store.save([updateOf("web")]);
  const client = new PostgresClient(place, clientOptions());
  const migrations = [...POSTGRES_MIGRATIONS, SECOND];
  await assert.rejects(
    prepareSchema(client, place, "own", [...migrations, ["ALTER TABLE missing ADD COLUMN x text"]]),
    /"missing" does not exist/,
  );
  await assert.rejects(
    prepareSchema(client, place, "read", migrations),
    new RegExp(`it is of the older version ${VERSION}; run the checks once, which updates it`),
  );
  await prepareSchema(client, place, "own");
  assert.equal((await store.records()).length, 1);
  client.close();
  await store.close();
});

testPostgres("openPostgresStore() creates nothing if it is read-only", async () => {
  const place = postgres().place();
  await assert.rejects(
    openPostgresStore(place, storeOptions({ access: "read" })),
    (error) => error instanceof StoreError && error.failure === "missing",
  );
  const client = new PostgresClient(place, clientOptions());
  const { count } = await client.query("SELECT FROM pg_namespace WHERE nspname = $1", [place.schema]);
  client.close();
  assert.equal(count, 0);
});

testPostgres("openPostgresStore() applies the settings of the role behind a pooler", async () => {
  const client = new PostgresClient(postgres().place(), clientOptions());
  await client.query("CREATE SCHEMA pooled");
  await client.query("ALTER ROLE monitor SET search_path = pooled");
  const store = await openPostgresStore(postgres().place({ prepare: false }), storeOptions());
  await store.save([updateOf("web")]);
  assert.equal((await client.query("SELECT FROM pooled.checks")).count, 1);
  client.close();
  await store.close();
});
