import assert from "node:assert/strict";
import fc from "../../support/property.ts";
import { CONDITIONS } from "../../../src/domain/condition.ts";
import type { JobRun } from "../../../src/domain/job_runs.ts";
import type { OutboxChange, QueuedNotification, Silence } from "../../../src/domain/outbox.ts";
import type { CheckUpdate, Rollup, Store } from "../../../src/domain/store.ts";
import { openInMemoryStore } from "../../../src/state/sqlite/in_memory_store.ts";
import { createMemoryStore } from "../../support/memory_store.ts";
import { shortOrFull } from "../../../testing/full_form.ts";
import { pruneAll } from "../conformance.ts";
import { DAY_MS, HOUR_MS } from "../../../src/shared/time_units.ts";
import { endOf, notificationOf, NOW_MS, queuedOf, recordOf } from "../records.ts";

Deno.test("the SQLite store matches the model", async () => {
  const commands = fc.array(steps(), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(commands, (commands) =>
      withDatabaseStore(async (store) => {
        const model = createMemoryStore();
        for (const command of commands) {
          assert.equal(await run(store, command), await run(model, command));
          assert.deepEqual(await everythingIn(store), await everythingIn(model));
        }
      })),
    { numRuns: shortOrFull(100, 3000) },
  );
});

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
    { numRuns: shortOrFull(70, 2000) },
  );
});

const NAMES = ["a", "b\0", "\ud800"];
const DAYS_BACK_MAX = 10;

/** The calls, in this order; `null` is skipped. */
interface Step {
  readonly save: readonly CheckUpdate[] | null;
  readonly change: OutboxChange | null;
  readonly added: readonly Silence[] | null;
  readonly ended: { readonly checks: readonly (string | null)[] | "all"; readonly nowMs: number } | null;
  readonly beats: readonly Beat[] | null;
  readonly pruneMs: number | null;
}

interface Beat {
  readonly name: string;
  readonly run: JobRun;
  readonly nowMs: number;
}

/** A database in memory has the same tables; the disk is tested elsewhere. */
async function withDatabaseStore(use: (store: Store) => Promise<void>): Promise<void> {
  const store = await openInMemoryStore();
  await use(store);
  await store.close();
}

/** Returns the number of silences that it ended. */
async function run(store: Store, { save, change, added, ended, beats, pruneMs }: Step): Promise<number> {
  if (save !== null) await store.save(save);
  if (change !== null) await store.changeOutbox(change);
  if (added !== null) await store.addSilences(added);
  const count = ended === null ? 0 : await store.endSilences(ended.checks, ended.nowMs);
  for (const { name, run, nowMs } of beats ?? []) await store.keepJobRun(name, run, nowMs);
  if (pruneMs !== null) await pruneAll(store, pruneMs);
  return count;
}

async function everythingIn(store: Store): Promise<unknown> {
  const perName = NAMES.map(async (name) => [
    await store.changes(name, { sinceMs: -Infinity, limit: 5 }),
    await store.changes(name, { sinceMs: NOW_MS - 2 * DAY_MS, limit: Infinity }),
    await store.rollups(name, -Infinity),
    await store.rollups(name, NOW_MS - 9 * DAY_MS),
    await store.job(name, NOW_MS),
    await store.recentRuns([name]),
  ]);
  const silences = [await store.silences(-Infinity), await store.silences(NOW_MS - DAY_MS)];
  return [await store.records(), await store.outbox(), ...silences, ...await Promise.all(perName)];
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

function steps(): fc.Arbitrary<Step> {
  const now = fc.oneof(times(), fc.integer({ min: 0, max: 500 }).map((day) => NOW_MS + day * DAY_MS));
  const checks = fc.oneof(
    fc.constant("all" as const),
    fc.array(fc.option(fc.constantFrom(...NAMES)), { maxLength: 3 }),
  );
  return fc.record({
    save: fc.option(fc.array(updates(), { maxLength: 20 })),
    change: fc.option(outboxChanges()),
    added: fc.option(fc.array(silences(), { maxLength: 5 }), { freq: 2 }),
    ended: fc.option(fc.record({ checks, nowMs: times() }), { freq: 1 }),
    beats: fc.option(fc.array(beats(), { maxLength: 30 })),
    pruneMs: fc.option(now, { freq: 1 }),
  });
}

function beats(): fc.Arbitrary<Beat> {
  const end = fc.record({ atMs: times(), output: fc.string({ unit: "binary" }) }).map(endOf);
  return fc.record({
    name: fc.constantFrom(...NAMES),
    id: fc.nat({ max: 40 }),
    startedAtMs: times(),
    end: fc.option(end),
    nowMs: times(),
  }).map(({ name, id, startedAtMs, end, nowMs }) => // An id is of one run, whatever its job.
  ({ name, nowMs, run: { id: `${name} ${id}`, startedAtMs, end } }));
}

function outboxChanges(): fc.Arbitrary<OutboxChange> {
  const place = fc.record({ check: fc.constantFrom(...NAMES), channelKey: fc.constantFrom("x", "y\0") });
  const mark = fc.tuple(place, fc.constantFrom(...CONDITIONS), fc.string({ unit: "binary" }))
    .map(([{ check, channelKey }, condition, messageId]) => ({
      check,
      channelKey,
      messageId,
      condition,
      certain: messageId.length % 2 === 0,
    }));
  return fc.record({
    changed: fc.array(rows(), { maxLength: 5 }),
    removed: fc.array(rowIds(), { maxLength: 3 }),
    markers: fc.array(mark, { maxLength: 3 }),
    cleared: fc.array(place, { maxLength: 3 }),
  }, { requiredKeys: ["changed", "removed", "markers", "cleared"] });
}

function rowIds(): fc.Arbitrary<string> {
  return fc.constantFrom("1", "1.0", "a\0", "a\0b", "\ud800", "\ufffd", "x", "y");
}

function rows(): fc.Arbitrary<QueuedNotification> {
  return fc.record({
    state: fc.constantFrom("pending" as const, "rejected" as const, "dropped" as const),
    attempts: fc.nat(),
    nextAttemptAtMs: times(),
    lastFailure: fc.option(fc.string({ unit: "binary" })),
    firstFailedAtMs: fc.option(times()),
    messageId: fc.option(rowIds()),
    channelName: fc.string({ unit: "binary" }),
  }).chain((fields) =>
    // Some sequences are equal: an error, yet every store makes the same of it.
    fc.tuple(rowIds(), fc.nat({ max: 9 }), fc.string({ unit: "binary" })).map(([id, sequence, output]) =>
      queuedOf(id, sequence, { ...fields, notification: notificationOf("web", { output }) })
    )
  );
}

function silences(): fc.Arbitrary<Silence> {
  return fc.record({
    id: rowIds(),
    check: fc.option(fc.constantFrom(...NAMES)),
    tag: fc.option(fc.string({ unit: "binary" })),
    fromMs: times(),
    untilMs: times(),
    reason: fc.string({ unit: "binary" }),
    kind: fc.constantFrom("silence" as const, "acknowledgement" as const, "maintenance" as const),
    problemBeganAtMs: fc.option(times()),
  });
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
    output: fc.string({ unit: "binary" }),
    trace: fc.string({ unit: "binary" }),
  });
  return fc.record({
    name: fc.constantFrom(...NAMES),
    seenAtMs: times(),
    missedRuns: fc.nat(),
    rollup: fc.option(rollup),
    change: fc.option(change),
    queued: fc.array(rows(), { maxLength: 2 }),
  }).map(({ name, seenAtMs, missedRuns, rollup, change, queued }) => ({
    record: recordOf(name, { seenAtMs, missedRuns }),
    rollup,
    change: change === null ? null : { name, ...change },
    queued,
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
