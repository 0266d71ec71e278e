import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { type Store, StoreError, type StoreFailure } from "../../src/domain/store.ts";
import { openConnection, SqliteConnection } from "../../src/state/sqlite/sqlite_connection.ts";
import { createDatabaseStore } from "../../src/state/sqlite/database_store.ts";
import { migrate } from "../../src/state/sqlite/migrations.ts";
import * as shared from "../../src/state/sql/shared_statements.ts";
import * as own from "../../src/state/sqlite/outbox_statements.ts";
import {
  changeOf,
  countOf,
  entryOf,
  markerOf,
  notificationOf,
  NOW_MS,
  outboxChangeOf,
  queuedOf,
  recordOf,
  silenceOf,
  updateOf,
} from "./records.ts";
import { openState, withState, withStatePath } from "./state_directory.ts";

Deno.test("openSqliteStore() restores rows, markers and silences", () =>
  withStatePath(async (path) => {
    const rows = [queuedOf("a", 1), queuedOf("b", 2, { state: "dropped" })];
    await withState(path, async (store) => {
      await store.save([updateOf("web", { queued: rows })]);
      await store.changeOutbox(
        outboxChangeOf({ markers: [markerOf("web")], counted: [countOf("email")] }),
      );
      await store.addSilences([silenceOf("a"), silenceOf("b")]);
      assert.equal(await store.endSilences([null], NOW_MS), 0);
    });
    for (const access of ["own", "read", "alongside"] as const) {
      await withState(path, async (store) => {
        assert.deepEqual(await store.outbox(), {
          notifications: rows,
          markers: [markerOf("web")],
          counts: [countOf("email")],
        });
        assert.deepEqual(await store.silences(NOW_MS), [silenceOf("a"), silenceOf("b")]);
      }, { access });
    }
  }));

Deno.test("save() writes neither record nor change if a row of the batch is rejected", () =>
  withStatePath(async (path) => {
    const { store } = await openState(path);
    await store.save([updateOf("web", { queued: [queuedOf("a", 1)] })]);
    const before = await everythingIn(store);
    await assert.rejects(
      () =>
        store.save([
          updateOf("web", {
            record: recordOf("web", { missedRuns: 99 }),
            change: changeOf("web", NOW_MS),
            rollup: entryOf(NOW_MS),
            queued: [queuedOf("a", 1, { attempts: 9 }), queuedOf("b", 2)],
          }),
          updateOf("other", { queued: [queuedOf("c", 3, { attempts: NaN })] }),
        ]),
      failing("other", /cannot write state ".*": NOT NULL constraint failed/),
    );
    assert.deepEqual(await everythingIn(store), before);
    await store.save([updateOf("web", { queued: [queuedOf("b", 2)] })]);
    assert.equal((await store.outbox()).notifications.length, 2);
    await store.close();
  }));

Deno.test("changeOutbox() and addSilences() keep all or nothing", () =>
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
      () => store.addSilences([silenceOf("a", { reason: "changed" }), silenceOf("b", { untilMs: NaN })]),
    ];
    for (const attempt of attempts) {
      await assert.rejects(attempt, (error) => error === broken || error instanceof StoreError);
      assert.deepEqual(await everythingIn(store), before);
    }
    await store.close();
  }));

Deno.test("changeOutbox() rejects if the disk is full, keeps the old rows and writes again when there is space", () =>
  withStatePath(async (path) => {
    const rows = [queuedOf("a", 1), queuedOf("b", 2)];
    await withState(path, async (store) => {
      await store.save([updateOf("web", { queued: rows })]);
      await store.changeOutbox(outboxChangeOf({ markers: [markerOf("web")] }));
    });
    const connection = await openConnection(path, { readOnly: false });
    migrate(connection);
    const store = createDatabaseStore(connection, path);
    const pages = Number(connection.first("PRAGMA page_count")?.["page_count"]);
    connection.first(`PRAGMA max_page_count = ${pages + 2}`);
    const before = await everythingIn(store);
    const notification = notificationOf("web", { detail: "x".repeat(5000) });
    const many = [...Array(40).keys()].map((index) => queuedOf(`row ${index}`, 10 + index, { notification }));
    const change = outboxChangeOf({
      changed: [queuedOf("a", 1, { attempts: 9 }), ...many],
      removed: ["b"],
      markers: [markerOf("other")],
      cleared: [markerOf("web")],
    });
    const full = failing("full", /cannot write .*: the disk is full; free some space$/);
    for (let attempt = 0; attempt < 3; attempt++) {
      await assert.rejects(() => store.changeOutbox(change), full);
      assert.deepEqual(await everythingIn(store), before);
      const update = updateOf("other", { change: changeOf("other", NOW_MS), queued: many });
      await assert.rejects(() => store.save([update]), full);
      assert.deepEqual(await everythingIn(store), before);
      // Writes without additional space succeed.
      await store.changeOutbox(outboxChangeOf({ changed: [queuedOf("a", 1)] }));
    }
    connection.first(`PRAGMA max_page_count = ${pages + 10_000}`);
    await store.changeOutbox(change);
    const { notifications: kept, markers: notified } = await store.outbox();
    assert.deepEqual(kept, change.changed);
    assert.deepEqual(notified, change.markers);
    assert.equal(connection.first("PRAGMA integrity_check")?.["integrity_check"], "ok");
    await store.close();
  }));

Deno.test("outbox() and silences() call a row that no monitor can have written damage", async (t) => {
  const table: readonly { name: string; sql: string; reason: RegExp }[] = [
    {
      name: "a state",
      sql: "UPDATE outbox SET state = 'lost'",
      reason: /"state" of a row is not one of pending, /,
    },
    { name: "broken JSON", sql: "UPDATE outbox SET notification = '{'", reason: /a row holds broken JSON/ },
    {
      name: "no notification",
      sql: "UPDATE outbox SET notification = '7'",
      reason: /"JSON" of a row is not an object/,
    },
    {
      name: "an event",
      sql: "UPDATE outbox SET notification = json_set(notification, '$.event', 'party')",
      reason: /"event" of a row is not one of problem, change, recovery, reminder, summary$/,
    },
    {
      name: "a time in a notification",
      sql: "UPDATE outbox SET notification = json_set(notification, '$.decidedAtMs', null)",
      reason: /"decidedAtMs" of a row is not a number/,
    },
    { name: "text for a count", sql: "UPDATE outbox SET attempts = 'x'", reason: /"attempts" of a row/ },
    { name: "a blob for a key", sql: "UPDATE outbox SET key = x'00'", reason: /"key" of a row is not text/ },
    {
      name: "half a text",
      sql: `UPDATE outbox SET last_failure = '"a'`,
      reason: /a row holds broken JSON/,
    },
    {
      name: "a condition",
      sql: "UPDATE delivery_markers SET condition = ''",
      reason: /"condition" of a row/,
    },
    { name: "an end", sql: "UPDATE silences SET until_ms = 'x'", reason: /"until_ms" of a row/ },
    { name: "a table gone", sql: "DROP TABLE delivery_markers", reason: /no such table: delivery_markers/ },
  ];
  for (const { name, sql, reason } of table) {
    await t.step(name, () =>
      withStatePath(async (path) => {
        await withState(path, async (store) => {
          await store.save([updateOf("web", { queued: [queuedOf("a", 1)] })]);
          await store.changeOutbox(outboxChangeOf({ markers: [markerOf("web")] }));
          await store.addSilences([silenceOf("a")]);
        });
        withDatabase(path, (database) => database.exec(sql));
        await withState(path, async (store) => {
          await assert.rejects(async () => {
            await store.outbox();
            await store.silences(NOW_MS);
          }, failing("damaged", reason));
          // The one that failed has left no transaction open.
          await store.save([updateOf("other")]);
        });
      }));
  }
});

Deno.test("no statement on the outbox, the silences or the latest changes scans a table needlessly", async (t) => {
  const connection = new SqliteConnection(new DatabaseSync(":memory:"));
  migrate(connection);
  const readsAll = new Set(["SELECT_OUTBOX", "SELECT_MARKERS", "DELETE_STRAY_MARKERS"]);
  const { selectLatestChanges, ...constants } = shared;
  for (const [name, sql] of Object.entries({ ...constants, ...own })) {
    await t.step(name, () => {
      const plan = planOf(connection, sql);
      assert.equal(
        plan.some((step) => /^SCAN (outbox|delivery_markers|silences)/.test(step)),
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
  ];
}

function failing(failure: StoreFailure, reason: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof StoreError, String(error));
    assert.equal(error.failure, failure, error.message);
    assert.match(error.message, reason);
    return true;
  };
}

function withDatabase(path: string, use: (database: DatabaseSync) => void): void {
  const database = new DatabaseSync(path);
  try {
    use(database);
  } finally {
    database.close();
  }
}
