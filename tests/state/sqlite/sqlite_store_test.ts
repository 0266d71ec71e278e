import assert from "node:assert/strict";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { StoreError, type StoreFailure } from "../../../src/domain/store.ts";
import { makePipe } from "../../support/make_pipe.ts";
import { pruneAll, testStore } from "../conformance.ts";
import { HOUR_MS } from "../../../src/shared/time_units.ts";
import { changeOf, entryOf, NOW_MS, recordOf, updateOf } from "../records.ts";
import { testRows } from "../../support/rows.ts";
import {
  failing,
  integrityOf,
  openState,
  withDatabase,
  withState,
  withStatePath,
} from "../state_directory.ts";
import { explainStoreFailure } from "../../../src/state/sqlite/sqlite_connection.ts";
import { provided } from "../../support/concurrent_tests.ts";

const test = provided(withStatePath, Deno.test);

testStore("openSqliteStore()", (use) => withStatePath((path) => withState(path, use)));

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

Deno.test("openSqliteStore() creates files and directories for their owner alone, and keeps permissions", async () => {
  for (const access of ["own", "alongside"] as const) {
    await withStatePath(async (path) => {
      const directory = `${path}.d/deep`;
      const { store } = await openState(`${directory}/state.sqlite`, { access });
      await store.save([updateOf("web")]);
      for (const companion of ["", "-wal", "-shm"]) {
        assert.equal(await modeOf(`${directory}/state.sqlite${companion}`), 0o600, companion);
      }
      assert.equal(await modeOf(directory), 0o700);
      assert.equal(await modeOf(`${path}.d`), 0o700);
      await store.close();
      await Deno.chmod(directory, 0o755);
      await withState(`${directory}/state.sqlite`, (again) => again.save([updateOf("web")]), { access });
      assert.equal(await modeOf(directory), 0o755);
    });
  }
});

test("openSqliteStore() accepts special characters in a path", async (path) => {
  const odd = `${path} ?mode=memory#%20'"é;.sqlite`;
  await withState(odd, (store) => store.save([updateOf("web")]));
  assert.equal((await Deno.lstat(odd)).isFile, true);
  assert.equal(await withState(odd, async (store) => (await store.records()).length), 1);
});

Deno.test("openSqliteStore() quarantines a damaged file and opens an empty one, which a command does not", async (t) => {
  const garbled = (from: number, to: number) => (whole: Uint8Array) => garble(whole, from, to);
  const table: Readonly<
    Record<string, readonly [damage: (whole: Uint8Array) => Uint8Array, reason: RegExp]>
  > = {
    "text": [() => new TextEncoder().encode("not a database\n".repeat(20)), /is not a database$/],
    "shorter than a header": [(whole) => whole.slice(0, 50), /is not a database$/],
    "cut off in the middle": [(whole) => whole.slice(0, whole.length / 2), /is damaged/],
    "a garbled first page": [garbled(100, 4096), /is damaged/],
    "a garbled page": [garbled(3 * 4096, 4 * 4096), /is damaged/],
  };
  let whole = new Uint8Array();
  await withStatePath(async (path) => {
    await withState(path, (store) => store.save(someUpdates()));
    whole = await Deno.readFile(path);
  });
  await testRows(t, table, ([damage, reason]) =>
    withStatePath(async (path) => {
      const damaged = damage(whole);
      await Deno.writeFile(path, damaged);
      await assert.rejects(() => openState(path, { access: "alongside" }), failing("damaged", reason));
      assert.deepEqual(await Deno.readFile(path), damaged);

      const { store, quarantined } = await openState(path);
      assert.equal(quarantined?.path, `${path}.damaged-20260131T100000Z`);
      assert.match(quarantined.reason, reason);
      assert.ok(quarantined.reason.startsWith(`cannot open state "${path}": `), quarantined.reason);
      assert.deepEqual(await Deno.readFile(quarantined.path), damaged);
      assert.deepEqual(await store.records(), []);
      await store.save([updateOf("web")]);
      await store.close();
      const { store: again, quarantined: nothing } = await openState(path);
      assert.equal(nothing, null);
      assert.equal((await again.records()).length, 1);
      await again.close();
    }));
});

test("openSqliteStore() quarantines the files of a damaged database, and overwrites nothing", async (path) => {
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
});

test("openSqliteStore() quarantines the journal of a file that has become empty", async (path) => {
  const { store } = await openState(path);
  await store.save([updateOf("web")]);
  const journal = await Deno.readFile(`${path}-wal`);
  await store.close();
  await Deno.writeFile(path, new Uint8Array());
  await Deno.writeFile(`${path}-wal`, journal);
  const reason = /: the file is empty, its journal is not$/;
  await assert.rejects(() => openState(path, { access: "alongside" }), failing("damaged", reason));

  const { store: fresh, quarantined } = await openState(path);
  assert.match(quarantined?.reason ?? "", reason);
  assert.deepEqual(await Deno.readFile(`${quarantined?.path}-wal`), journal);
  assert.deepEqual(await fresh.records(), []);
  await fresh.close();
});

test("openSqliteStore() validates a small file completely, and only the checks of a large one", async (path) => {
  await withState(path, (store) => store.save(manyUpdates()));
  const page = withDatabase(path, (database) => {
    const root = database.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'checks'").get();
    return Number(root?.["rootpage"]);
  });
  const whole = await Deno.readFile(path);
  const size = whole.length;
  assert.ok(size > 3 * 1024 * 1024, `${size} bytes`);
  await Deno.writeFile(path, garble(whole, size - 1024 * 1024, size));
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

  await Deno.writeFile(path, garble(whole, (page - 1) * 4096, page * 4096));
  const again = await openState(path);
  assert.match(again.quarantined?.reason ?? "", /is damaged/);
  await again.store.close();
});

Deno.test("openSqliteStore() rejects a file that is not this user's own state, and changes nothing", async (t) => {
  const other = (Deno.uid() ?? 0) + 1;
  const another = /: it is a database of another program$/;
  const foreign = /" belongs to another user \(id \d+\)/;
  const symlink = /" is a symlink, which is not followed; name a file$/;
  const sql = (text: string) => (path: string): void => withDatabase(path, (database) => database.exec(text));
  const link = (companion: string) => (path: string) => Deno.symlink(`${path}.target`, path + companion);
  const empty = (companion: string) => (path: string) => Deno.writeTextFile(path + companion, "");
  type Prepare = (path: string) => Promise<unknown> | void;
  const table: Readonly<Record<string, readonly [Prepare, StoreFailure, reason: RegExp, userId?: number]>> = {
    "the database of another application": [sql("CREATE TABLE t (a)"), "other", another],
    "one with its own id": [sql("PRAGMA application_id = 7; PRAGMA journal_mode = WAL"), "other", another],
    "a newer monitor's state": [
      async (path) => {
        await withState(path, (store) => store.save([updateOf("web")]));
        sql("PRAGMA user_version = 99")(path);
      },
      "other",
      /: it is of version 99, and this monitor knows versions up to \d+; use the newer monitor/,
    ],
    "a symlink": [
      async (path) => {
        await empty(".target")(path);
        await link("")(path);
      },
      "denied",
      symlink,
    ],
    ...Object.fromEntries(
      ["", "-wal", "-shm", "-journal"].map((
        end,
      ) => [`a symlink to nothing: ${end}`, [link(end), "denied", symlink]]),
    ),
    "a directory": [(path) => Deno.mkdir(path), "denied", /state.sqlite" is a directory; name a file$/],
    "a pipe": [makePipe, "denied", /state.sqlite" is a device or a pipe; name a file$/],
    "another user's file": [empty(""), "denied", foreign, other],
    "another user's journal": [empty("-wal"), "denied", foreign, other],
  };
  await testRows(t, table, async ([prepare, failure, reason, userId = Deno.uid()]) => {
    for (const access of ["own", "read", "alongside"] as const) {
      await withStatePath(async (path) => {
        await prepare(path);
        const directory = path.slice(0, path.lastIndexOf("/"));
        const before = await contentsOf(directory);
        await assert.rejects(() => openState(path, { userId, access }), failing(failure, reason));
        assert.deepEqual(await contentsOf(directory), before);
      });
    }
  });
});

test("openSqliteStore() allows root to use any user's state", async (path) => {
  await withState(path, (store) => store.save([updateOf("web")]));
  if (Deno.uid() === 0) await Deno.chown(path, 12345, 12345);
  const { store } = await openState(path, { userId: 0 });
  await store.save([updateOf("other")]);
  // The user must be able to go on with it.
  const owners = ["", "-wal", "-shm"].map((companion) => Deno.statSync(path + companion).uid);
  assert.deepEqual(owners, Deno.uid() === 0 ? [12345, 12345, 12345] : owners.map(() => Deno.uid()));
  await store.close();
});

Deno.test("openSqliteStore() reads a state without changing it", async (t) => {
  const table: Readonly<
    Record<string, readonly [prepare: (path: string) => Promise<unknown>, StoreFailure, reason: RegExp]>
  > = {
    "there is none": [() => Promise.resolve(), "missing", /there is none yet/],
    "it is damaged": [(path) => Deno.writeTextFile(path, "text"), "damaged", /is not a database$/],
    "it is of an older version": [
      async (path) => {
        await withState(path, (store) => store.save([updateOf("web")]));
        withDatabase(path, (database) => database.exec("PRAGMA user_version = 1"));
      },
      "other",
      /of the older version 1/,
    ],
  };
  await testRows(t, table, ([prepare, failure, reason]) =>
    withStatePath(async (path) => {
      await prepare(path);
      const directory = path.slice(0, path.lastIndexOf("/"));
      const before = (await contentsOf(directory)).get("state.sqlite");
      await assert.rejects(() => openState(path, { access: "read" }), failing(failure, reason));
      assert.equal((await contentsOf(directory)).get("state.sqlite"), before);
    }));
  await t.step("it is there", () =>
    withStatePath(async (path) => {
      await withState(path, (store) => store.save([updateOf("web")]));
      const before = await Deno.readFile(path);
      await withState(path, async (store) => {
        for (const write of [() => store.save([updateOf("web")]), () => store.prune(NOW_MS)]) {
          await assert.rejects(write, failing("denied", /cannot write .*read-only/));
        }
        assert.deepEqual(await store.records(), [recordOf("web")]);
      }, { access: "read" });
      assert.deepEqual(await Deno.readFile(path), before);
    }));
});

test("prune() changes no more than some rows in one call", async (path) => {
  const { store } = await openState(path);
  const hours = [...Array(1050).keys()].map((hour) => entryOf(NOW_MS - 70 * 24 * HOUR_MS + hour * HOUR_MS));
  const names = [..."abcd"];
  await store.save(names.flatMap((name) => hours.map((rollup) => updateOf(name, { rollup }))));
  const pruned = async (): Promise<string> => {
    const rollups = await Promise.all(names.map((name) => store.rollups(name, 0)));
    return names.filter((_name, index) => (rollups[index]?.length ?? 0) < 1050).join("");
  };
  const seen: unknown[] = [];
  for (let call = 0; call < 5; call++) seen.push((await store.prune(NOW_MS)).finished, await pruned());
  assert.deepEqual(seen, [false, "a", false, "ab", false, "abc", false, "abcd", true, "abcd"]);
  await store.close();
});

test("prune() returns the space of deleted rows to the disk, some pages in one call", async (path) => {
  const { store } = await openState(path);
  const change = changeOf("web", NOW_MS - 401 * 24 * HOUR_MS, { output: "x".repeat(1024) });
  for (let count = 0; count < 4; count++) {
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
  assert.ok(most > 1000, `${most} pages were free`);
  sizes.slice(sizes.indexOf(most) + 1).reduce((before, now) => {
    assert.ok(before - now <= 250, "one call holds up nothing else");
    return now;
  }, most);
  assert.equal((await store.changes("web", ALL)).length, 1);
  await store.close();
  const { size } = await Deno.stat(path);
  assert.ok(size < 1.5 * 1024 * 1024, `${size} bytes`);
  assert.equal(integrityOf(path), "ok");
});

const ALL = { sinceMs: -Infinity, limit: Infinity };

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
  const garbled = bytes.slice();
  for (let index = from; index < to; index++) garbled[index] = (index * 131 + 89) % 251;
  return garbled;
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

Deno.test("explainStoreFailure() suggests a fix", async (t) => {
  const writable = "make the file and its directory writable for this user";
  const busy = "locked by another process for too long; run it again";
  const full = "the disk is full; free some space";
  const unopened =
    "the file, its -wal or its -shm cannot be opened; make them and the directory writable for this user";
  const table: Readonly<Record<string, readonly [Error, StoreFailure, reason: string]>> = {
    "no permission": [databaseError("access denied", 3), "denied", `permission denied; ${writable}`],
    "busy": [databaseError("database is locked", 5), "busy", busy],
    "read-only": [databaseError("a readonly database", 8), "denied", `read-only; ${writable}`],
    "an input or output error": [
      databaseError("disk I/O error", 778),
      "other",
      "the disk reports an error (disk I/O error, code 778); check the disk, its quota and the system log",
    ],
    "no space for the shared memory": [databaseError("disk I/O error", 4874), "full", full],
    "corrupt": [databaseError("disk image is malformed", 11), "damaged", "the file is damaged"],
    "cannot open": [databaseError("unable to open database file", 14), "denied", unopened],
    "no database": [databaseError("is not a database", 26), "damaged", "the file is not a database"],
    "a missing permission of the runtime": [
      new Deno.errors.NotCapable("Requires write access"),
      "denied",
      "missing permission: Requires write access",
    ],
    "an exhausted quota": [
      systemError("Disk quota exceeded", "EDQUOT"),
      "full",
      "the disk quota is exceeded; free some space",
    ],
    "a read-only disk": [systemError("Read-only file system", "EROFS"), "denied", `read-only; ${writable}`],
  };
  await testRows(t, table, ([error, failure, reason]) => {
    const explained = explainStoreFailure(error, { action: "write", path: "/state" });
    assert.equal(explained?.message, `cannot write state "/state": ${reason}`);
    assert.equal(explained.failure, failure);
    assert.equal(explained.cause, error);
  });
});

Deno.test("explainStoreFailure() returns an explained failure unchanged", () => {
  const error = new StoreError("cannot read it", "other");
  assert.equal(explainStoreFailure(error, { action: "read", path: "/state" }), error);
});

Deno.test("explainStoreFailure() does not classify a bug as a failure of the state", () => {
  const argument = systemError("cannot be bound", "ERR_INVALID_ARG_TYPE");
  for (const error of [new TypeError("x is undefined"), argument, "text"]) {
    assert.equal(explainStoreFailure(error, { action: "write", path: "/state" }), null);
  }
});

function databaseError(message: string, errcode?: number): Error {
  return Object.assign(new Error(message), {
    code: "ERR_SQLITE_ERROR",
    ...(errcode === undefined ? {} : { errcode }),
  });
}

function systemError(message: string, code: string): Error {
  return Object.assign(new Error(message), { code });
}
