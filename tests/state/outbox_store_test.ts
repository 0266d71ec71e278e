import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { type Store, StoreError } from "../../src/domain/store.ts";
import { createDatabaseStore } from "../../src/state/sqlite/database_store.ts";
import { DELIVERIES, WHOLE } from "../../src/state/sql/tables.ts";
import { pruneAll } from "./conformance.ts";
import { migrate, openConnection, SqliteConnection } from "../../src/state/sqlite/sqlite_connection.ts";
import * as shared from "../../src/state/sql/shared_statements.ts";
import * as own from "../../src/state/sqlite/sqlite_outbox.ts";
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

Deno.test("openSqliteStore() restores everything, for every access", () =>
  withStatePath(async (path) => {
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
  }));

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

Deno.test("save(), changeOutbox() and addSilences() keep all or nothing", () =>
  withStatePath(async (path) => {
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
  }));

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
  const connection = new SqliteConnection(new DatabaseSync(":memory:"));
  migrate(connection);
  const readsAll = new Set(["SELECT_OUTBOX", "SELECT_MARKERS", "DELETE_STRAY_MARKERS"]);
  const { selectLatestChanges } = shared;
  for (const [name, sql] of Object.entries({ ...shared, ...own })) {
    if (typeof sql !== "string") continue;
    await t.step(name, () => {
      const plan = planOf(connection, sql);
      assert.equal(
        plan.some((step) => /^SCAN (outbox|delivery_markers|silences|deliveries)/.test(step)),
        readsAll.has(name),
        plan.join(),
      );
      assert.ok(name === "SELECT_OUTBOX" || !plan.some((step) => step.includes("TEMP B-TREE")), plan.join());
    });
  }
  await t.step("the latest changes of some checks come from the index alone", () => {
    const plan = planOf(connection, selectLatestChanges("SELECT value FROM json_each(?)", "?"));
    assert.ok(plan.some((step) => step.startsWith("SEARCH changes USING COVERING INDEX")), plan.join());
    assert.ok(!plan.some((step) => /^SCAN (changes|checks)/.test(step)), plan.join());
  });
  connection.close();
});

function planOf(connection: SqliteConnection, sql: string): readonly string[] {
  return connection.all(`EXPLAIN QUERY PLAN ${sql}`).map(({ detail }) => String(detail));
}

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
