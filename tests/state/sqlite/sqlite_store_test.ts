import assert from "node:assert/strict";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { StoreError, type StoreFailure } from "../../../src/domain/store.ts";
import { openConnection } from "../../../src/state/sqlite/sqlite_connection.ts";
import { createDatabaseStore } from "../../../src/state/sqlite/database_store.ts";
import { migrate } from "../../../src/state/sqlite/migrations.ts";
import { makePipe } from "../../support/make_pipe.ts";
import { pruneAll, testStore } from "../conformance.ts";
import { HOUR_MS } from "../../../src/shared/time_units.ts";
import { changeOf, entryOf, NOW_MS, recordOf, updateOf } from "../records.ts";
import { openState, withState, withStatePath } from "../state_directory.ts";

testStore("openSqliteStore()", (use) => withStatePath((path) => withState(path, use)));

Deno.test("openSqliteStore() restores everything", () =>
  withStatePath(async (path) => {
    const update = updateOf("web", { change: changeOf("web", NOW_MS), rollup: entryOf(NOW_MS) });
    const [changes, rollups] = await withState(path, async (store) => {
      await store.save([update]);
      return [await store.changes("web", ALL), await store.rollups("web", 0)];
    });
    const { store, quarantined } = await openState(path);
    assert.equal(quarantined, null);
    assert.deepEqual(await store.records(), [update.record]);
    assert.deepEqual(await store.changes("web", ALL), changes);
    assert.deepEqual(await store.rollups("web", 0), rollups);
    await store.close();
  }));

Deno.test("openSqliteStore() syncs each commit to the disk before it continues", async (t) => {
  const asked = async (path: string, access?: "alongside"): Promise<readonly unknown[]> => {
    const databases = new Set<DatabaseSync>();
    const { prepare } = DatabaseSync.prototype;
    DatabaseSync.prototype.prepare = function (...args): StatementSync {
      databases.add(this);
      return prepare.apply(this, args);
    };
    try {
      const { store } = await openState(path, access === undefined ? {} : { access });
      await store.save([updateOf("web")]);
      const facts = [...databases].map((database) => [
        database.prepare("PRAGMA synchronous").get()?.["synchronous"],
        database.prepare("PRAGMA journal_mode").get()?.["journal_mode"],
      ]);
      await store.close();
      return facts;
    } finally {
      DatabaseSync.prototype.prepare = prepare;
    }
  };
  // SQLite's "PRAGMA synchronous" of FULL, which syncs the file of a WAL after each commit.
  const FULL = 2;
  for (const access of [undefined, "alongside"] as const) {
    await t.step(access ?? "own", () =>
      withStatePath(async (path) => {
        assert.deepEqual(await asked(path, access), [[FULL, "wal"]], "a new file");
        assert.deepEqual(await asked(path, access), [[FULL, "wal"]], "the same file again");
      }));
  }
});

Deno.test("openSqliteStore() treats an empty file as a new one", () =>
  withStatePath(async (path) => {
    await Deno.writeTextFile(path, "");
    const { store, quarantined } = await openState(path);
    assert.equal(quarantined, null);
    await store.save([updateOf("web")]);
    await store.close();
  }));

Deno.test("openSqliteStore() creates files and directories for their owner alone", async (t) => {
  await t.step("new ones", () =>
    withStatePath(async (path) => {
      const directory = `${path}.d/deep`;
      const { store } = await openState(`${directory}/state.sqlite`);
      await store.save([updateOf("web")]);
      for (const companion of ["", "-wal", "-shm"]) {
        assert.equal(await modeOf(`${directory}/state.sqlite${companion}`), 0o600, companion);
      }
      assert.equal(await modeOf(directory), 0o700);
      assert.equal(await modeOf(`${path}.d`), 0o700);
      await store.close();
    }));
  await t.step("but keeps the permissions of an existing directory", () =>
    withStatePath(async (path) => {
      await Deno.mkdir(`${path}.d`, { mode: 0o755 });
      await withState(`${path}.d/state.sqlite`, (store) => store.save([updateOf("web")]));
      assert.equal(await modeOf(`${path}.d`), 0o755);
    }));
});

Deno.test("openSqliteStore() accepts special characters in a path", () =>
  withStatePath(async (path) => {
    const odd = `${path} ?mode=memory#%20'"é;.sqlite`;
    await withState(odd, (store) => store.save([updateOf("web")]));
    assert.equal((await Deno.lstat(odd)).isFile, true);
    assert.equal(await withState(odd, async (store) => (await store.records()).length), 1);
  }));

Deno.test("openSqliteStore() quarantines a damaged file and opens an empty one", async (t) => {
  const table: readonly { name: string; damage: (whole: Uint8Array) => Uint8Array; reason: RegExp }[] = [
    {
      name: "text",
      damage: () => new TextEncoder().encode("not a database\n"),
      reason: /is not a database$/,
    },
    {
      name: "nothing but zeros",
      damage: (whole) => new Uint8Array(whole.length),
      reason: /is not a database$/,
    },
    { name: "shorter than a header", damage: (whole) => whole.slice(0, 50), reason: /is not a database$/ },
    {
      name: "cut off in the first page",
      damage: (whole) => whole.slice(0, 1000),
      reason: /damaged|not a database/,
    },
    {
      name: "cut off in the middle",
      damage: (whole) => whole.slice(0, whole.length / 2),
      reason: /is damaged/,
    },
    { name: "a garbled first page", damage: (whole) => garble(whole, 100, 4096), reason: /is damaged/ },
    { name: "a garbled page", damage: (whole) => garble(whole, 3 * 4096, 4 * 4096), reason: /is damaged/ },
    {
      name: "garbled behind the header",
      damage: (whole) => garble(whole, 100, whole.length),
      reason: /is damaged/,
    },
  ];
  for (const { name, damage, reason } of table) {
    await t.step(name, () =>
      withStatePath(async (path) => {
        await withState(path, (store) => store.save(someUpdates()));
        const damaged = damage(await Deno.readFile(path));
        await Deno.writeFile(path, damaged);

        const { store, quarantined } = await openState(path);
        assert.equal(quarantined?.path, `${path}.damaged-20260131T100000Z`);
        assert.match(quarantined.reason, reason);
        assert.ok(quarantined.reason.startsWith(`cannot open state "${path}": `), quarantined.reason);
        assert.ok(!quarantined.reason.includes("\n"), quarantined.reason);
        assert.deepEqual(await Deno.readFile(quarantined.path), damaged);
        assert.deepEqual(await store.records(), []);
        await store.save([updateOf("web")]);
        await store.close();
        const { store: again, quarantined: nothing } = await openState(path);
        assert.equal(nothing, null);
        assert.equal((await again.records()).length, 1);
        await again.close();
      }));
  }
});

Deno.test("openSqliteStore() quarantines the files of a damaged database, and overwrites nothing", () =>
  withStatePath(async (path) => {
    const aside = `${path}.damaged-20260131T100000Z`;
    await Deno.writeTextFile(`${aside}-wal`, "set aside before");
    const contents = { "": "no database", "-wal": "journal", "-shm": "memory", "-journal": "old journal" };
    for (const [companion, text] of Object.entries(contents)) {
      await Deno.writeTextFile(path + companion, text);
    }
    const { store, quarantined } = await openState(path);
    await store.close();
    assert.equal(quarantined?.path, `${aside}-2`);
    for (const [companion, text] of Object.entries(contents)) {
      assert.equal(await Deno.readTextFile(`${aside}-2${companion}`), text);
    }
    assert.equal(await Deno.readTextFile(`${aside}-wal`), "set aside before");
  }));

Deno.test("openSqliteStore() quarantines the journal of a file that has become empty", () =>
  withStatePath(async (path) => {
    const { store } = await openState(path);
    await store.save([updateOf("web")]);
    const journal = await Deno.readFile(`${path}-wal`);
    await store.close();
    await Deno.writeFile(path, new Uint8Array());
    await Deno.writeFile(`${path}-wal`, journal);

    const { store: fresh, quarantined } = await openState(path);
    assert.match(quarantined?.reason ?? "", /: the file is empty, its journal is not$/);
    assert.deepEqual(await Deno.readFile(`${quarantined?.path}-wal`), journal);
    assert.deepEqual(await fresh.records(), []);
    await fresh.close();
  }));

Deno.test("openSqliteStore() validates a small file completely, and only the checks of a large one", async (t) => {
  await t.step(
    "damage to the history of a big one shows when it is used",
    () =>
      withStatePath(async (path) => {
        await withState(path, (store) => store.save(manyUpdates()));
        const size = (await Deno.stat(path)).size;
        assert.ok(size > 3 * 1024 * 1024, `${size} bytes`);
        const garbled = garble(await Deno.readFile(path), size - 1024 * 1024, size);
        await Deno.writeFile(path, garbled);

        const { store, quarantined } = await openState(path);
        assert.equal(quarantined, null);
        assert.ok((await store.records()).length > 0);
        let message = "";
        await assert.rejects(() => pruneAll(store, NOW_MS + 31 * 24 * HOUR_MS), (error) => {
          assert.ok(error instanceof StoreError && error.failure === "damaged", String(error));
          message = error.message;
          return true;
        });
        await store.close();

        const opened = await openState(path, { damage: message });
        assert.deepEqual(opened.quarantined, { path: `${path}.damaged-20260131T100000Z`, reason: message });
        assert.deepEqual(await opened.store.records(), []);
        await opened.store.close();
      }),
  );
  await t.step("damage to the checks of a big one shows at once", () =>
    withStatePath(async (path) => {
      await withState(path, (store) => store.save(manyUpdates()));
      const page = withDatabase(path, (database) =>
        Number(
          database.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'checks'").get()?.["rootpage"],
        ));
      await Deno.writeFile(path, garble(await Deno.readFile(path), (page - 1) * 4096, page * 4096));
      const { store, quarantined } = await openState(path);
      assert.match(quarantined?.reason ?? "", /is damaged/);
      await store.close();
    }));
});

Deno.test("records() calls a row that no monitor can have written damage", async (t) => {
  const table: readonly { name: string; sql: string; reason: RegExp }[] = [
    { name: "broken JSON", sql: "UPDATE checks SET condition = '{'", reason: /a row holds broken JSON/ },
    {
      name: "no object",
      sql: "UPDATE checks SET condition = 'null'",
      reason: /"JSON" of a row is not an object/,
    },
    {
      name: "a missing field",
      sql: "UPDATE checks SET last = '{}'",
      reason: /"condition" of a row is not a condition/,
    },
    {
      name: "an invalid condition",
      sql: "UPDATE checks SET condition = json_set(condition, '$.confirmed', 'bad')",
      reason: /"confirmed" of a row is not a condition/,
    },
    {
      name: "invalid counts",
      sql: "UPDATE checks SET condition = json_set(condition, '$.atMost.critical', 'x')",
      reason: /"critical" of a row is not a number/,
    },
    {
      name: "text for a time",
      sql: "UPDATE checks SET seen_at_ms = 'late'",
      reason: /"seen_at_ms" of a row/,
    },
    {
      name: "a blob for a name",
      sql: "UPDATE checks SET name = x'00'",
      reason: /"name" of a row is not text/,
    },
    { name: "JSON for a name", sql: `UPDATE checks SET name = '"a'`, reason: /a row holds broken JSON/ },
    {
      name: "a number beyond JavaScript's",
      sql: "UPDATE checks SET missed_runs = 9223372036854775807",
      reason: /a number in a row is out of range/,
    },
    { name: "a table gone", sql: "ALTER TABLE checks RENAME TO others", reason: /no such table: checks/ },
    {
      name: "a missing column",
      sql: "ALTER TABLE checks RENAME seen_at_ms TO other",
      reason: /no such column/,
    },
  ];
  for (const { name, sql, reason } of table) {
    await t.step(name, () =>
      withStatePath(async (path) => {
        await withState(path, (store) => store.save([updateOf("web")]));
        withDatabase(path, (database) => database.exec(sql));
        await withState(path, async (store) => {
          await assert.rejects(() => store.records(), failing("damaged", reason));
        });
      }));
  }
});

Deno.test("openSqliteStore() rejects a file that is not this user's own state, and changes nothing", async (t) => {
  const other = (Deno.uid() ?? 0) + 1;
  const table: readonly {
    name: string;
    prepare: (path: string) => Promise<unknown> | void;
    userId?: number;
    failure: StoreFailure;
    reason: RegExp;
  }[] = [
    {
      name: "the database of another application",
      prepare: (path) => withDatabase(path, (database) => database.exec("CREATE TABLE t (a)")),
      failure: "other",
      reason: /: it is a database of another program$/,
    },
    {
      name: "the database of another application with its own id",
      prepare: (path) =>
        withDatabase(
          path,
          (database) => database.exec("PRAGMA application_id = 7; PRAGMA journal_mode = WAL"),
        ),
      failure: "other",
      reason: /: it is a database of another program$/,
    },
    {
      name: "a newer monitor's state",
      prepare: async (path) => {
        await withState(path, (store) => store.save([updateOf("web")]));
        withDatabase(path, (database) => database.exec("PRAGMA user_version = 99"));
      },
      failure: "other",
      reason: /: it is of version 99, and this monitor knows versions up to \d+; use the newer monitor/,
    },
    {
      name: "a symlink",
      prepare: async (path) => {
        await Deno.writeTextFile(`${path}.target`, "");
        await Deno.symlink(`${path}.target`, path);
      },
      failure: "denied",
      reason: /state.sqlite" is a symlink, which is not followed; name a file$/,
    },
    {
      name: "a symlink to nothing",
      prepare: (path) => Deno.symlink(`${path}.target`, path),
      failure: "denied",
      reason: /state.sqlite" is a symlink, which is not followed; name a file$/,
    },
    {
      name: "a symlink in the place of the journal",
      prepare: async (path) => {
        await Deno.writeTextFile(`${path}.target`, "");
        await Deno.symlink(`${path}.target`, `${path}-wal`);
      },
      failure: "denied",
      reason: /state.sqlite-wal" is a symlink, which is not followed; name a file$/,
    },
    {
      name: "a directory",
      prepare: (path) => Deno.mkdir(path),
      failure: "denied",
      reason: /state.sqlite" is a directory; name a file$/,
    },
    {
      name: "a pipe",
      prepare: makePipe,
      failure: "denied",
      reason: /state.sqlite" is a device or a pipe; name a file$/,
    },
    {
      name: "another user's file",
      prepare: (path) => Deno.writeTextFile(path, ""),
      userId: other,
      failure: "denied",
      reason: /state.sqlite" belongs to another user \(id \d+\); run as that user, or name another file$/,
    },
    {
      name: "another user's journal",
      prepare: (path) => Deno.writeTextFile(`${path}-wal`, "planted"),
      userId: other,
      failure: "denied",
      reason: /state.sqlite-wal" belongs to another user \(id \d+\)/,
    },
    {
      name: "a path below a file",
      prepare: (path) => Deno.writeTextFile(path.slice(0, path.lastIndexOf("/")) + "/below", ""),
      failure: "other",
      reason: /Not a directory/,
    },
  ];
  for (const { name, prepare, userId = Deno.uid(), failure, reason } of table) {
    for (const access of ["own", "read"] as const) {
      await t.step(`${name}, to ${access}`, () =>
        withStatePath(async (path) => {
          await prepare(path);
          const directory = path.slice(0, path.lastIndexOf("/"));
          const wanted = name === "a path below a file" ? `${directory}/below/state.sqlite` : path;
          const before = await contentsOf(directory);
          await assert.rejects(
            () => openState(wanted, { userId, access }),
            (error) =>
              failing(failure, reason)(error) && String(error).includes(`cannot open state "${wanted}"`),
          );
          assert.deepEqual(await contentsOf(directory), before);
        }));
    }
  }
});

Deno.test({
  name: "openSqliteStore() names the missing permission of the runtime",
  permissions: { read: false, write: false, sys: ["uid"] },
  fn: async () => {
    for (const access of ["own", "read"] as const) {
      await assert.rejects(
        () => openState("/nowhere/state.sqlite", { access }),
        failing("denied", /: missing permission: Requires read access to "\/nowhere\/.*--allow-read/),
      );
    }
  },
});

Deno.test("openSqliteStore() allows root to use any user's state", () =>
  withStatePath(async (path) => {
    await withState(path, (store) => store.save([updateOf("web")]));
    if (Deno.uid() === 0) await Deno.chown(path, 12345, 12345);
    const { store } = await openState(path, { userId: 0 });
    await store.save([updateOf("other")]);
    // The user must be able to go on with it.
    const owners = ["", "-wal", "-shm"].map((companion) => Deno.statSync(path + companion).uid);
    assert.deepEqual(owners, Deno.uid() === 0 ? [12345, 12345, 12345] : owners.map(() => Deno.uid()));
    await store.close();
  }));

Deno.test("openSqliteStore() reads a state without changing it", async (t) => {
  await t.step("there is none", () =>
    withStatePath(async (path) => {
      await assert.rejects(
        () => openState(path, { access: "read" }),
        failing("missing", /there is none yet/),
      );
      await assert.rejects(
        () => openState(`${path}.d/state.sqlite`, { access: "read" }),
        failing("missing", /there is none yet/),
      );
      assert.deepEqual(await contentsOf(path.slice(0, path.lastIndexOf("/"))), new Map());
    }));
  await t.step("it was only just created", () =>
    withStatePath(async (path) => {
      await Deno.writeTextFile(path, "");
      await assert.rejects(
        () => openState(path, { access: "read" }),
        failing("missing", /there is none yet/),
      );
      assert.equal((await Deno.stat(path)).size, 0);
    }));
  await t.step("it is damaged", () =>
    withStatePath(async (path) => {
      await Deno.writeTextFile(path, "no database");
      await assert.rejects(
        () => openState(path, { access: "read" }),
        failing("damaged", /is not a database$/),
      );
      assert.equal(await Deno.readTextFile(path), "no database");
    }));
  await t.step("it is there", () =>
    withStatePath(async (path) => {
      await withState(path, (store) => store.save([updateOf("web")]));
      const before = await Deno.readFile(path);
      await withState(path, async (store) => {
        assert.deepEqual(await store.records(), [recordOf("web")]);
        await assert.rejects(
          () => store.save([updateOf("web")]),
          failing("denied", /cannot write .*read-only/),
        );
        await assert.rejects(() => store.prune(NOW_MS), failing("denied", /cannot write .*read-only/));
        assert.deepEqual(await store.records(), [recordOf("web")]);
      }, { access: "read" });
      assert.deepEqual(await Deno.readFile(path), before);
    }));
  await t.step("it is of an older version", () =>
    withStatePath(async (path) => {
      await withState(path, (store) => store.save([updateOf("web")]));
      withDatabase(path, (database) => database.exec("PRAGMA user_version = 0"));
      await assert.rejects(
        () => openState(path, { access: "read" }),
        failing("other", /of the older version 0/),
      );
    }));
});

Deno.test("save() keeps all of a batch or nothing", () =>
  withStatePath(async (path) => {
    const { store } = await openState(path);
    await store.save([updateOf("web")]);
    const before = await store.records();
    const broken = recordOf("broken", { durationTotalMs: NaN });
    await assert.rejects(
      () =>
        store.save([
          updateOf("web", { record: recordOf("web", { missedRuns: 99 }), change: changeOf("web", NOW_MS) }),
          updateOf("other", { rollup: entryOf(NOW_MS) }),
          updateOf("broken", { record: broken }),
        ]),
      failing("other", /cannot write state ".*": NOT NULL constraint failed/),
    );
    assert.deepEqual(await store.records(), before);
    assert.deepEqual(await store.changes("web", ALL), []);
    assert.deepEqual(await store.rollups("other", 0), []);
    await store.save([updateOf("other")]);
    assert.equal((await store.records()).length, 2);
    await store.close();
  }));

Deno.test("save() rejects if the disk is full, keeps the old rows and writes again when there is space", () =>
  withStatePath(async (path) => {
    await withState(path, (store) => store.save([updateOf("web")]));
    const connection = await openConnection(path, { readOnly: false });
    migrate(connection);
    const store = createDatabaseStore(connection, path);
    const pages = Number(connection.first("PRAGMA page_count")?.["page_count"]);
    connection.first(`PRAGMA max_page_count = ${pages + 2}`);
    const big = someUpdates().map((update) => ({
      ...update,
      change: changeOf("web", NOW_MS, { output: "x".repeat(5000) }),
    }));
    for (let attempt = 0; attempt < 3; attempt++) {
      await assert.rejects(
        () => store.save(big),
        failing("full", /cannot write .*: the disk is full; free some space$/),
      );
      assert.deepEqual(await store.records(), [recordOf("web")]);
      assert.deepEqual(await store.changes("check 0", ALL), []);
      await store.save([updateOf("web")]);
    }
    connection.first(`PRAGMA max_page_count = ${pages + 10_000}`);
    await store.save(big);
    assert.equal((await store.records()).length, 1 + big.length);
    assert.equal((await store.changes("check 39", ALL)).length, 1);
    await store.close();
    assert.equal(integrityOf(path), "ok");
  }));

Deno.test("save() rejects while another process writes, and succeeds afterwards", () =>
  withStatePath(async (path) => {
    const { store } = await openState(path);
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    await assert.rejects(
      () => store.save([updateOf("web")]),
      failing("busy", /locked by another process/),
    );
    assert.deepEqual(await store.records(), []);
    other.exec("ROLLBACK");
    other.close();
    await store.save([updateOf("web")]);
    assert.equal((await store.records()).length, 1);
    await store.close();
  }));

Deno.test("prune() changes no more than some rows in one call", () =>
  withStatePath(async (path) => {
    const { store } = await openState(path);
    const hours = [...Array(1500).keys()].map((hour) => entryOf(NOW_MS - 70 * 24 * HOUR_MS + hour * HOUR_MS));
    const names = [..."abcd"];
    await store.save(names.flatMap((name) => hours.map((rollup) => updateOf(name, { rollup }))));
    const pruned = async (): Promise<string> => {
      const rollups = await Promise.all(names.map((name) => store.rollups(name, 0)));
      return names.filter((_name, index) => (rollups[index]?.length ?? 0) < 1500).join("");
    };
    const seen: unknown[] = [];
    for (let call = 0; call < 5; call++) seen.push((await store.prune(NOW_MS)).finished, await pruned());
    assert.deepEqual(seen, [false, "a", false, "ab", false, "abc", false, "abcd", true, "abcd"]);
    await store.close();
  }));

Deno.test("prune() returns the space of deleted rows to the disk, some pages in one call", () =>
  withStatePath(async (path) => {
    const { store } = await openState(path);
    const change = changeOf("web", NOW_MS - 401 * 24 * HOUR_MS, { output: "x".repeat(1024) });
    for (let count = 0; count < 8; count++) {
      await store.save(Array.from({ length: 1000 }, () => updateOf("web", { change })));
    }
    const sizes: number[] = [];
    const free = (): number =>
      withDatabase(
        path,
        (database) => Number(database.prepare("PRAGMA freelist_count").get()?.["freelist_count"]),
      );
    await store.save([updateOf("web", { change: changeOf("web", NOW_MS) })]);
    for (let finished = false; !finished;) {
      ({ finished } = await store.prune(NOW_MS));
      sizes.push(free());
    }
    const most = Math.max(...sizes);
    assert.ok(most > 2000, `${most} pages were free`);
    sizes.slice(sizes.indexOf(most) + 1).reduce((before, now) => {
      assert.ok(before - now <= 250, "one call holds up nothing else");
      return now;
    }, most);
    assert.equal((await store.changes("web", ALL)).length, 1);
    await store.close();
    const { size } = await Deno.stat(path);
    assert.ok(size < 1.5 * 1024 * 1024, `${size} bytes`);
    assert.equal(integrityOf(path), "ok");
  }));

const ALL = { sinceMs: -Infinity, limit: Infinity };

function failing(failure: StoreFailure, reason: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof StoreError, String(error));
    assert.equal(error.failure, failure, error.message);
    assert.match(error.message, reason);
    assert.doesNotMatch(error.message, /\.$/);
    return true;
  };
}

/** Enough to fill some pages. */
function someUpdates(): ReturnType<typeof updateOf>[] {
  return [...Array(40).keys()].map((index) =>
    updateOf(`check ${index}`, { change: changeOf("", NOW_MS), rollup: entryOf(NOW_MS) })
  );
}

/** Enough to fill some megabytes, the last of them with changes. */
function manyUpdates(): ReturnType<typeof updateOf>[] {
  const names = [...Array(100).keys()].map((index) => `check ${index}`);
  const change = changeOf("", NOW_MS, { output: "x".repeat(1024) });
  return [
    ...names.map((name) => updateOf(name)),
    ...names.flatMap((name) => Array(36).fill(updateOf(name, { change }))),
  ];
}

/** Noise in the place of some bytes, the same every time. */
function garble(bytes: Uint8Array, from: number, to: number): Uint8Array {
  return bytes.map((byte, index) => index >= from && index < to ? (index * 131 + 89) % 251 : byte);
}

function withDatabase<T>(path: string, use: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(path);
  try {
    return use(database);
  } finally {
    database.close();
  }
}

function integrityOf(path: string): unknown {
  return withDatabase(
    path,
    (database) => database.prepare("PRAGMA integrity_check").get()?.["integrity_check"],
  );
}

async function modeOf(path: string): Promise<number> {
  return ((await Deno.lstat(path)).mode ?? 0) & 0o777;
}

/** Returns the files in a directory with their contents; directories are only named. */
async function contentsOf(directory: string): Promise<ReadonlyMap<string, string>> {
  const contents = new Map<string, string>();
  for (const entry of [...Deno.readDirSync(directory)].sort((one, other) => one.name < other.name ? -1 : 1)) {
    const text = entry.isFile ? (await Deno.readFile(`${directory}/${entry.name}`)).toString() : "";
    contents.set(entry.name, text);
  }
  return contents;
}
