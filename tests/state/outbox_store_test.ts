import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { type Store, StoreError } from "../../src/domain/store.ts";
import { createDatabaseStore } from "../../src/state/sqlite/database_store.ts";
import { DELIVERIES, WHOLE } from "../../src/state/sql/tables.ts";
import { pruneAll } from "./conformance.ts";
import { migrate, openConnection, SqliteConnection } from "../../src/state/sqlite/sqlite_connection.ts";
import {
  changeOf,
  countOf,
  deliveryOf,
  entryOf,
  markerOf,
  NOW_MS,
  outboxChangeOf,
  queuedOf,
  recordOf,
  silenceOf,
  updateOf,
} from "./records.ts";
import { testRows } from "../support/rows.ts";
import { failing, openState, withDatabase, withState, withStatePath } from "./state_directory.ts";
import { provided } from "../support/concurrent_tests.ts";

const testWithStatePath = provided(withStatePath, Deno.test);

testWithStatePath("openSqliteStore() restores everything, for every access", async (path) => {
  const before = await withState(path, async (store) => {
    const queued = [queuedOf("a", 1), queuedOf("b", 2, { state: "dropped" })];
    await store.save([
      updateOf("web", { change: changeOf("web", NOW_MS), rollup: entryOf(NOW_MS), queued }),
    ]);
    await store.changeOutbox(
      outboxChangeOf({
        markers: [markerOf("web")],
        counted: [countOf("email")],
        logged: [deliveryOf("web")],
      }),
    );
    await store.addSilences([silenceOf("a"), silenceOf("b")]);
    return await everythingIn(store);
  });
  for (const access of ["own", "read", "alongside"] as const) {
    await withState(path, async (store) => assert.deepEqual(await everythingIn(store), before), { access });
  }
});

Deno.test("prune() keeps the 100,000 deliveries that were logged last", async () => {
  const connection = await openConnection(":memory:", { readOnly: false });
  connection.execute(WHOLE);
  const store = createDatabaseStore(connection, ":memory:");
  await store.changeOutbox(outboxChangeOf({ logged: [deliveryOf("web")] }));
  const { columns } = DELIVERIES;
  // Those between are of checks that were forgotten.
  for (const id of [2, 3, 4, 5, 100_003]) {
    connection.run(
      `INSERT INTO deliveries (id, ${columns}) SELECT ${id}, ${columns.replace("key", `key || ${id}`)}
        FROM deliveries WHERE id = 1`,
    );
  }
  await pruneAll(store, NOW_MS);
  const left = connection.first(
    "SELECT count(*) AS count, min(id) AS first, max(id) AS last FROM deliveries",
  );
  assert.deepEqual({ ...left }, { count: 3, first: 4, last: 100_003 });
  await store.close();
});

testWithStatePath("save(), changeOutbox() and addSilences() keep all or nothing", async (path) => {
  const { store } = await openState(path);
  await store.save([updateOf("web", { queued: [queuedOf("a", 1), queuedOf("b", 2)] })]);
  await store.changeOutbox(outboxChangeOf({ markers: [markerOf("web")] }));
  await store.addSilences([silenceOf("a")]);
  const before = await everythingIn(store);
  const broken = new TypeError("a mark that cannot be read");
  const attempts: readonly (() => Promise<unknown>)[] = [
    () =>
      store.changeOutbox({
        changed: [queuedOf("a", 1, { attempts: 9 }), queuedOf("c", 3)],
        removed: ["b"],
        cleared: [markerOf("web")],
        logged: [deliveryOf("web")],
        get markers(): never[] {
          throw broken;
        },
      }),
    () =>
      store.changeOutbox({
        changed: [queuedOf("a", 1, { attempts: 9 })],
        removed: ["b"],
        cleared: [markerOf("web")],
        markers: [markerOf("other"), { ...markerOf("web"), condition: null as never }],
      }),
    () =>
      store.save([
        updateOf("web", {
          record: recordOf("web", { missedRuns: 99 }),
          change: changeOf("web", NOW_MS),
          rollup: entryOf(NOW_MS),
          queued: [queuedOf("a", 1, { attempts: 9 }), queuedOf("c", 3)],
        }),
        updateOf("other", { queued: [queuedOf("c", 3, { attempts: NaN })] }),
      ]),
    () => store.addSilences([silenceOf("a", { reason: "changed" }), silenceOf("b", { untilMs: NaN })]),
  ];
  for (const attempt of attempts) {
    await assert.rejects(attempt, (error) => error === broken || error instanceof StoreError);
    assert.deepEqual(await everythingIn(store), before);
  }
  await store.close();
});

Deno.test("a row that no monitor can have written is damage", async (t) => {
  const table: Readonly<Record<string, readonly [sql: string, reason: RegExp]>> = {
    "no object": ["UPDATE checks SET condition = 'null'", /"JSON" of a row is not an object/],
    "a missing field": ["UPDATE checks SET last = '{}'", /"condition" of a row is not a condition/],
    "a blob for a name": ["UPDATE checks SET name = x'00'", /"name" of a row is not text/],
    "a number beyond JavaScript's": [
      "UPDATE checks SET missed_runs = 9223372036854775807",
      /a number in a row is out of range/,
    ],
    "a missing table": ["ALTER TABLE checks RENAME TO others", /no such table: checks/],
    "a time in a notification": [
      "UPDATE outbox SET notification = json_set(notification, '$.decidedAtMs', null)",
      /"decidedAtMs" of a row is not a number/,
    ],
    "a condition": ["UPDATE delivery_markers SET condition = ''", /"condition" of a row/],
  };
  await withStatePath(async (written) => {
    await withState(written, async (store) => {
      await store.save([updateOf("web", { queued: [queuedOf("a", 1)] })]);
      await store.changeOutbox(outboxChangeOf({ markers: [markerOf("web")] }));
      await store.addSilences([silenceOf("a")]);
    });
    await testRows(t, table, async ([sql, reason]) => {
      const path = `${written}.copy`;
      await Deno.copyFile(written, path);
      withDatabase(path, (database) => database.exec(sql));
      await withState(path, async (store) => {
        await assert.rejects(() => everythingIn(store), failing("damaged", reason));
        // The one that failed has left no transaction open.
        await store.addSilences([silenceOf("b")]);
      });
    });
  });
});

Deno.test("no statement on the outbox, the silences or the latest changes scans a table needlessly", async (t) => {
  const database = new DatabaseSync(":memory:");
  const connection = new SqliteConnection(database);
  migrate(connection);
  const statements = new Set<string>();
  const prepare = database.prepare.bind(database);
  database.prepare = (sql) => {
    statements.add(sql);
    return prepare(sql);
  };
  const store = createDatabaseStore(connection, ":memory:");
  await everythingIn(store);
  await store.latestChanges(["web"], 5);
  await store.actions("web");
  await store.deliveries({ checks: ["web"], sinceMs: 0, untilMs: NOW_MS, haveCause: true });
  await store.changeOutbox(
    outboxChangeOf({
      removed: ["a"],
      cleared: [{ check: "web", channelKey: "chat" }],
    }),
  );
  await store.endSilences(["web"], NOW_MS);
  await store.endSilences("all", NOW_MS);
  await pruneAll(store, NOW_MS);
  const readsAll =
    /^(?:SELECT .* FROM (?:outbox|delivery_markers) ORDER BY|DELETE FROM delivery_markers\s+WHERE check_name NOT)/;
  const seen = [...statements].filter((sql) =>
    /\b(?:outbox|delivery_markers|silences|deliveries|actions|changes)\b/.test(sql) &&
    !/^(?:INSERT|CREATE)/.test(sql)
  );
  assert.ok(seen.length >= 15, seen.join("\n"));
  for (const sql of seen) {
    await t.step(sql.replaceAll(/\s+/g, " ").slice(0, 60), () => {
      const plan = connection.all(`EXPLAIN QUERY PLAN ${sql}`).map(({ detail }) => String(detail));
      const scans = plan.some((step) =>
        /^SCAN (outbox|delivery_markers|silences|deliveries|changes)/.test(step)
      );
      assert.equal(scans, readsAll.test(sql), plan.join());
      if (sql.includes("'' AS trace")) {
        assert.ok(plan.some((step) => step.startsWith("SEARCH changes USING COVERING INDEX")), plan.join());
      } else if (!sql.includes("FROM outbox ORDER")) {
        assert.ok(!plan.some((step) => step.includes("TEMP B-TREE")), plan.join());
      }
    });
  }
  await store.close();
});

async function everythingIn(store: Store): Promise<unknown> {
  return [
    await store.records(),
    await store.changes("web", { sinceMs: -Infinity, limit: Infinity }),
    await store.rollups("web", -Infinity),
    await store.outbox(),
    await store.silences(-Infinity),
    await store.deliveries({ sinceMs: -Infinity, untilMs: Infinity }),
  ];
}
