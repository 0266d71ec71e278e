import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { CONDITIONS } from "../../src/domain/condition.ts";
import type { CheckUpdate, Rollup, Store } from "../../src/domain/store.ts";
import { Connection } from "../../src/storage/connection.ts";
import { createDatabaseStore } from "../../src/storage/database_store.ts";
import { createMemoryStore } from "../../src/storage/memory_store.ts";
import { migrate } from "../../src/storage/migrations.ts";
import { pruneAll } from "./conformance.ts";
import { DAY_MS, HOUR_MS, NOW_MS, recordOf } from "./records.ts";

Deno.test("createDatabaseStore() answers as the store in memory does", async () => {
  const commands = fc.array(steps(), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(commands, (commands) =>
      withDatabaseStore(async (store) => {
        const model = createMemoryStore();
        for (const command of commands) {
          await run(store, command);
          await run(model, command);
          assert.deepEqual(await everythingIn(store), await everythingIn(model));
        }
      })),
    { numRuns: 300 },
  );
});

Deno.test("prune() loses no observation and no time while it makes days of hours", async () => {
  const entries = fc.array(updates(), { minLength: 1, maxLength: 60 });
  const days = fc.array(fc.integer({ min: 0, max: 89 }), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(entries, days, (batch, days) =>
      withDatabaseStore(async (store) => {
        await store.save(batch);
        const before = await sumsIn(store);
        for (const day of days.toSorted((one, other) => one - other)) {
          // All was at most 10 days ago, so until 89 days from now nothing is old enough to be forgotten.
          const seen = NAMES.map((name) => recordOf(name, { seenAtMs: NOW_MS + day * DAY_MS }));
          await store.save(seen.map((record) => ({ record, rollup: null, change: null })));
          await pruneAll(store, NOW_MS + day * DAY_MS);
          assert.deepEqual(await sumsIn(store), before);
        }
      })),
    { numRuns: 200 },
  );
});

const NAMES = ["a", "b\0", "\ud800"];
const DAYS_BACK_MAX = 10;

type Step =
  | { readonly kind: "save"; readonly updates: readonly CheckUpdate[] }
  | { readonly kind: "prune"; readonly nowMs: number };

/** A database in memory has the same tables; what a disk adds is tested elsewhere. */
async function withDatabaseStore(use: (store: Store) => Promise<void>): Promise<void> {
  const connection = new Connection(new DatabaseSync(":memory:"));
  migrate(connection);
  const store = createDatabaseStore(connection, ":memory:");
  await use(store);
  await store.close();
}

async function run(store: Store, step: Step): Promise<void> {
  if (step.kind === "save") await store.save(step.updates);
  else await pruneAll(store, step.nowMs);
}

async function everythingIn(store: Store): Promise<unknown> {
  const perName = NAMES.map(async (name) => [
    await store.changes(name, { sinceMs: -Infinity, limit: 5 }),
    await store.changes(name, { sinceMs: NOW_MS - 2 * DAY_MS, limit: Infinity }),
    await store.rollups(name, -Infinity),
    await store.rollups(name, NOW_MS - 9 * DAY_MS),
  ]);
  return [await store.records(), ...await Promise.all(perName)];
}

/** What no merging may change. */
async function sumsIn(store: Store): Promise<unknown> {
  const sums = (rollups: readonly Rollup[]): unknown => [
    CONDITIONS.map((condition) => sum(rollups.map(({ observed }) => observed[condition]))),
    CONDITIONS.map((condition) => sum(rollups.map(({ lastedMs }) => lastedMs[condition]))),
    sum(rollups.map(({ durationTotalMs }) => durationTotalMs)),
    Math.max(...rollups.map(({ durationMaxMs }) => durationMaxMs)),
  ];
  return await Promise.all(NAMES.map(async (name) => sums(await store.rollups(name, -Infinity))));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function steps(): fc.Arbitrary<Step> {
  return fc.oneof(
    {
      weight: 3,
      arbitrary: fc.array(updates(), { maxLength: 20 }).map((batch): Step => ({
        kind: "save",
        updates: batch,
      })),
    },
    {
      weight: 1,
      arbitrary: fc.oneof(times(), fc.integer({ min: 0, max: 500 }).map((day) => NOW_MS + day * DAY_MS))
        .map((nowMs): Step => ({ kind: "prune", nowMs })),
    },
  );
}

function updates(): fc.Arbitrary<CheckUpdate> {
  const condition = fc.constantFrom(...CONDITIONS);
  // Quarters of a millisecond add up without rounding, in whatever order.
  const durationMs = fc.integer({ min: 0, max: 40_000 }).map((quarters) => quarters / 4);
  const rollup = fc.record({ atMs: times(), condition, durationMs, lastedMs: durationMs, lasted: condition });
  const change = fc.record({
    atMs: times(),
    from: condition,
    to: condition,
    output: fc.string({ unit: "binary" }),
  });
  return fc.record({
    name: fc.constantFrom(...NAMES),
    seenAtMs: times(),
    missedRuns: fc.nat(),
    rollup: fc.option(rollup),
    change: fc.option(change),
  }).map(({ name, seenAtMs, missedRuns, rollup, change }) => ({
    record: recordOf(name, { seenAtMs, missedRuns }),
    rollup,
    change: change === null ? null : { name, ...change },
  }));
}

/** The last days, with many that are equal, on the hour or on the day. */
function times(): fc.Arbitrary<number> {
  return fc.oneof(
    fc.integer({ min: NOW_MS - DAYS_BACK_MAX * DAY_MS, max: NOW_MS }),
    fc.integer({ min: 0, max: 24 * DAYS_BACK_MAX }).map((hours) => NOW_MS - hours * HOUR_MS),
    fc.integer({ min: 0, max: DAYS_BACK_MAX - 1 }).map((days) => NOW_MS - 10 * HOUR_MS - days * DAY_MS),
  );
}
