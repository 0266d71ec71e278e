import assert from "node:assert/strict";
import fc from "../support/property.ts";
import { type Check, type CheckResult, checkResult } from "../../src/domain/check.ts";
import { ALL_WORK } from "../../src/domain/membership.ts";
import { openStateRepository, startPersisting } from "../../src/state/state_repository.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { type Condition, CONDITIONS } from "../../src/domain/condition.ts";
import { type CheckUpdate, type StoreFailure } from "../../src/domain/store.ts";
import { decide, type Decided, type Run } from "../../src/engine/decide.ts";
import { WITHOUT_CHANNELS } from "../../src/engine/engine.ts";
import { campaign } from "../../testing/seed.ts";
import { testCheck } from "../support/checks.ts";
import { type FaultyStore, openFaultyStore } from "../support/faulty_store.ts";
import { queuedOf, updateOf } from "./records.ts";
import { testRows } from "../support/rows.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NOW = Date.UTC(2026, 0, 31, 10);

type Desk = Awaited<ReturnType<typeof openDesk>>;

interface RecordOptions {
  readonly nowMs?: number;
  readonly output?: string;
  readonly notifies?: boolean;
  readonly missed?: number;
  readonly metrics?: Readonly<Record<string, number>>;
  readonly lateMs?: number;
}

/** Opens a repository; `onReopen` is called with each new store, which a test changes afterwards. */
async function openDesk(options: { readonly store?: FaultyStore; onReopen?(fresh: FaultyStore): void } = {}) {
  const store = options.store ?? await openFaultyStore();
  /** The arguments of `onFailure`: a failure, or `null` when it was over. */
  const troubles: (StoreFailure | null)[] = [];
  const fresh: FaultyStore[] = [];
  const repository = await openStateRepository({
    store,
    onFailure: (error) => void troubles.push(error?.failure ?? null),
    reopen: async () => {
      const next = await openFaultyStore();
      await options.onReopen?.(next);
      fresh.push(next);
      return next;
    },
  });
  const recordResult = (check: Check, condition: Condition, recorded: RecordOptions = {}): Decided => {
    const { nowMs = NOW, output = condition, notifies = true, missed = 0 } = recorded;
    const { metrics = {}, lateMs = null } = recorded;
    const words = { output, detail: "", metrics, performanceData: "" };
    const situation = { ...WITHOUT_CHANNELS, nowMs, notifies, newId: () => "report", hostName: "test-host" };
    const decided = decide(repository.recordOf(check.name, nowMs), check, situation, {
      result: { check, condition, ...words, startedAtMs: nowMs - 5, durationMs: 5 },
      lateMs,
      plan: () => ({ atMs: nowMs + MINUTE, overdueAtMs: nowMs + 3 * MINUTE, missed }),
    });
    const { update, notification } = decided;
    repository.keep(update, { isUrgent: update.change !== null || notification !== null });
    return decided;
  };
  return { repository, store, troubles, fresh, recordResult };
}

/** The changes of some transactions, as text. */
function changesIn(saved: readonly (readonly CheckUpdate[])[]): readonly string[] {
  return saved.flat().flatMap(({ change }) =>
    change === null ? [] : [`${change.name}: ${change.from} to ${change.to}`]
  );
}

const WEB = testCheck("ok", { name: "web" });
const MAIL = testCheck("ok", { name: "mail", threshold: 2 });

Deno.test("flush() reads a record that another process wrote, and drops updates of the older one", async () => {
  const { repository, store, recordResult } = await openDesk();
  recordResult(WEB, "ok");
  recordResult(MAIL, "ok");
  await repository.flush();
  const other = { ...repository.recordOf("web", NOW), missedRuns: 7 };
  const release = store.hold();
  recordResult(WEB, "critical");
  recordResult(MAIL, "critical");
  store.replaced.push(other);
  const flushed = repository.flush();
  await Promise.resolve();
  recordResult(WEB, "critical");
  recordResult(MAIL, "critical");
  release();
  await flushed;
  assert.deepStrictEqual(repository.recordOf("web", NOW), other);
  await repository.flush();
  assert.deepStrictEqual(store.saved.at(-1)?.map(({ record }) => record.name), ["mail"]);
  assert.strictEqual(repository.recordOf("mail", NOW).runs.critical, 2);
});

Deno.test("record() adds up runs and their time across restarts, and persists the last metrics", async () => {
  const first = await openDesk();
  for (const condition of ["ok", "critical", "critical", "unknown"] as const) {
    first.recordResult(MAIL, condition, { missed: 1 });
  }
  await first.repository.flush();
  const second = await openDesk({ store: first.store });
  second.recordResult(MAIL, "warning", {
    metrics: { status: 500, broken: NaN, endless: Infinity },
    lateMs: 7,
    missed: 2,
  });
  assert.strictEqual(second.repository.recordOf("mail", NOW).missedRuns, 6);
  const { runs, durationTotalMs, last } = second.repository.recordOf("mail", NOW);
  assert.deepStrictEqual(runs, { ok: 1, unknown: 1, warning: 1, critical: 2 });
  assert.strictEqual(durationTotalMs, 5 * (last?.durationMs ?? NaN));
  assert.deepStrictEqual([last?.metrics, last?.lateMs], [{ status: 500 }, 7]);
});

Deno.test("record() returns the suppression of a problem, but not of a reminder, which is not decided again", async () => {
  const { recordResult } = await openDesk();
  const check = { ...WEB, reminders: true };
  assert.strictEqual(recordResult(check, "critical", { notifies: false }).suppressed, "no_notify");
  assert.strictEqual(recordResult(check, "critical").notification?.event, "problem");
  assert.strictEqual(recordResult(check, "critical", { notifies: false }).suppressed, null);
});

Deno.test("openStateRepository() rejects if the store can't be read, and replaces a damaged one", async () => {
  const store = await openFaultyStore();
  store.failure = "denied";
  await assert.rejects(openDesk({ store }), { failure: "denied" });
  store.failure = "damaged";
  const { repository, fresh, recordResult } = await openDesk({ store });
  assert.strictEqual(repository.recordOf("web", NOW).condition.observed, null);
  recordResult(WEB, "warning");
  await repository.flush();
  assert.strictEqual(fresh.length, 1);
  assert.deepStrictEqual(changesIn(fresh[0]?.saved ?? []), ["web: pending to warning"]);
});

Deno.test("record() sends that a problem is less severe with the output of its last failing run", async () => {
  const { repository, recordResult } = await openDesk();
  const check = testCheck("ok", { name: "web", threshold: 1, recoveryThreshold: 2 });
  recordResult(check, "critical", { output: "it is gone" });
  recordResult(check, "warning", { output: "it is slow" });
  const { notification } = recordResult(check, "ok", { output: "all is well" });
  assert.equal(notification?.event, "change");
  assert.equal(notification.output, "it is slow");
  const { record } = recordResult(check, "ok", { output: "all is well" });
  assert.equal(record.condition.confirmed, "ok");
  assert.equal(record.failing, null);
  await repository.flush();
});

Deno.test("isUrgent is true for updates to be written at once", async (t) => {
  const reminding = { ...WEB, reminders: true };
  const fill = async ({ recordResult, repository, store }: Desk): Promise<void> => {
    store.failure = "full";
    recordResult(WEB, "critical");
    await repository.flush();
  };
  const rows: Readonly<Record<string, readonly [isUrgent: boolean, act: (desk: Desk) => unknown]>> = {
    "an ok": [false, ({ recordResult }) => recordResult(WEB, "ok")],
    "a problem below the threshold": [false, ({ recordResult }) => recordResult(MAIL, "critical")],
    "a confirmed change": [true, ({ recordResult }) => recordResult(WEB, "critical")],
    "a suppressed one": [true, ({ recordResult }) => recordResult(WEB, "critical", { notifies: false })],
    "a reminder": [true, async ({ recordResult, repository }) => {
      recordResult(reminding, "critical");
      await repository.flush();
      assert.strictEqual(recordResult(reminding, "critical").notification?.event, "reminder");
    }],
    "500 results without news": [true, ({ recordResult }) => {
      for (let count = 0; count < 500; count++) recordResult(WEB, "ok");
    }],
    "a confirmed change that the store rejected": [false, fill],
    "a confirmed change after the store accepted one again": [true, async (desk) => {
      await fill(desk);
      desk.store.failure = null;
      await desk.repository.flush();
      desk.recordResult(WEB, "ok");
    }],
  };
  await testRows(t, rows, async ([isUrgent, act]) => {
    const desk = await openDesk();
    await act(desk);
    assert.strictEqual(desk.repository.isUrgent, isUrgent);
  });
});

Deno.test("flush() shares a write that has not begun, and starts another one during a write", async () => {
  const { repository, store, recordResult } = await openDesk();
  const release = store.hold();
  recordResult(WEB, "critical");
  const first = repository.flush();
  const second = repository.flush();
  await Promise.resolve();
  recordResult(MAIL, "critical");
  const third = repository.flush();
  let isKept = false;
  void third.then(() => isKept = true);
  release();
  await Promise.all([first, second]);
  assert.strictEqual(isKept, false);
  await third;
  assert.deepStrictEqual(store.attempts, [1, 1]);
});

Deno.test("flush() writes after an error that is not the store's, with the updates of that time", async () => {
  const store = await openFaultyStore();
  const { save } = store;
  store.save = () => Promise.reject(new TypeError("a bug"));
  const { repository, recordResult } = await openDesk({ store });
  recordResult(WEB, "critical");
  const failed = repository.flush();
  await Promise.resolve();
  recordResult(WEB, "ok");
  await assert.rejects(failed, TypeError);
  assert.equal(repository.pending, 2);
  store.save = save;
  await repository.flush();
  assert.deepStrictEqual(changesIn(store.saved), ["web: pending to critical", "web: critical to ok"]);
});

Deno.test("flush() writes all known records to the replacement of a damaged store", async () => {
  const { repository, store, fresh, troubles, recordResult } = await openDesk();
  for (const name of ["quiet", "calm"]) recordResult(testCheck("ok", { name }), "ok");
  await repository.flush();
  store.failure = "damaged";
  recordResult(WEB, "critical");
  recordResult(WEB, "ok", { nowMs: NOW + MINUTE });
  await repository.flush();
  assert.deepStrictEqual([troubles, fresh.length, repository.pending], [["damaged", null], 1, 0]);
  const [next] = fresh;
  assert.deepStrictEqual(
    await next?.records(),
    ["quiet", "calm", "web"].map((name) => repository.recordOf(name, NOW)),
  );
  assert.deepStrictEqual(changesIn(next?.saved ?? []), ["web: pending to critical", "web: critical to ok"]);
  const [rollup] = await next?.rollups("web", 0) ?? [];
  assert.deepStrictEqual(rollup?.observed, { ok: 1, unknown: 0, warning: 0, critical: 1 });
});

Deno.test("amend() lets a pending notification be written as it is now", async () => {
  const { repository, store } = await openDesk();
  const queued = queuedOf("a", 1);
  repository.keep(updateOf("web", { queued: [queued] }));
  repository.amend([{ ...queued, attempts: 7 }]);
  await repository.flush();
  assert.deepStrictEqual(
    store.saved.flat().flatMap((update) => update.queued.map(({ attempts }) => attempts)),
    [7],
  );
});

Deno.test("flush() opens at most two replacements a call if each is damaged", async () => {
  const { repository, store, fresh, troubles, recordResult } = await openDesk({
    onReopen: (next) => void (next.failure = "damaged"),
  });
  store.failure = "damaged";
  recordResult(WEB, "critical");
  await repository.flush();
  assert.strictEqual(fresh.length, 1);
  await repository.flush();
  assert.ok(fresh.length <= 3, `${fresh.length} stores were opened`);
  assert.deepStrictEqual([troubles, repository.pending], [["damaged"], 1]);
});

Deno.test("flush() keeps every change of a long outage, and drops aggregates of very many runs", async () => {
  const runs = 12_000;
  const { repository, store, recordResult } = await openDesk();
  store.failure = "full";
  const expected: string[] = [];
  for (let run = 0; run < runs; run++) {
    const condition = run % 10 < 5 ? "ok" : "critical";
    const { notification } = recordResult({ ...WEB, flapping: "all" }, condition, {
      nowMs: NOW + run,
      output: `run ${run}`,
    });
    if (notification !== null) expected.push(`web: ${notification.previous} to ${notification.condition}`);
    if (run === runs - 1) recordResult(MAIL, "ok", { nowMs: NOW + run, output: `run ${run}` });
    if (run % 1000 === 999) await repository.flush();
  }
  assert.ok(repository.pending <= 10_000, `${repository.pending} updates wait`);
  store.failure = null;
  await repository.flush();
  assert.deepStrictEqual(changesIn(store.saved), expected);
  const outputs = new Set(store.saved.flat().map(({ record }) => record.last?.output));
  assert.deepStrictEqual([...outputs], [`run ${runs - 1}`], "long outputs do not pile up");
  const records = (await store.records()).toSorted((one, other) => other.name.localeCompare(one.name));
  assert.deepStrictEqual(records, ["web", "mail"].map((known) => repository.recordOf(known, NOW)));
  const [rollup] = await store.rollups("web", 0);
  assert.ok(rollup !== undefined && rollup.observed.ok + rollup.observed.critical < runs);
  const [{ rows } = assert.fail()] = await store.journal(["web"], { sinceMs: 0, untilMs: Infinity });
  assert.deepStrictEqual(
    rows.reduce((sum, row) => sum + row.runs, 0),
    runs,
    "every result is in the journal",
  );
});

Deno.test("decide() adds what a run returned to the journal, gaps and results that do not count included", async () => {
  const { repository, store } = await openDesk();
  const record = (nowMs: number, fields: Partial<CheckResult>, run: Partial<Run> = {}): void => {
    const situation = { ...WITHOUT_CHANNELS, nowMs, newId: () => "report", hostName: "test-host" };
    const result = { ...checkResult("ok", "fine"), ...fields };
    const { update } = decide(repository.recordOf("web", nowMs), WEB, situation, {
      result: { check: WEB, ...result, startedAtMs: nowMs - 5, durationMs: 5 },
      plan: () => ({ atMs: nowMs + MINUTE, overdueAtMs: nowMs + 3 * MINUTE, missed: 0 }),
      ...run,
    });
    repository.keep(update);
  };
  record(NOW, { condition: "unknown", output: "never ran", awaits: "job" }, { isAfterGap: true });
  record(NOW + MINUTE, {});
  record(NOW + 2 * MINUTE, {});
  record(NOW + HOUR, {}, { isAfterGap: true, isInterrupted: true });
  record(NOW + HOUR + MINUTE, { condition: "critical", output: "refused", isSilent: true });
  await repository.flush();
  const [{ rows } = assert.fail()] = await store.journal(["web"], { sinceMs: 0, untilMs: Infinity });
  assert.deepStrictEqual(
    rows.map((
      { condition, awaits, output, runs, gap, isInterrupted },
    ) => [condition, awaits, output, runs, gap, isInterrupted]),
    [
      ["unknown", "job", "never ran", 1, "first", false],
      ["ok", null, "", 2, "none", false],
      ["ok", null, "", 1, "first", true],
      ["critical", null, "refused", 1, "first", false],
    ],
  );
});

Deno.test("prune() deletes a check that left the config 30 days ago, not one that came back", async () => {
  const { repository, store, recordResult } = await openDesk();
  recordResult(WEB, "critical");
  recordResult(MAIL, "ok");
  for (let day = 1; day <= 29; day++) await repository.prune({ checks: [MAIL] }, NOW + day * DAY);
  assert.strictEqual(repository.recordOf("web", NOW).condition.confirmed, "critical");
  for (let day = 30; day <= 33; day++) await repository.prune({ checks: [MAIL] }, NOW + day * DAY);
  assert.strictEqual(repository.recordOf("web", NOW).condition.observed, null);
  assert.deepStrictEqual((await store.records()).map(({ name }) => name), ["mail"]);
  assert.strictEqual(repository.recordOf("mail", NOW).condition.observed, "ok");
});

Deno.test("prune() ignores a store that can't be written, and has a damaged one replaced", async () => {
  const { repository, store, fresh, troubles, recordResult } = await openDesk();
  recordResult(WEB, "critical");
  await repository.flush();
  store.failure = "full";
  assert.deepStrictEqual(await repository.prune({ checks: [WEB] }, NOW), { finished: true, forgotten: [] });
  store.failure = "damaged";
  assert.deepStrictEqual(await repository.prune({ checks: [WEB] }, NOW), { finished: true, forgotten: [] });
  recordResult(MAIL, "ok");
  await repository.flush();
  assert.deepStrictEqual((await fresh[0]?.records())?.map(({ name }) => name), ["web", "mail"]);
  assert.deepStrictEqual(troubles, ["damaged", null], "so that the other records are written again");
});

Deno.test("finish() writes pending updates, and prunes to the end in the first process of an hour", async (t) => {
  const rows = {
    "the first process of all": { lastMs: null, expected: 4 },
    "the first of the hour": { lastMs: NOW - 1, expected: 4 },
    "a later one": { lastMs: NOW, expected: 0 },
  };
  await testRows(t, rows, async ({ lastMs, expected }) => {
    const before = await openDesk();
    if (lastMs !== null) before.recordResult(WEB, "ok", { nowMs: lastMs });
    await before.repository.flush();
    const { store } = before;
    const { repository, recordResult } = await openDesk({ store });
    store.pruneCalls = 4;
    recordResult(WEB, "critical", { nowMs: NOW + 30 * MINUTE });
    await repository.finish({ checks: [WEB] }, NOW + 30 * MINUTE);
    assert.strictEqual(store.pruned, expected);
    const from = lastMs === null ? "pending" : "ok";
    assert.deepStrictEqual(changesIn(store.saved), [`web: ${from} to critical`]);
  });
});

/** One step of the random walk: a result of a check, a flush, a failure from now on or its end, or a restart. */
const STEP = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ check: fc.constantFrom(1, 2, 3), condition: fc.constantFrom(...CONDITIONS) }),
  },
  { weight: 4, arbitrary: fc.constant("flush" as const) },
  {
    weight: 2,
    arbitrary: fc.record({
      failure: fc.constantFrom<StoreFailure | null>("full", "busy", "other", null, null),
    }),
  },
  { weight: 1, arbitrary: fc.constant("restart" as const) },
);

Deno.test("flush() writes every change once and every run in its roll-up, whatever fails in between", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { maxLength: 80 }), async (steps) => {
      const store = await openFaultyStore();
      let desk = await openDesk({ store });
      let nowMs = NOW;
      const expected: string[] = [];
      let results = 0;
      for (const step of steps) {
        nowMs += SECOND;
        if (step === "flush") await desk.repository.flush();
        else if (step === "restart") {
          store.failure = null;
          await desk.repository.flush();
          desk = await openDesk({ store });
        } else if ("failure" in step) store.failure = step.failure;
        else {
          const check = testCheck("ok", { name: `check ${step.check}`, threshold: step.check });
          const before = desk.repository.recordOf(check.name, nowMs).condition.confirmed;
          const { record, notification } = desk.recordResult(check, step.condition, { nowMs });
          results++;
          const after = record.condition.confirmed;
          const isNews = before !== after && !(before === null && after === "ok");
          if (isNews) expected.push(`${check.name}: ${before ?? "pending"} to ${after}`);
          assert.strictEqual(notification !== null, isNews);
        }
      }
      store.failure = null;
      await desk.repository.flush();
      assert.deepStrictEqual(changesIn(store.saved), expected);
      for (const record of await store.records()) {
        assert.deepStrictEqual(record, desk.repository.recordOf(record.name, nowMs));
      }
      const rollups = await Promise.all([1, 2, 3].map((check) => store.rollups(`check ${check}`, 0)));
      const counts = rollups.flat().flatMap(({ observed }) => Object.values(observed));
      assert.strictEqual(counts.reduce((sum, count) => sum + count, 0), results);
    }),
    { numRuns: campaign(100, 20) },
  );
});

/** A repository whose updates are written on a clock; a result resolves when it may be delivered. */
async function persist(store?: FaultyStore) {
  const desk = await openDesk(store === undefined ? {} : { store });
  const clock = createFakeClock();
  const bugs: unknown[] = [];
  const keeping = startPersisting({
    repository: desk.repository,
    kept: () => ({ checks: [WEB] }),
    share: ALL_WORK,
    nowMs: clock.wallMs,
    after: clock.after,
    onBug: (error) => void bugs.push(error),
  });
  const recordResult = (condition: Condition): Promise<void> => {
    desk.recordResult(WEB, condition, { nowMs: clock.wallMs() });
    return keeping.recorded();
  };
  return { ...desk, clock, bugs, recordResult };
}

Deno.test("recorded() batches updates for a second, and writes urgent ones with them before it resolves", async () => {
  const { clock, store, recordResult } = await persist();
  await recordResult("ok");
  await clock.advance(500);
  await recordResult("ok");
  await clock.advance(499);
  assert.deepStrictEqual(store.attempts, []);
  await clock.advance(1);
  assert.deepStrictEqual(store.attempts, [2]);
  await recordResult("ok");
  await recordResult("critical");
  assert.deepStrictEqual(store.attempts, [2, 2]);
  await clock.advance(10 * SECOND);
  assert.deepStrictEqual(store.attempts, [2, 2], "the write that was to come is not needed");
});

Deno.test("recorded() retries a store that can't be written after 1, 2, 4, 8 and 16 s, and then every 16 s", async () => {
  const { clock, store, recordResult } = await persist();
  store.failure = "full";
  await recordResult("critical");
  const attemptsMs: number[] = [];
  for (let elapsedMs = 0; elapsedMs < 64 * SECOND; elapsedMs += 500) {
    const before = store.attempts.length;
    await clock.advance(500);
    await recordResult(elapsedMs % SECOND === 0 ? "ok" : "critical");
    if (store.attempts.length > before) attemptsMs.push(elapsedMs + 500);
  }
  assert.deepStrictEqual(attemptsMs, [1, 3, 7, 15, 31, 47, 63].map((seconds) => seconds * SECOND));
});

Deno.test("recorded() resets the backoff once the store can be written", async () => {
  const { clock, store, repository, recordResult } = await persist();
  store.failure = "busy";
  await recordResult("critical");
  await clock.advance(20 * SECOND);
  store.failure = null;
  await clock.advance(16 * SECOND);
  assert.strictEqual(repository.pending, 0);
  const before = store.attempts.length;
  await recordResult("critical");
  await clock.advance(SECOND);
  assert.strictEqual(store.attempts.length, before + 1);
});

Deno.test("startPersisting() prunes at once and every hour, in steps", async () => {
  const store = await openFaultyStore();
  store.pruneCalls = 3;
  const { clock } = await persist(store);
  await clock.advance(0);
  assert.strictEqual(store.pruned, 1);
  await clock.advance(2 * SECOND);
  assert.strictEqual(store.pruned, 3);
  await clock.advance(HOUR - SECOND);
  assert.strictEqual(store.pruned, 3);
  await clock.advance(3 * SECOND);
  assert.strictEqual(store.pruned, 6);
});

Deno.test("startPersisting() calls onBug with a bug, and plans another write", async () => {
  const store = await openFaultyStore();
  const { save } = store;
  const { clock, bugs, repository, recordResult } = await persist(store);
  await clock.advance(0);
  store.save = () => Promise.reject(new TypeError("a bug"));
  await recordResult("ok");
  await clock.advance(SECOND);
  assert.ok(bugs.length === 1 && bugs[0] instanceof TypeError);
  store.save = save;
  await clock.advance(SECOND);
  assert.equal(repository.pending, 0);
  assert.deepEqual(store.saved.at(-1)?.map(({ record }) => record.name), [WEB.name]);
  store.save = () => Promise.reject(new TypeError("a bug"));
  await assert.rejects(recordResult("critical"), TypeError);
});
