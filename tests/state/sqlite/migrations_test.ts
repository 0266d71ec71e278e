/** States that earlier versions wrote, and states to which other processes write. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import {
  APPLICATION_ID,
  migrate,
  NewerVersionError,
  SqliteConnection,
  versionOf,
  whileBusy,
} from "../../../src/state/sqlite/sqlite_connection.ts";
import { type Migration, RECORDS, ROLLUPS, STEPS } from "../../../src/state/sql/tables.ts";
import { entryOf, NOW_MS, recordOf, silenceOf, updateOf } from "../records.ts";
import { HOUR_MS } from "../../../src/shared/time_units.ts";
import { openState, withState, withStatePath } from "../state_directory.ts";
import type { NewReport, Reporting } from "../../../src/domain/reports.ts";
import { HOSTILE_TEXTS } from "../hostile.ts";
import { StoreError } from "../../../src/domain/store.ts";
import { createRealClock } from "../../../testing/real_clock.ts";
import { createFakeClock } from "../../../testing/fake_clock.ts";
import { provided } from "../../support/concurrent_tests.ts";
import { percentilesOf } from "../../../src/shared/histograms.ts";

const testWithStatePath = provided(withStatePath, Deno.test);

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

testWithStatePath("migrate() leaves the work to another process that migrates at the same time", (path) => {
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
});

testWithStatePath(
  "migrate() opens a state of the version before the journal, with everything in it",
  async (path) => {
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
  },
);

testWithStatePath("migrate() knows no percentiles of hours that began before histograms", async (path) => {
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

function openInMemory(): SqliteConnection & Disposable {
  const connection = new SqliteConnection(new DatabaseSync(":memory:"));
  return Object.assign(connection, { [Symbol.dispose]: () => connection.close() });
}

const REPORTING: Reporting = {
  stream: "stream-1",
  received: 0,
  dropped: 0,
  rejected: [],
  sentAtMs: null,
  failure: null,
};

function reportOf(output: string, fields: Partial<NewReport> = {}): NewReport {
  return {
    run: {
      check: "web",
      condition: "warning",
      output,
      detail: "more",
      performanceData: "time=1",
      metrics: { status: 500 },
      durationMs: 12.5,
      lateMs: null,
      nextRunInMs: 60_000,
      overdueInMs: 180_000,
      awaits: "checks",
      isInterrupted: true,
    },
    endedAtMs: NOW_MS,
    process: "process",
    monotonicMs: 1234.5,
    ...fields,
  };
}

testWithStatePath(
  "reports are stored with their updates, and returned whole and in order",
  (path) =>
    withState(path, async (store) => {
      const reports = HOSTILE_TEXTS.map((text) => reportOf(text));
      await store.save(reports.map((report) => updateOf("web", { report })));
      const { reports: stored, waiting } = await store.reports(1_000);
      assert.equal(waiting, reports.length);
      assert.deepEqual(stored.map(({ sequence: _, ...report }) => report), reports);
      assert.deepEqual(
        stored.map(({ sequence }) => sequence),
        reports.map((_, index) => NOW_MS * 1000 + index),
      );
      assert.deepEqual((await store.reports(1)).reports, stored.slice(0, 1));
    }),
);

testWithStatePath(
  "reports that were received are deleted, and no sequence comes again after that",
  async (path) => {
    let last = 0;
    await withState(path, async (store) => {
      assert.equal(await store.reporting(), null);
      await store.save(["a", "b", "c"].map((text) => updateOf("web", { report: reportOf(text) })));
      const [, second, third] = (await store.reports(9)).reports;
      last = third?.sequence ?? 0;
      const reporting = {
        ...REPORTING,
        received: second?.sequence ?? 0,
        dropped: 2,
        rejected: ["ä"],
        sentAtMs: NOW_MS,
      };
      await store.keepReporting(reporting);
      assert.deepEqual(await store.reporting(), reporting);
      assert.deepEqual((await store.reports(9)).reports, [third]);
      await store.keepReporting({ ...reporting, received: last });
      assert.deepEqual(await store.reports(9), { reports: [], waiting: 0 });
    });
    await withState(path, async (store) => {
      // The clock was set back.
      await store.save([updateOf("web", { report: reportOf("d", { endedAtMs: 0 }) })]);
      assert.deepEqual((await store.reports(9)).reports.map(({ sequence }) => sequence), [last + 1]);
    });
  },
);

testWithStatePath(
  "the oldest reports beyond a number are dropped",
  (path) =>
    withState(path, async (store) => {
      assert.equal(await store.dropReports(2), 0);
      await store.save(["a", "b", "c", "d"].map((text) => updateOf("web", { report: reportOf(text) })));
      assert.equal(await store.dropReports(3), 1);
      assert.equal(await store.dropReports(3), 0);
      const { reports, waiting } = await store.reports(9);
      assert.equal(waiting, 3);
      assert.deepEqual(reports.map(({ run }) => run.output), ["b", "c", "d"]);
    }),
);

const BUSY = new StoreError("cannot write state: busy", "busy");

/** Work that is busy for some time on a fake clock; records the times of its attempts. */
function busyFor(durationMs: number): {
  readonly clock: ReturnType<typeof createFakeClock>;
  readonly triesMs: number[];
  readonly work: () => string;
} {
  const clock = createFakeClock();
  const triesMs: number[] = [];
  return {
    clock,
    triesMs,
    work: () => {
      triesMs.push(clock.monotonicMs());
      if (clock.monotonicMs() < durationMs) throw BUSY;
      return "done";
    },
  };
}

Deno.test("whileBusy() retries ever more seldom until it is done", async () => {
  const { clock, triesMs, work } = busyFor(60_000);
  const done = whileBusy(work, { clock, timeoutMs: 120_000 });
  await clock.advance(62_000);
  assert.equal(await done, "done");
  assert.equal(clock.timers, 0);
  const pausesMs = triesMs.slice(1).map((atMs, index) => atMs - (triesMs[index] ?? 0));
  assert.deepEqual([pausesMs[0], pausesMs.at(-1)], [5, 1_000]);
  assert.deepEqual(pausesMs, pausesMs.toSorted((one, other) => one - other));
});

Deno.test("whileBusy() rejects with the last error after the timeout, and soon after an abort", async () => {
  const { clock, work } = busyFor(Infinity);
  const stop = new AbortController();
  const late = assert.rejects(whileBusy(work, { clock, timeoutMs: 500 }), BUSY);
  const aborted = assert.rejects(whileBusy(work, { clock, timeoutMs: Infinity, signal: stop.signal }), BUSY);
  await clock.advance(600);
  await late;
  await clock.advance(10_000);
  stop.abort();
  await clock.advance(1_000);
  await aborted;
  await assert.rejects(whileBusy(work, undefined), BUSY, "without patience");
  const full = new StoreError("cannot write state: the disk is full", "full");
  await assert.rejects(whileBusy(() => Promise.reject(full), { clock, timeoutMs: 1_000 }), full);
});

testWithStatePath(
  "a patient store waits for another process without blocking, and keeps the order of its writes",
  async (path) => {
    await withState(path, () => Promise.resolve());
    using other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    const patience = { clock: createRealClock(), timeoutMs: 20_000, pauseMsMax: 5 };
    const { store } = await openState(path, { patience });
    const added = store.addSilences([silenceOf("a")]);
    const ended = store.endSilences(["web"], NOW_MS);
    let turns = 0;
    while (turns++ < 10) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.deepEqual(await store.silences(NOW_MS), []);
    other.exec("ROLLBACK");
    await added;
    assert.equal(await ended, 1);
    await store.close();
  },
);
