import assert from "node:assert/strict";
import type { Clock } from "../../../src/domain/clock.ts";
import type { SharedStore } from "../../../src/domain/membership.ts";
import { PostgresClient, type PostgresClientOptions } from "../../../src/state/postgres/postgres_client.ts";
import { openPostgresStore } from "../../../src/state/postgres/postgres_store.ts";
import { clientOptions, sharedPostgres, storeOptions, testPostgres } from "../../support/postgres.ts";
import { changeOf, entryOf, NOW_MS, queuedOf, recordOf, updateOf } from "../records.ts";

const postgres = sharedPostgres();

async function withClient(
  use: (client: PostgresClient) => Promise<void>,
  options: Partial<PostgresClientOptions> & { readonly schema?: string } = {},
): Promise<void> {
  const { schema, ...others } = options;
  const place = postgres().place(schema === undefined ? {} : { schema });
  const client = new PostgresClient(place, { ...clientOptions(), ...others });
  try {
    await use(client);
  } finally {
    client.close();
  }
}

testPostgres(
  "query() sends and returns every type, and goes on after an error",
  () =>
    withClient(async (client) => {
      const sql = "SELECT $1::text AS a, $2::float8 AS b, $3::bytea AS c, NULL AS d, $4::bigint[]::text AS e";
      const bytes = Uint8Array.of(0, 255);
      const values = ['\u{feff}é\\"{}\n', -0.1, bytes, "{1,2}"];
      for (let time = 0; time < 2; time++) {
        const { rows } = await client.query(sql, values);
        assert.deepEqual(rows, [{ a: values[0], b: -0.1, c: bytes, d: null, e: "{1,2}" }]);
        await assert.rejects(client.query("SELECT nothing"), { name: "PostgresError", code: "42703" });
      }
      const { rows, count } = await client.query(
        "SELECT repeat('x', 100000) AS x FROM generate_series(1, 50)",
      );
      assert.equal(count, 50);
      assert.ok(rows.every(({ x }) => String(x).length === 100_000));
    }),
);

testPostgres("query() prepares a statement once, and never with a pooler", async () => {
  for (const prepare of [true, false]) {
    const client = new PostgresClient(postgres().place({ prepare }), clientOptions());
    for (let time = 0; time < 3; time++) await client.query("SELECT 1 AS one");
    const { rows } = await client.query(
      "SELECT count(*) AS count FROM pg_prepared_statements WHERE name <> ''",
    );
    assert.equal(Number(rows[0]?.["count"]) > 0, prepare);
    client.close();
  }
});

testPostgres(
  "query() gives up a server that does not respond, and repeats on a new connection",
  () =>
    withClient(async (client) => {
      const pid = Number((await client.query("SELECT pg_backend_pid() AS pid")).rows[0]?.["pid"]);
      Deno.kill(pid, "SIGSTOP");
      const { rows } = await client.query("SELECT pg_backend_pid() AS pid");
      assert.notEqual(rows[0]?.["pid"], pid);
      Deno.kill(pid, "SIGCONT");
    }, { timeoutMs: 300 }),
);

testPostgres("query() ends a process that keeps a lock, after two timeouts", async () => {
  const { schema } = postgres().place();
  const store = await openPostgresStore(postgres().place({ schema }), storeOptions());
  await store.save([updateOf("web")]);
  await withClient(async (holder) => {
    const holding = holder.work(async (session) => {
      await session.run("BEGIN");
      await session.run("UPDATE checks SET missed_runs = 1");
      held.resolve();
      await released.promise;
    });
    const held = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    await held.promise;
    await withClient(async (client) => {
      assert.equal((await client.query("UPDATE checks SET missed_runs = 2")).count, 1);
    }, { timeoutMs: 600, schema });
    released.resolve();
    await holding;
  }, { schema });
  await store.close();
});

testPostgres("query() waits longer after each failure to connect", async () => {
  let attempts = 0;
  let nowMs = 0;
  const clock: Clock = { ...clientOptions().clock, monotonicMs: () => nowMs };
  const connections = {
    explain: clientOptions().connections.explain,
    connectDatabase: () => {
      attempts++;
      return Promise.reject(new Deno.errors.ConnectionRefused("Connection refused"));
    },
  };
  await withClient(async (client) => {
    const seen: number[] = [];
    for (; nowMs < 8_000; nowMs += 50) {
      await assert.rejects(client.query("SELECT 1"), { name: "ServerUnusableError" });
      if (attempts > seen.length) seen.push(nowMs);
    }
    assert.deepEqual(seen, [0, 250, 750, 1750, 3750, 5750, 7750]);
  }, { clock, connections });
});

/** Runs a test with a store that loses the replies to its first statements that save. */
async function withLossyStore(losses: number, use: (store: SharedStore) => Promise<void>): Promise<void> {
  const { connections } = clientOptions();
  const connectDatabase: typeof connections.connectDatabase = async (target, options) => {
    const connection = await connections.connectDatabase(target, options);
    let isSaving = false;
    return {
      ...connection,
      write: (bytes) => {
        isSaving = new TextDecoder().decode(bytes).includes("web");
        return connection.write(bytes);
      },
      read: async () => {
        const reply = await connection.read();
        if (!isSaving || losses-- <= 0) return reply;
        connection.close();
        throw new Error("cut");
      },
    };
  };
  const options = storeOptions({ connections: { ...connections, connectDatabase } });
  const store = await openPostgresStore(postgres().place(), options);
  try {
    await use(store);
    assert.ok(losses <= 0, "replies were lost");
  } finally {
    await store.close();
  }
}

const UPDATE = updateOf("web", { rollup: entryOf(NOW_MS), change: changeOf("web", NOW_MS) });

testPostgres("save() counts a batch once whose reply is lost", async () => {
  await withLossyStore(1, async (store) => {
    assert.deepEqual(await store.save([UPDATE]), []);
    assert.equal((await store.rollups("web", 0))[0]?.observed.ok, 1);
    assert.equal((await store.recentRuns(["web"]))[0]?.runs.length, 1);
    assert.equal((await store.changes("web", { sinceMs: 0, limit: 9 })).length, 1);
  });
});

testPostgres(
  "save() counts a batch once that failed, was stored all the same, and comes again with others",
  async () => {
    await withLossyStore(4, async (store) => {
      await assert.rejects(store.save([UPDATE]), { name: "StoreError" });
      const later = updateOf("web", {
        record: recordOf("web", { missedRuns: 5 }),
        rollup: entryOf(NOW_MS + 1),
      });
      assert.deepEqual(await store.save([{ ...UPDATE, record: later.record }, later]), []);
      assert.equal((await store.rollups("web", 0))[0]?.observed.ok, 2);
      assert.equal((await store.changes("web", { sinceMs: 0, limit: 9 })).length, 1);
      assert.equal((await store.records())[0]?.missedRuns, 5);
    });
  },
);

testPostgres("records(), load() and outbox() read more rows than one response has", async () => {
  const store = await openPostgresStore(postgres().place(), storeOptions());
  const numbers = Array.from({ length: 4_500 }, (_, index) => index);
  const names = numbers.map((number) => `web${number}`);
  await store.save(
    names.map((name, number) =>
      updateOf(name, { queued: [queuedOf(`id${number}`, numbers.length - number)] })
    ),
  );
  for (const records of [await store.records(), await store.load(names), await store.readOthers(names)]) {
    assert.deepEqual(records.map(({ name }) => name).sort(), names.toSorted());
  }
  const { notifications } = await store.outbox();
  assert.deepEqual(notifications.map(({ id }) => id), numbers.toReversed().map((number) => `id${number}`));
  await store.close();
});
