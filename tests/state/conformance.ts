/**
 * The behavior of every store: the one suite that each of them runs; its part for notifications is in
 * conformance_outbox.ts.
 */
import assert from "node:assert/strict";
import { CONDITIONS } from "../../src/domain/condition.ts";
import {
  type CheckJournal,
  type JobEnd,
  type JobRun,
  type JournalRun,
  type Rollup,
  type RollupSum,
  type Store,
  StoreError,
} from "../../src/domain/store.ts";
import { allChanges } from "../../src/state/read_store.ts";
import { journalRows } from "../../src/state/journal.ts";
import { RecordCache } from "../../src/state/record_cache.ts";
import { testOutbox } from "./conformance_outbox.ts";
import { HOSTILE_TEXTS } from "./hostile.ts";
import { addHistograms, addValue, histogramOf, NO_RUNS } from "../../src/shared/histograms.ts";
import { DAY_MS, HOUR_MS } from "../../src/shared/time_units.ts";
import {
  beatOf,
  changeOf,
  countsOf,
  endOf,
  entryOf,
  journalOf,
  monitorRunOf,
  NOW_MS,
  outboxChangeOf,
  recordOf,
  recordsIn,
  resultOf,
  silenceOf,
  updateOf,
} from "./records.ts";
import { testRows } from "../support/rows.ts";

/** Makes a store that keeps nothing yet. It goes when the test ends. */
export type StoreMaker = (use: (store: Store) => Promise<void>) => Promise<void>;

/** Registers one test of a store. */
export type StoreTest = (
  sentence: string,
  body: (store: Store, t: Deno.TestContext) => Promise<void>,
) => void;

/** Registers the suite for one store. */
export function testStore(
  symbol: string,
  withStore: StoreMaker,
  options: Partial<Deno.TestDefinition> = {},
): void {
  const test: StoreTest = (sentence, body) =>
    Deno.test({
      ...options,
      name: `${symbol} ${sentence}`,
      fn: (t) => withStore((store) => body(store, t)),
    });
  testOutbox(test);
  testJobs(test);

  test("keeps every member of a record", async (store) => {
    const never = new RecordCache([]).get("never ran", NOW_MS);
    const fractions = recordOf("fractions", {
      nextRunAtMs: NOW_MS + 0.625,
      overdueAtMs: NOW_MS + 1000.5,
      seenAtMs: NOW_MS + 0.1,
      last: resultOf({ durationMs: 0.1 + 0.2, startedAtMs: NOW_MS - 0.3 }),
    });
    const { condition } = recordOf("burning");
    const burning = recordOf("burning", {
      condition: {
        ...condition,
        burn: {
          recent: [{ atMs: NOW_MS - 60_000, downMs: 30_000.5 }],
          days: [{ atMs: NOW_MS - DAY_MS, downMs: 60_000 }],
          alert: { rate: 14.4, sinceMs: NOW_MS, isTold: false },
        },
      },
    });
    const records = [recordOf("web"), never, fractions, burning];
    await store.save(records.map((record) => ({ record, rollup: null, change: null, queued: [] })));
    assert.deepEqual(await recordsIn(store), records);
  });

  test("keeps the last of several records of a check, in the place of the first", async (store) => {
    await store.save([updateOf("a"), updateOf("b")]);
    const latest = recordOf("a", { missedRuns: 9, last: null });
    await store.save([
      updateOf("a", { record: recordOf("a", { missedRuns: 8 }) }),
      updateOf("c"),
      updateOf("a", { record: latest }),
    ]);
    assert.deepEqual(await recordsIn(store), [latest, recordOf("b"), recordOf("c")]);
  });

  test("tells every two names apart, and gives every text back unchanged", async (store) => {
    const texts = HOSTILE_TEXTS.filter(({ length }) => length <= 1024);
    const resultWith = (text: string) => resultOf({ output: text, detail: text, performanceData: text });
    const changeWith = (text: string) => changeOf(text, NOW_MS, { output: text, trace: text });
    for (const [index, text] of texts.entries()) {
      await store.save([
        updateOf(text, {
          record: recordOf(text, { last: resultWith(text) }),
          rollup: entryOf(NOW_MS, { durationMs: index }),
          change: changeWith(text),
        }),
      ]);
    }
    const records = await store.records();
    assert.deepEqual(
      records.map(({ name, last }) => [name, last]),
      texts.map((text) => [text, resultWith(text)]),
    );
    for (const [index, text] of texts.entries()) {
      assert.deepEqual(await store.changes(text, ALL), [changeWith(text)]);
      const rollups = await store.rollups(text, 0);
      assert.deepEqual(rollups.map((rollup) => [rollup.name, rollup.durationTotalMs]), [[text, index]]);
    }
  });

  test("tells the newest changes first", async (store, t) => {
    // The clock was set back once, and twice two changes came at one time.
    const times = [5000, 7000, 6000, 7000, 1000, 1000.5, 1000];
    const changes = times.map((atMs, index) => changeOf("web", atMs, { output: `change ${index}` }));
    await store.save([
      ...changes.map((change) => updateOf("web", { change })),
      updateOf("other", { change: changeOf("other", 6500) }),
    ]);
    const table: Readonly<Record<string, readonly [sinceMs: number, limit: number, outputs: number[]]>> = {
      "from a time on, that time included": [6000, 100, [3, 1, 2]],
      "so many": [0, 2, [3, 1]],
      "none for a negative limit": [0, -1, []],
      "since ever, however many": [-Infinity, Infinity, [3, 1, 2, 0, 5, 6, 4]],
      "nothing from the future": [8000, 100, []],
    };
    await testRows(t, table, async ([sinceMs, limit, outputs]) => {
      assert.deepEqual(
        await store.changes("web", { sinceMs, limit }),
        outputs.map((index) => changes[index]),
      );
    });
  });

  test("goes on with changes behind those that were read", async (store) => {
    const times = [1000, 3000, 3000, 3000, 2000];
    const changes = times.map((atMs, index) => changeOf("web", atMs, { output: `change ${index}` }));
    await store.save(changes.map((change) => updateOf("web", { change })));
    const outputs = async (atMs: number, skip: number, limit = 2): Promise<readonly string[]> =>
      (await store.changes("web", { sinceMs: 1000, limit, from: { atMs, skip } })).map(({ output }) =>
        output
      );
    assert.deepEqual(await outputs(3000, 0), ["change 3", "change 2"]);
    assert.deepEqual(await outputs(3000, 2), ["change 1", "change 4"]);
    assert.deepEqual(await outputs(2000, 0), ["change 4", "change 0"]);
    assert.deepEqual(await outputs(1000, 1), []);
    const all = await Array.fromAsync(allChanges(store, "web"));
    assert.deepEqual(all, await store.changes("web", ALL));
  });

  test("tells the newest changes of some checks", async (store) => {
    const times = { web: [1000, 4000, 6000], db: [2000, 5000], other: [3000, 7000] };
    const updates = Object.entries(times).flatMap(([name, ofCheck]) =>
      ofCheck.map((atMs) => updateOf(name, { change: changeOf(name, atMs, { trace: "trace" }) }))
    );
    await store.save(updates);
    const latest = async (names: readonly string[], limit: number) =>
      (await store.latestChanges(names, limit)).map(({ name, atMs, trace }) => `${name} ${atMs}${trace}`);
    assert.deepEqual(await latest(["web", "db", "nobody", "web"], 3), ["web 6000", "db 5000", "web 4000"]);
    assert.deepEqual(await latest(["db"], 50), ["db 5000", "db 2000"]);
    assert.deepEqual(await latest([], 50), []);
    assert.deepEqual(await latest(["web"], 0), []);
    const [change] = await store.latestChanges(["other"], 1);
    assert.deepEqual(change, { ...changeOf("other", 7000), trace: "" });
  });

  test("cuts the trace and the output of a change to 4,096 and 1,024 bytes, no text of a result", async (store) => {
    const long = "é".repeat(40_000);
    const record = recordOf("web", { last: resultOf({ output: long }) });
    await store.save([
      updateOf("web", { record, change: changeOf("web", 0, { trace: long, output: long }) }),
    ]);
    const cut = { trace: `${"é".repeat(2046)}…`, output: `${"é".repeat(510)}…` };
    assert.deepEqual(await store.changes("web", ALL), [changeOf("web", 0, cut)]);
    assert.equal((await store.records())[0]?.last?.output, long);
  });

  test("sums up the runs of an hour", async (store) => {
    const entries = [
      entryOf(NOW_MS, { durationMs: 10.25 }),
      entryOf(NOW_MS + 1000, { condition: "critical", durationMs: 30.5, lastedMs: 1000, failedStreak: 5 }),
      entryOf(NOW_MS + HOUR_MS - 1, {
        durationMs: 20,
        lastedMs: 2500.5,
        lasted: "critical",
        failedStreak: 2,
      }),
      entryOf(NOW_MS + HOUR_MS, { condition: "unknown", lasted: "unknown" }),
      entryOf(-1),
    ];
    await store.save(entries.slice(0, 2).map((rollup) => updateOf("web", { rollup })));
    await store.save(entries.slice(2).map((rollup) => updateOf("web", { rollup })));
    await store.save([updateOf("other", { rollup: entryOf(NOW_MS) })]);
    const one: Rollup = {
      name: "web",
      startMs: -HOUR_MS,
      spanMs: HOUR_MS,
      observed: countsOf("ok", 1),
      lastedMs: countsOf("ok", 0),
      durationTotalMs: 10,
      durationMaxMs: 10,
      failedStreakMax: 0,
      durations: histogramOf(10),
      metrics: null,
    };
    const expected: readonly Rollup[] = [
      one,
      {
        ...one,
        startMs: NOW_MS,
        observed: { ok: 2, unknown: 0, warning: 0, critical: 1 },
        lastedMs: { ok: 1000, unknown: 0, warning: 0, critical: 2500.5 },
        durationTotalMs: 60.75,
        durationMaxMs: 30.5,
        failedStreakMax: 5,
        durations: histogramSum([10.25, 30.5, 20]),
      },
      { ...one, startMs: NOW_MS + HOUR_MS, observed: countsOf("unknown", 1) },
    ];
    assert.deepEqual(await store.rollups("web", -Infinity), expected);
    assert.deepEqual(await store.rollups("web", NOW_MS + HOUR_MS - 1), expected.slice(1));
    assert.deepEqual(await store.rollups("web", NOW_MS + HOUR_MS), expected.slice(2));
  });

  test("keeps the last measured values of an hour, and none of days", async (store) => {
    const day = Math.floor((NOW_MS - 20 * DAY_MS) / DAY_MS) * DAY_MS;
    const valuesOf = (value: number) => ({ "load 1": [1, value, value, value, ...addValue([], value)] });
    await store.save([
      updateOf("web", { rollup: entryOf(NOW_MS, { metrics: valuesOf(1) }) }),
      updateOf("web", { rollup: entryOf(NOW_MS + 1, { metrics: valuesOf(2) }) }),
      updateOf("web", { rollup: entryOf(NOW_MS + 2) }),
    ]);
    await store.save([updateOf("web", { rollup: entryOf(NOW_MS + 3) })]);
    await store.save([updateOf("web", { rollup: entryOf(day, { metrics: valuesOf(3) }) })]);
    const read = async () => (await store.rollups("web", 0)).map(({ spanMs, metrics }) => [spanMs, metrics]);
    assert.deepEqual(await read(), [[HOUR_MS, valuesOf(3)], [HOUR_MS, valuesOf(2)]]);
    await pruneAll(store, NOW_MS);
    assert.deepEqual(await read(), [[DAY_MS, null], [HOUR_MS, valuesOf(2)]]);
    await store.save([
      updateOf("api", { rollup: entryOf(NOW_MS + HOUR_MS, { metrics: valuesOf(4) }) }),
      updateOf("plain", { rollup: entryOf(NOW_MS) }),
    ]);
    const hours = async (sinceMs: number, untilMs: number) =>
      (await store.metricHours(["web", "api", "plain", "web"], { sinceMs, untilMs }))
        .toSorted((one, other) => one.startMs - other.startMs);
    const web = { name: "web", startMs: NOW_MS, sums: valuesOf(2) };
    const api = { name: "api", startMs: NOW_MS + HOUR_MS, sums: valuesOf(4) };
    assert.deepEqual(await hours(0, Infinity), [web, api]);
    assert.deepEqual(await hours(NOW_MS + HOUR_MS - 1, NOW_MS + HOUR_MS), [web, api]);
    assert.deepEqual(await hours(NOW_MS + HOUR_MS, NOW_MS + HOUR_MS), [api]);
    assert.deepEqual(await hours(NOW_MS, NOW_MS + HOUR_MS - 1), [web]);
  });

  test("keeps the last 50 runs of a check, the last one first", async (store) => {
    const entries = [...Array(60).keys()].map((index) =>
      entryOf(NOW_MS + index * 60_000 + 0.7, {
        condition: CONDITIONS[index % 4] ?? "ok",
        durationMs: index === 30 ? 86_400_123 : index + 0.125,
      })
    );
    const expected = entries.map(({ condition, durationMs }, index) => ({
      endedAtMs: NOW_MS + index * 60_000,
      condition,
      durationMs: index === 30 ? 86_400_120 : durationMs,
    })).toReversed();
    const runs = async (name = "web"): Promise<unknown> => (await store.recentRuns([name]))[0]?.runs;
    assert.deepEqual(await store.recentRuns(["web"]), []);
    for (const [index, rollup] of entries.entries()) {
      await store.save([updateOf("web", { rollup }), updateOf("planned")]);
      const seen = expected.slice(expected.length - index - 1);
      assert.deepEqual(await runs(), seen.slice(0, 50), `after ${index + 1} runs`);
    }
    await store.save(entries.map((rollup) => updateOf("together", { rollup })));
    assert.deepEqual(await runs("together"), expected.slice(0, 50), "stored together");
    const waiting = entryOf(NOW_MS, { condition: null, durationMs: 0, lastedMs: 60_000 });
    await store.save([updateOf("web", { rollup: waiting })]);
    assert.deepEqual(await runs(), expected.slice(0, 50), "without a run they stay");
    await pruneAll(store, NOW_MS);
    assert.deepEqual(await runs(), expected.slice(0, 50), "pruning leaves them");

    await store.save([updateOf("api", { rollup: entryOf(-9) })]);
    const many = await store.recentRuns(["web", "nobody", "planned", "api", "web"]);
    assert.equal(many.length, 2);
    assert.deepEqual(many.find(({ name }) => name === "api")?.runs, [
      { endedAtMs: -9, condition: "ok", durationMs: 10 },
    ]);
    const left = recordOf("web", { seenAtMs: NOW_MS - 31 * DAY_MS });
    await store.save([updateOf("web", { record: left })]);
    await pruneAll(store, NOW_MS);
    assert.deepEqual(await store.recentRuns(["web"]), [], "they go with their check");
  });

  test("returns the journal of some checks as it was recorded, in a span of time", async (store) => {
    const names = ["web", ...HOSTILE_TEXTS];
    const runs = everyHour(30);
    const { journal, blocks } = journalOf(runs);
    assert.ok(blocks.length > 1, "the record alone has not all of it");
    for (const name of names) {
      const record = recordOf(name, { journal });
      await store.save(blocks.map((block) => updateOf(name, { record, journal: block })));
    }
    await store.save([
      updateOf("one", { record: recordOf("one", { journal: journalOf(runs.slice(0, 1)).journal }) }),
    ]);
    await store.save([updateOf("planned", { record: recordOf("planned", { journal: null }) })]);
    const expected = runs.map(({ endedAtMs, condition, output = "" }) => [endedAtMs, condition, output]);
    const read = async (names: readonly string[], sinceMs: number, untilMs: number) =>
      (await store.journal(names, { sinceMs, untilMs })).map(({ name, rows }) => [
        name,
        rows.map(({ firstMs, condition, output }) => [firstMs, condition, output]),
      ]);
    assert.deepEqual(await read(["web"], -Infinity, Infinity), [["web", expected]]);
    const all = await read(
      [...names, "web", "nobody", "planned", "one"],
      NOW_MS + HOUR_MS,
      NOW_MS + 3 * HOUR_MS,
    );
    assert.equal(all.length, names.length, "without those that have none then");
    for (const name of names) {
      assert.deepEqual(all.find(([found]) => found === name)?.[1], expected.slice(1, 4));
    }
    assert.deepEqual(await read(["one"], 0, NOW_MS), [["one", expected.slice(0, 1)]]);
  });

  test("keeps both of two blocks of a journal that end at one time", async (store) => {
    const blocks = [0, 1].map((index) => journalOf(everyHour(30 + index)).blocks[0] ?? assert.fail());
    const at = blocks.map((block) => ({ ...block, lastMs: NOW_MS }));
    const record = recordOf("web", { journal: journalOf(everyHour(1)).journal });
    await store.save(at.map((journal) => updateOf("web", { record, journal })));
    await store.save([updateOf("web", { record, journal: at[0] ?? assert.fail() })]);
    const count = (journals: readonly CheckJournal[]): number | undefined => journals[0]?.rows.length;
    const once = count([{ name: "", rows: journalRows([at[0]?.rows ?? assert.fail()], null, EVER) }]) ?? 0;
    assert.equal(count(await store.journal(["web"], EVER)), 3 * once + 1);
  });

  test("forgets results 90 days after the end of their block, or as long as it is told", async (store) => {
    const { blocks: [block = assert.fail()] } = journalOf(everyHour(30));
    const record = recordOf("web", { journal: null, seenAtMs: NOW_MS + 500 * DAY_MS });
    const isKeptAt = async (ageMs: number, journalMs?: number): Promise<boolean> => {
      await store.prune(block.lastMs + ageMs, journalMs);
      await store.prune(block.lastMs + ageMs + DAY_MS, journalMs);
      await store.save([
        updateOf("web", { record: { ...record, journal: journalOf(everyHour(1)).journal } }),
      ]);
      const rows = (await store.journal(["web"], { sinceMs: NOW_MS - 1, untilMs: Infinity }))[0]?.rows ?? [];
      return rows.length > 1;
    };
    await store.save([updateOf("web", { record, journal: block })]);
    assert.equal(await isKeptAt(90 * DAY_MS), true);
    assert.equal(await isKeptAt(90 * DAY_MS + 1, 200 * DAY_MS), true);
    assert.equal(await isKeptAt(200 * DAY_MS, 200 * DAY_MS), true);
    assert.equal(await isKeptAt(200 * DAY_MS + 1, 200 * DAY_MS), false);
  });

  test("keeps the newest 4,000 blocks of a journal, and none of a forgotten check", async (store) => {
    const { blocks: [block = assert.fail()], journal } = journalOf(everyHour(30));
    const week = Array.from({ length: 9 }, (_, day) => ({ endedAtMs: NOW_MS + day * DAY_MS }));
    const { blocks: [oldest = assert.fail()] } = journalOf(week);
    const record = recordOf("web", { journal });
    const blocks = [...Array(4003).keys()].map((index) => ({
      ...index < 3 ? oldest : block,
      lastMs: NOW_MS + index,
    }));
    await store.save(blocks.map((journal) => updateOf("web", { record, journal })));
    const count = async (): Promise<number> => (await store.journal(["web"], EVER))[0]?.rows.length ?? 0;
    const tail = journalRows([], journal, EVER).length;
    const each = journalRows([block.rows], null, EVER).length;
    assert.equal(await count(), 3 * journalRows([oldest.rows], null, EVER).length + 4000 * each + tail);
    await pruneAll(store, NOW_MS);
    assert.equal(await count(), 4000 * each + tail);
    await store.save([updateOf("web", { record: recordOf("web", { seenAtMs: NOW_MS - 31 * DAY_MS }) })]);
    assert.deepEqual(await pruneAll(store, NOW_MS), ["web"]);
    await store.save([updateOf("web", { record: recordOf("web", { journal: null }) })]);
    assert.deepEqual(await store.journal(["web"], EVER), []);
  });

  test("keeps who runs the checks, the last that was said alone", async (store) => {
    assert.equal(await store.monitorRun(), null);
    const service = monitorRunOf({ checks: HOSTILE_TEXTS.map((name) => ({ name })) });
    await store.keepMonitorRun(service);
    assert.deepEqual(await store.monitorRun(), service);
    const none = { processId: null, ended: null, configPath: null, checks: [] };
    const cron = monitorRunOf({ mode: "cron", ...none });
    await store.keepMonitorRun(cron);
    assert.deepEqual(await store.monitorRun(), cron);
    await pruneAll(store, NOW_MS + 500 * DAY_MS);
    assert.deepEqual(await store.monitorRun(), cron);
  });

  test("keeps only what is declared", async (store) => {
    const last = { ...resultOf(), check: { parameters: { password: "secret" } } };
    const record = { ...recordOf("web", { last }), secret: "secret" };
    const change = { ...changeOf("web", NOW_MS), secret: "secret" };
    await store.save([updateOf("web", { record, change })]);
    assert.deepEqual(await recordsIn(store), [recordOf("web")]);
    assert.deepEqual(await store.changes("web", ALL), [changeOf("web", NOW_MS)]);
  });

  test("forgets a check that last ran more than 30 days ago, with its history", async (store) => {
    const ages = { "30 days": 30 * DAY_MS, "more": 30 * DAY_MS + 1, "in the future": -DAY_MS };
    await store.save(
      Object.entries(ages).map(([name, ageMs]) => ({
        record: recordOf(name, { seenAtMs: NOW_MS - ageMs }),
        change: changeOf(name, NOW_MS),
        rollup: entryOf(NOW_MS),
        queued: [],
      })),
    );
    await pruneAll(store, NOW_MS);
    assert.deepEqual((await store.records()).map(({ name }) => name), ["30 days", "in the future"]);
    for (const name of Object.keys(ages)) {
      const count = name === "more" ? 0 : 1;
      assert.equal((await store.changes(name, ALL)).length, count);
      assert.equal((await store.rollups(name, 0)).length, count);
    }
    await store.save([updateOf("more")]);
    assert.deepEqual((await store.records()).map(({ name }) => name), ["30 days", "in the future", "more"]);
    assert.deepEqual(await store.changes("more", ALL), [], "it begins again");
  });

  test("keeps the newest 1,000 changes of a check", async (store) => {
    // The oldest come last; of those at one time the earliest kept go.
    const times = [...Array(1004).keys()].map((index) => NOW_MS - Math.floor((index + 1) / 2));
    const changes = times.map((atMs, index) => changeOf("web", atMs, { output: `change ${index}` }));
    await store.save([
      ...changes.map((change) => updateOf("web", { change })),
      updateOf("other", { change: changeOf("other", NOW_MS - DAY_MS) }),
    ]);
    const before = await store.changes("web", ALL);
    assert.equal(before.length, 1004);
    await pruneAll(store, NOW_MS);
    assert.deepEqual(await store.changes("web", ALL), before.slice(0, 1000));
    assert.equal((await store.changes("other", ALL)).length, 1);
  });

  test("makes daily roll-ups of hourly ones 8 days after their day has ended, with the same sums", async (store) => {
    const day = Math.floor((NOW_MS - 8 * DAY_MS) / DAY_MS) * DAY_MS;
    const names = ["web", ...HOSTILE_TEXTS];
    await store.save(names.flatMap((name, index) =>
      [
        entryOf(day - DAY_MS, { durationMs: 1, failedStreak: 2 }),
        entryOf(day - HOUR_MS - 1, {
          condition: "critical",
          lasted: "warning",
          lastedMs: 60_000,
          failedStreak: 3,
        }),
        entryOf(day - 1, { durationMs: 20 + index, lastedMs: 5 }),
        entryOf(day),
      ].map((rollup) => updateOf(name, { rollup }))
    ));
    const spans = async (): Promise<unknown> =>
      (await store.rollups("web", 0)).map(({ startMs, spanMs }) => [startMs, spanMs]);
    const untilMs = Infinity;
    const read = async () => [
      await store.rollupSums(names, { sinceMs: 0, untilMs, each: "day" }),
      await store.rollupSums(["web", "nobody", "web"], { sinceMs: day - DAY_MS, untilMs, each: "check" }),
    ];
    const hourly = await read();
    await pruneAll(store, NOW_MS);
    assert.deepEqual(await spans(), [[day - DAY_MS, DAY_MS], [day, HOUR_MS]]);
    assert.deepEqual(await read(), hourly);
    const sum: RollupSum = {
      name: "web",
      startMs: day - DAY_MS,
      runs: 3,
      failedRuns: 1,
      failedStreakMax: 3,
      lastedMs: { ok: 5, unknown: 0, warning: 60_000, critical: 0 },
      durationTotalMs: 31,
      durationMaxMs: 20,
      durations: histogramSum([1, 10, 20]),
    };
    const none = {
      ...{ failedRuns: 0, failedStreakMax: 0, lastedMs: countsOf("ok", 0) },
      ...{ durationTotalMs: 10, durationMaxMs: 10, durations: histogramOf(10) },
    };
    const [days = [], all] = hourly;
    assert.deepEqual(days.filter(({ name }) => name === "web"), [sum, {
      ...sum,
      ...none,
      startMs: day,
      runs: 1,
    }]);
    assert.equal(days.length, 2 * names.length);
    assert.deepEqual(all, [{
      ...sum,
      ...{ runs: 4, durationTotalMs: 41, durations: histogramSum([1, 10, 20, 10]) },
    }]);
    assert.equal((await store.rollups("web", 0))[0]?.durationMaxMs, 20);

    // The clock was set back: a late hour is returned after its day, and merged into it the next time.
    await store.save([updateOf("web", { rollup: entryOf(day - DAY_MS + 100, { lastedMs: 100 }) })]);
    assert.deepEqual(await spans(), [[day - DAY_MS, DAY_MS], [day - DAY_MS, HOUR_MS], [day, HOUR_MS]]);
    await pruneAll(store, NOW_MS);
    assert.deepEqual(await spans(), [[day - DAY_MS, DAY_MS], [day, HOUR_MS]]);
    const [{ observed, lastedMs } = assert.fail()] = await store.rollups("web", 0);
    assert.deepEqual([observed.ok, lastedMs.ok], [3, 105]);
  });

  test("returns the roll-ups of hours, not those that became days nor those from the future", async (store) => {
    const day = Math.floor((NOW_MS - 20 * DAY_MS) / DAY_MS) * DAY_MS;
    await store.save([
      updateOf("web", { rollup: entryOf(day) }),
      updateOf("web", { rollup: entryOf(NOW_MS - HOUR_MS) }),
      updateOf("web", { rollup: entryOf(NOW_MS, { condition: "critical", failedStreak: 1 }) }),
      updateOf("web", { rollup: entryOf(NOW_MS + HOUR_MS, { condition: "critical" }) }),
    ]);
    await pruneAll(store, NOW_MS);
    const untilMs = NOW_MS + HOUR_MS - 1;
    const sums = await store.rollupSums(["web"], { sinceMs: 0, untilMs, each: "hour" });
    assert.deepEqual(sums.map(({ startMs, runs, failedRuns }) => [startMs, runs, failedRuns]), [
      [NOW_MS - HOUR_MS, 1, 0],
      [NOW_MS, 1, 1],
    ]);
    for (const each of ["day", "check"] as const) {
      const [{ runs } = { runs: 0 }] = await store.rollupSums(["web"], {
        sinceMs: NOW_MS - HOUR_MS,
        untilMs,
        each,
      });
      assert.equal(runs, 2);
    }
  });

  test("adds the old time of a run that is stored later to days", async (store) => {
    const atMs = NOW_MS - 20 * DAY_MS;
    const rowsAfter = async (name: string, storedAtMs?: number): Promise<readonly number[]> => {
      const rollup = entryOf(atMs, { lastedMs: 3 * DAY_MS, ...storedAtMs !== undefined && { storedAtMs } });
      await store.save([updateOf(name, { rollup })]);
      const spans = (await store.rollups(name, 0)).map(({ spanMs }) => spanMs);
      return [HOUR_MS, DAY_MS].map((spanMs) => spans.filter((span) => span === spanMs).length);
    };
    assert.deepEqual(await rowsAfter("web"), [73, 0]);
    assert.deepEqual(await rowsAfter("later", NOW_MS), [1, 4]);
    await pruneAll(store, NOW_MS);
    const [web, later] = await Promise.all(["web", "later"].map((name) => store.rollups(name, 0)));
    assert.deepEqual(later, web?.map((rollup) => ({ ...rollup, name: "later" })));
  });

  test("forgets roll-ups 100 days after they have ended", async (store) => {
    const day = Math.floor((NOW_MS - 50 * DAY_MS) / DAY_MS) * DAY_MS;
    await store.save([updateOf("web", { rollup: entryOf(day) })]);
    await pruneAll(store, NOW_MS);
    const isKeptAt = async (nowMs: number): Promise<boolean> => {
      await store.save([updateOf("web", { record: recordOf("web", { seenAtMs: nowMs }) })]);
      await pruneAll(store, nowMs);
      await pruneAll(store, nowMs + DAY_MS);
      return (await store.rollups("web", 0)).length > 0;
    };
    assert.equal(await isKeptAt(day + 101 * DAY_MS), true);
    assert.equal(await isKeptAt(day + 101 * DAY_MS + 1), false);
  });

  test("deletes nothing because of one reading of the clock", async (store) => {
    const aheadMs = NOW_MS + 450 * DAY_MS;
    const left = recordOf("left", { seenAtMs: NOW_MS - 29 * DAY_MS });
    const old = {
      change: changeOf("web", NOW_MS - DAY_MS),
      rollup: entryOf(NOW_MS - DAY_MS),
      journal: journalOf(everyHour(30)).blocks[0] ?? assert.fail(),
    };
    await store.save([updateOf("web", old), updateOf("left", { record: left })]);
    await store.addSilences([silenceOf("a", { untilMs: NOW_MS })]);
    const read = async (): Promise<unknown> => [
      await store.records(),
      await store.changes("web", ALL),
      await store.rollups("web", 0),
      await store.journal(["web"], EVER),
      await store.silences(0),
    ];
    const before = await read();
    await pruneAll(store, NOW_MS);
    // Twice the clock is ahead, each time for some hours, and right in between.
    for (const nowMs of [aheadMs, aheadMs + DAY_MS - 1, NOW_MS + HOUR_MS, aheadMs, aheadMs + HOUR_MS]) {
      assert.deepEqual(await pruneAll(store, nowMs), []);
      assert.deepEqual(await read(), before, new Date(nowMs).toISOString());
    }
    // It stays there for a day: it was right after all.
    await store.save([updateOf("web", { record: recordOf("web", { seenAtMs: aheadMs }) })]);
    assert.deepEqual(await pruneAll(store, aheadMs + DAY_MS), ["left"]);
    assert.deepEqual(await store.changes("web", ALL), []);
    assert.deepEqual(await store.rollups("web", 0), []);
    assert.deepEqual((await store.journal(["web"], EVER))[0]?.rows.length, 3, "the record has the others");
    assert.deepEqual(await store.silences(0), []);
  });

  test("finishes pruning however much there is", async (store) => {
    const names = [...Array(450).keys()].map((index) => `check ${index}`);
    const isOld = (name: string): boolean => Number(name.slice(6)) % 3 === 0;
    await store.save(names.flatMap((name) => [
      updateOf(name, { rollup: entryOf(NOW_MS - 9 * DAY_MS) }),
      updateOf(name, {
        record: recordOf(name, { seenAtMs: isOld(name) ? 0 : NOW_MS }),
        rollup: entryOf(NOW_MS - 9 * DAY_MS + HOUR_MS),
        change: changeOf(name, 0),
      }),
    ]));
    await pruneAll(store, NOW_MS);
    assert.deepEqual((await store.records()).map(({ name }) => name), names.filter((name) => !isOld(name)));
    for (const name of names.filter((_name, index) => index % 25 === 0)) {
      const spans = (await store.rollups(name, 0)).map(({ spanMs }) => spanMs);
      assert.deepEqual(spans, isOld(name) ? [] : [DAY_MS]);
      assert.deepEqual(await store.changes(name, ALL), []);
    }
  });

  test("refuses everything after it was closed", async (store) => {
    await store.save([updateOf("web")]);
    await store.close();
    await store.close();
    const attempts: readonly (() => Promise<unknown>)[] = [
      () => store.records(),
      () => store.changeOutbox(outboxChangeOf({})),
      () => store.prune(NOW_MS),
    ];
    for (const attempt of attempts) {
      await assert.rejects(attempt, (error) => error instanceof StoreError && error.failure === "other");
    }
  });
}

/** Prunes until there is nothing left to do; the names of the checks that were forgotten. */
export async function pruneAll(store: Store, nowMs: number): Promise<readonly string[]> {
  const all: string[] = [];
  for (let calls = 0; calls < 1000; calls++) {
    const { finished, forgotten } = await store.prune(nowMs);
    all.push(...forgotten);
    if (finished) return all;
  }
  return assert.fail("pruning does not end");
}

const ALL = { sinceMs: -Infinity, limit: Infinity };
const EVER = { sinceMs: -Infinity, untilMs: Infinity };

/** Runs of a journal, each a row of its own: an hour apart, ok and failing in turn. */
function everyHour(count: number): readonly (Pick<JournalRun, "endedAtMs" | "condition" | "output">)[] {
  return Array.from({ length: count }, (_, index) => ({
    endedAtMs: NOW_MS + index * HOUR_MS,
    condition: index % 2 === 0 ? "critical" : "ok",
    output: index % 2 === 0 ? HOSTILE_LINES[index % HOSTILE_LINES.length] ?? "" : "",
  }));
}

const HOSTILE_LINES = HOSTILE_TEXTS.filter((text) => text.length <= 80).map((text) => text.toWellFormed());

function histogramSum(durationsMs: readonly number[]): readonly number[] {
  return durationsMs.map(histogramOf).reduce(addHistograms, NO_RUNS);
}

// The behavior of every store for jobs.

/** Registers this part of the suite. */
export function testJobs(test: StoreTest): void {
  test("knows since when a job was asked for, or ran, and not since later if the clock is set back", async (store) => {
    await store.job("backup", NOW_MS + 300 * DAY_MS);
    assert.deepEqual(await store.job("backup", NOW_MS), { sinceMs: NOW_MS, last: null, inProgress: [] });
    assert.equal((await store.job("backup", NOW_MS + DAY_MS)).sinceMs, NOW_MS);
    await store.keepJobRun("other", beatOf("a"), NOW_MS + 5);
    assert.equal((await store.job("other", NOW_MS + DAY_MS)).sinceMs, NOW_MS + 5);
    assert.deepEqual(await store.records(), [], "a job is no check");
  });

  test("keeps every member of a run, and gives every text back unchanged", async (store) => {
    const hows = ["exited", "signalled", "not_started", "noted"] as const;
    const ends: readonly Partial<JobEnd>[] = [
      ...hows.map((how) => ({ how })),
      { durationMs: null, exitCode: 0, reason: "", output: "" },
      { atMs: NOW_MS + 0.1, durationMs: 0.1 + 0.2 },
      ...HOSTILE_TEXTS.map((text) => ({ reason: text, output: text })),
    ];
    for (const [index, end] of ends.entries()) {
      const run = beatOf(`run ${index}`, endOf(end), { startedAtMs: NOW_MS - index - 0.5 });
      await keep(store, [run]);
      assert.deepEqual((await factsOf(store)).last, run);
    }
  });

  test("tells every two jobs apart, and every two runs", async (store) => {
    for (const [index, name] of HOSTILE_TEXTS.entries()) {
      await store.keepJobRun(name, beatOf(`${index} ${name}`), NOW_MS + index);
    }
    for (const [index, name] of HOSTILE_TEXTS.entries()) {
      const { sinceMs, inProgress } = await store.job(name, NOW_MS + DAY_MS);
      assert.deepEqual([sinceMs, inProgress], [NOW_MS + index, [beatOf(`${index} ${name}`)]]);
    }
  });

  test("knows running checks until they end", async (store) => {
    await keep(store, [beatOf("a"), beatOf("b")]);
    assert.deepEqual(await idsOf(store), { last: null, inProgress: ["a", "b"] });
    await keep(store, [beatOf("b", endOf())]);
    assert.deepEqual(await idsOf(store), { last: "b", inProgress: [] }, "a run that ended takes a's place");
    await keep(store, [beatOf("c")]);
    assert.deepEqual(await idsOf(store), { last: "b", inProgress: ["c"] });
    await keep(store, [beatOf("a", endOf({ exitCode: 3 }))]);
    assert.deepEqual(await idsOf(store), { last: "a", inProgress: ["c"] }, "a was alive after all");
    await keep(store, [beatOf("a"), beatOf("c", endOf())]);
    assert.deepEqual(
      await idsOf(store),
      { last: "c", inProgress: [] },
      "what has ended does not begin again",
    );
  });

  test("goes by what was noted last, whatever the clock said", async (store) => {
    await keep(store, [
      beatOf("a", endOf({ atMs: NOW_MS + 300 * DAY_MS }), { startedAtMs: NOW_MS + 300 * DAY_MS }),
      beatOf("b", endOf({ atMs: NOW_MS })),
      beatOf("c", null, { startedAtMs: 0 }),
    ]);
    assert.deepEqual(await idsOf(store), { last: "b", inProgress: ["c"] });
  });

  test("keeps the newest 20 runs of each job, and the one that ended last", async (store) => {
    await store.keepJobRun("other", beatOf("other"), NOW_MS);
    await keep(store, [beatOf("ended", endOf())]);
    const ids = [...Array(50).keys()].map((index) => `run ${index}`);
    for (const id of ids) await keep(store, [beatOf(id)]);
    assert.deepEqual(await idsOf(store), { last: "ended", inProgress: ids.slice(-20) });
    assert.equal((await store.job("other", NOW_MS)).inProgress.length, 1);
    await keep(store, [beatOf("run 3", endOf())]);
    assert.equal((await idsOf(store)).last, "run 3", "one that is forgotten may end");
  });

  test("forgets jobs without a check that nothing was heard of for 30 days", async (store) => {
    await store.save([updateOf("checked")]);
    for (const name of ["checked", "alone", "alive"]) {
      await store.keepJobRun(name, beatOf(name, endOf()), NOW_MS);
    }
    await store.job("asked", NOW_MS);
    const sinces = async (nowMs: number): Promise<readonly number[]> => {
      const names = ["checked", "alone", "alive", "asked"];
      return await Promise.all(names.map(async (name) => (await store.job(name, nowMs)).sinceMs));
    };
    await pruneAll(store, NOW_MS + 30 * DAY_MS - 60_000);
    assert.deepEqual(await sinces(NOW_MS + 29 * DAY_MS), [NOW_MS, NOW_MS, NOW_MS, NOW_MS]);
    await store.keepJobRun("alive", beatOf("again", null, { startedAtMs: NOW_MS + 2 * DAY_MS }), NOW_MS);
    await store.save([updateOf("checked")]);
    const laterMs = NOW_MS + 30 * DAY_MS + 60_000;
    for (const days of [0, 1, 2]) await pruneAll(store, laterMs + days * DAY_MS);
    // Its check was forgotten in the same moment.
    assert.deepEqual(await sinces(laterMs), [laterMs, laterMs, NOW_MS, laterMs]);
  });

  test("keeps a job while its check is kept, however seldom it runs", async (store) => {
    await store.keepJobRun("yearly", beatOf("a", endOf()), NOW_MS);
    const laterMs = NOW_MS + 360 * DAY_MS;
    await store.save([updateOf("yearly", { record: recordOf("yearly", { seenAtMs: laterMs }) })]);
    await pruneAll(store, laterMs);
    assert.equal((await store.job("yearly", laterMs)).last?.id, "a");
  });
}

async function keep(store: Store, runs: readonly JobRun[]): Promise<void> {
  for (const run of runs) await store.keepJobRun("backup", run, NOW_MS);
}

function factsOf(store: Store): ReturnType<Store["job"]> {
  return store.job("backup", NOW_MS);
}

async function idsOf(store: Store) {
  const { last, inProgress } = await factsOf(store);
  return { last: last?.id ?? null, inProgress: inProgress.map(({ id }) => id) };
}
