import assert from "node:assert/strict";
import { campaign } from "../../../testing/seed.ts";
import fc, { anyCharacter } from "../../support/property.ts";
import { CONDITIONS } from "../../../src/domain/condition.ts";
import type { CheckUpdate, Rollup, Store } from "../../../src/domain/store.ts";
import { openInMemoryStore } from "../../../src/state/sqlite/in_memory_store.ts";
import { shortOrFull } from "../../../testing/full_form.ts";
import { pruneAll } from "../conformance.ts";
import { DAY_MS, HOUR_MS } from "../../../src/shared/time_units.ts";
import { NOW_MS, recordOf } from "../records.ts";

Deno.test("prune() loses no result and no time when it aggregates hours into days", async () => {
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
          await store.save(seen.map((record) => ({ record, rollup: null, change: null, queued: [] })));
          await pruneAll(store, NOW_MS + day * DAY_MS);
          assert.deepEqual(await sumsIn(store), before);
        }
      })),
    { numRuns: shortOrFull(campaign(200), 2000) },
  );
});

const NAMES = ["a", "b\0", "\ud800"];
const DAYS_BACK_MAX = 10;

/** A database in memory has the same tables; the disk is tested elsewhere. */
async function withDatabaseStore(use: (store: Store) => Promise<void>): Promise<void> {
  const store = await openInMemoryStore();
  await use(store);
  await store.close();
}

/** Returns the sums that merging must not change. */
async function sumsIn(store: Store): Promise<unknown> {
  const sums = (rollups: readonly Rollup[]): unknown => [
    CONDITIONS.map((condition) => sum(rollups.map(({ observed }) => observed[condition]))),
    CONDITIONS.map((condition) => sum(rollups.map(({ lastedMs }) => lastedMs[condition]))),
    sum(rollups.map(({ durationTotalMs }) => durationTotalMs)),
    Math.max(...rollups.map(({ durationMaxMs }) => durationMaxMs)),
    Math.max(...rollups.map(({ failedStreakMax }) => failedStreakMax)),
  ];
  return await Promise.all(NAMES.map(async (name) => sums(await store.rollups(name, -Infinity))));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function updates(): fc.Arbitrary<CheckUpdate> {
  const condition = fc.constantFrom(...CONDITIONS);
  // Quarters of a millisecond add up without rounding, in whatever order.
  const durationMs = fc.integer({ min: 0, max: 40_000 }).map((quarters) => quarters / 4);
  const failedStreak = fc.nat({ max: 9 });
  const rollup = fc.record({
    atMs: times(),
    condition,
    durationMs,
    lastedMs: durationMs,
    lasted: condition,
    failedStreak,
  });
  const change = fc.record({
    atMs: times(),
    from: condition,
    to: condition,
    output: fc.string({ unit: anyCharacter }),
    trace: fc.string({ unit: anyCharacter }),
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
    queued: [],
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
