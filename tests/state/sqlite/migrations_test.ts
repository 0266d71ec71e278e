import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import {
  APPLICATION_ID,
  migrate,
  NewerVersionError,
  SqliteConnection,
  versionOf,
} from "../../../src/state/sqlite/sqlite_connection.ts";
import { type Migration, RECORDS, ROLLUPS, STEPS } from "../../../src/state/sql/tables.ts";
import { entryOf, NOW_MS, recordOf, updateOf } from "../records.ts";
import { percentilesOf } from "../../../src/shared/histograms.ts";
import { HOUR_MS } from "../../../src/shared/time_units.ts";
import { withState, withStatePath } from "../state_directory.ts";

const FIRST: Migration = ["CREATE TABLE a (x)", "INSERT INTO a VALUES (1)"];
const SECOND: Migration = ["ALTER TABLE a ADD COLUMN y DEFAULT 2", "CREATE TABLE b (z)"];
const BROKEN: Migration = [
  "CREATE TABLE c (x)",
  "INSERT INTO a VALUES (3, 3)",
  "INSERT INTO missing VALUES (1)",
];

Deno.test("migrate() migrates an empty database to the present version", () => {
  using connection = openInMemory();
  migrate(connection);
  assert.equal(versionOf(connection), STEPS.length);
  assert.equal(connection.first("PRAGMA application_id")?.["application_id"], APPLICATION_ID);
  assert.deepEqual(connection.all("PRAGMA foreign_key_check"), []);
  assert.equal(connection.first("PRAGMA foreign_keys")?.["foreign_keys"], 1);
});

Deno.test("migrate() makes of an empty database what all steps make of it", () => {
  using connection = openInMemory();
  migrate(connection);
  using stepped = openInMemory();
  migrate(stepped, [...STEPS]);
  assert.deepEqual(schemaOf(connection), schemaOf(stepped));
});

/** The tables with their columns, and the indexes, by name. */
function schemaOf(connection: SqliteConnection): readonly unknown[] {
  const sql = "SELECT type, name, tbl_name, iif(type = 'index', sql, '') AS sql, (" +
    'SELECT json_group_array(json_array(name, type, "notnull", dflt_value, pk) ORDER BY name) ' +
    "FROM pragma_table_info(sqlite_schema.name)) AS columns, (" +
    'SELECT json_group_array(json_array("table", "from", "to") ORDER BY id) ' +
    "FROM pragma_foreign_key_list(sqlite_schema.name)) AS refers FROM sqlite_schema ORDER BY type, name";
  return connection.all(sql);
}

Deno.test("migrate() applies all steps or none", () => {
  using connection = openInMemory();
  migrate(connection, [FIRST]);
  assert.throws(() => migrate(connection, [FIRST, SECOND, BROKEN]), /no such table: missing/);
  assert.equal(versionOf(connection, [FIRST]), 1);
  assert.deepEqual(connection.all("SELECT * FROM a").map((row) => ({ ...row })), [{ x: 1 }]);
  migrate(connection, [FIRST, SECOND]);
  assert.equal(versionOf(connection, [FIRST, SECOND]), 2);
});

Deno.test("migrate() rejects a newer version and changes nothing", () => {
  using connection = openInMemory();
  migrate(connection, [FIRST, SECOND]);
  const version = connection.first("PRAGMA schema_version");
  assert.throws(
    () => migrate(connection, [FIRST]),
    (error) =>
      error instanceof NewerVersionError &&
      /it is of version 2, .* up to 1; use the newer/.test(error.message),
  );
  assert.deepEqual(connection.first("PRAGMA schema_version"), version);
});

Deno.test("migrate() leaves the work to another process that migrates at the same time", () =>
  withStatePath((path) => {
    const one = new SqliteConnection(new DatabaseSync(path));
    /** Waits to begin, as for a lock, until the first one has done it all. */
    class Slower extends SqliteConnection {
      override transaction<T>(work: () => T): T {
        migrate(one, [FIRST, SECOND]);
        return super.transaction(work);
      }
    }
    const other = new Slower(new DatabaseSync(path));
    migrate(other, [FIRST, SECOND]);
    assert.deepEqual(other.all("SELECT * FROM a").map((row) => ({ ...row })), [{ x: 1, y: 2 }]);
    other.close();
    one.close();
    return Promise.resolve();
  }));

Deno.test("migrate() opens a state of the version before the journal, with everything in it", async () => {
  await withStatePath(async (path) => {
    const old = new SqliteConnection(new DatabaseSync(path));
    migrate(old, STEPS.slice(0, 1));
    const record = {
      ...recordOf("web"),
      journal: null,
      durationHistory: null,
      metricHour: null,
      metricHistory: null,
    };
    const columns = RECORDS.columns.replace(
      ", journal, duration_history, metric_hour, metric_history",
      ", fresh_runs",
    );
    const values = RECORDS.encode(record).slice(0, -4);
    old.run(
      `INSERT INTO checks (${columns}) VALUES (${columns.replace(/[^,]+/g, "?")})`,
      ...values,
      new Uint8Array(),
    );
    old.close();
    await withState(path, async (store) => {
      assert.deepEqual(await store.records(), [record]);
      assert.deepEqual(await store.journal(["web"], { sinceMs: 0, untilMs: Infinity }), []);
      await store.save([updateOf("web")]);
      assert.deepEqual(await store.records(), [recordOf("web")]);
    });
  });
});

Deno.test("migrate() knows no percentiles of hours that began before histograms", async () => {
  await withStatePath(async (path) => {
    const old = new SqliteConnection(new DatabaseSync(path));
    migrate(old, STEPS.slice(0, 4));
    const known = RECORDS.columns.replace(", duration_history, metric_hour, metric_history", "");
    old.run(
      `INSERT INTO checks (${known}, fresh_runs) SELECT ${known}, x'' FROM (SELECT 'web' AS name, ` +
        `'${
          JSON.stringify(recordOf("web").condition)
        }' AS condition, NULL AS last, NULL AS failing, NULL AS next_run_at_ms, ` +
        "NULL AS overdue_at_ms, 0 AS missed_runs, 1 AS runs_ok, 0 AS runs_unknown, 0 AS runs_warning, 0 AS runs_critical, " +
        "10 AS duration_total_ms, 0 AS seen_at_ms, NULL AS journal)",
    );
    const columns = ROLLUPS.declared.filter(({ isAdded }) => isAdded !== true).map(({ name }) => name);
    for (const startMs of [NOW_MS - HOUR_MS, NOW_MS]) {
      const values = [1, startMs, HOUR_MS, 1, 0, 0, 0, 0, 0, 0, 0, 10, 10, 0];
      old.run(
        `INSERT INTO rollups (${columns.join(", ")}) VALUES (${values.map(() => "?").join(", ")})`,
        ...values,
      );
    }
    old.close();
    await withState(path, async (store) => {
      await store.save(
        [entryOf(NOW_MS), entryOf(NOW_MS + HOUR_MS)].map((rollup) => updateOf("web", { rollup })),
      );
      const rollups = await store.rollups("web", 0);
      const hasPercentiles = (
        each: {
          readonly runs: number;
          readonly durations: readonly number[];
          readonly durationMaxMs: number;
        },
      ) => percentilesOf(each) !== null;
      assert.deepEqual(
        rollups.map(({ observed, ...rollup }) => hasPercentiles({ ...rollup, runs: observed.ok })),
        [false, false, true],
      );
      const span = { sinceMs: 0, untilMs: Infinity };
      const sums = await store.rollupSums(["web"], { ...span, each: "hour" });
      assert.deepEqual(sums.map(hasPercentiles), [false, false, true]);
      const [sum = assert.fail()] = await store.rollupSums(["web"], { ...span, each: "check" });
      assert.deepEqual([sum.runs, hasPercentiles(sum)], [4, false]);
    });
  });
});

function openInMemory(): SqliteConnection & Disposable {
  const connection = new SqliteConnection(new DatabaseSync(":memory:"));
  return Object.assign(connection, { [Symbol.dispose]: () => connection.close() });
}
