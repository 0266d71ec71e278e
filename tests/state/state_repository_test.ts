import assert from "node:assert/strict";
import fc from "fast-check";
import type { Check } from "../../src/domain/check.ts";
import { type Condition, CONDITIONS } from "../../src/domain/condition.ts";
import type { Result } from "../../src/domain/result.ts";
import { type CheckUpdate, type Store, StoreError, type StoreFailure } from "../../src/domain/store.ts";
import { type Entry, type Ledger, openLedger } from "../../src/state/state_repository.ts";
import { createMemoryStore } from "../support/memory_store.ts";
import { testCheck } from "../support/checks.ts";
import { createFaultyStore, type FaultyStore } from "../support/faulty_store.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NOW = Date.UTC(2026, 0, 31, 10);

interface Desk {
  readonly ledger: Ledger;
  readonly store: FaultyStore;
  /** What `onTrouble` was told: a failure, or `null` when it was over. */
  readonly troubles: (StoreFailure | null)[];
  /** The stores that `reopen` has made. */
  readonly fresh: FaultyStore[];
  /** Enters an observation. */
  enter(check: Check, condition: Condition, options?: EnterOptions): Entry;
}

interface EnterOptions {
  readonly nowMs?: number;
  readonly output?: string;
  readonly suppressedBy?: "no_notify";
  readonly missed?: number;
  readonly metrics?: Readonly<Record<string, number>>;
  readonly lateMs?: number;
}

interface DeskOptions {
  readonly store?: FaultyStore;
  /** What a fresh store is at first; the tests change it afterwards. */
  onReopen?(fresh: FaultyStore): void;
}

async function openDesk(options: DeskOptions = {}): Promise<Desk> {
  const store = options.store ?? createFaultyStore();
  const troubles: (StoreFailure | null)[] = [];
  const fresh: FaultyStore[] = [];
  const ledger = await openLedger({
    store,
    onTrouble: (error) => void troubles.push(error?.failure ?? null),
    reopen: async () => {
      const next = createFaultyStore();
      await options.onReopen?.(next);
      fresh.push(next);
      return next;
    },
    newId: () => "report",
    hostName: "test-host",
  });
  const enter = (check: Check, condition: Condition, entered: EnterOptions = {}): Entry => {
    const { nowMs = NOW, output = condition, suppressedBy = null, missed = 0 } = entered;
    const { metrics = {}, lateMs = null } = entered;
    return ledger.enter({ ...resultOf(check, condition, { output, endedAtMs: nowMs }), metrics }, {
      nowMs,
      suppressedBy,
      lateMs,
      queue: () => [],
      plan: () => ({ atMs: nowMs + MINUTE, intervalMs: MINUTE, missed }),
    });
  };
  return { ledger, store, troubles, fresh, enter };
}

function resultOf(
  check: Check,
  condition: Condition,
  { output, endedAtMs }: { readonly output: string; readonly endedAtMs: number },
): Result {
  return {
    check,
    condition,
    output,
    detail: "",
    metrics: {},
    performanceData: "",
    startedAtMs: endedAtMs - 5,
    durationMs: 5,
  };
}

/** The changes of some transactions, as text. */
function changesIn(saved: readonly (readonly CheckUpdate[])[]): readonly string[] {
  return saved.flat().flatMap(({ change }) =>
    change === null ? [] : [`${change.name}: ${change.from} to ${change.to}`]
  );
}

const WEB = testCheck("ok", { name: "web" });
const MAIL = testCheck("ok", { name: "mail", threshold: 2 });

Deno.test("openLedger() goes on from what the store has kept", async () => {
  const first = await openDesk();
  first.enter(MAIL, "critical", { missed: 3 });
  await first.ledger.flush();
  const second = await openDesk({ store: first.store });
  assert.deepStrictEqual(second.ledger.recordOf("mail", NOW), first.ledger.recordOf("mail", NOW));
  assert.strictEqual(second.ledger.recordOf("mail", NOW).missedRuns, 3);
  const { notification } = second.enter(MAIL, "critical");
  assert.strictEqual(notification?.event, "problem");
});

Deno.test("enter() counts runs and their time on, over a restart too, and keeps what the last one measured", async () => {
  const first = await openDesk();
  for (const condition of ["ok", "critical", "critical", "unknown"] as const) first.enter(MAIL, condition);
  await first.ledger.flush();
  const second = await openDesk({ store: first.store });
  second.enter(MAIL, "warning", { metrics: { status: 500, broken: NaN, endless: Infinity }, lateMs: 7 });
  const { runs, durationTotalMs, last } = second.ledger.recordOf("mail", NOW);
  assert.deepStrictEqual(runs, { ok: 1, unknown: 1, warning: 1, critical: 2 });
  assert.strictEqual(durationTotalMs, 5 * (last?.durationMs ?? NaN));
  assert.deepStrictEqual([last?.metrics, last?.lateMs], [{ status: 500 }, 7]);
});

Deno.test("openLedger() tells of a store that it cannot read, and replaces one that is damaged", async (t) => {
  for (const failure of ["busy", "denied", "full", "other"] as const) {
    await t.step(failure, async () => {
      const store = createFaultyStore();
      store.failure = failure;
      await assert.rejects(
        openDesk({ store }),
        (error) => error instanceof StoreError && error.failure === failure,
      );
    });
  }
  await t.step("damaged", async () => {
    const store = createFaultyStore();
    store.failure = "damaged";
    const { ledger, fresh, enter } = await openDesk({ store });
    assert.strictEqual(ledger.recordOf("web", NOW).condition.observed, null);
    enter(WEB, "warning");
    await ledger.flush();
    assert.strictEqual(fresh.length, 1);
    assert.deepStrictEqual(changesIn(fresh[0]?.saved ?? []), ["web: ok to warning"]);
  });
});

Deno.test("recordOf() answers a fresh record for a check that was never observed", async () => {
  const { ledger } = await openDesk();
  const { condition, last, nextRunAtMs, seenAtMs } = ledger.recordOf("new", NOW);
  assert.deepStrictEqual([condition.confirmed, condition.observed, last, nextRunAtMs, seenAtMs], [
    "ok",
    null,
    null,
    null,
    NOW,
  ]);
});

Deno.test("enter() answers record and report, and keeps nothing by itself", async () => {
  const { ledger, store, enter } = await openDesk();
  const first = enter(MAIL, "warning");
  assert.deepStrictEqual([first.occurrences, first.notification, first.record.condition.confirmed], [
    1,
    null,
    "ok",
  ]);
  const { occurrences, notification, record } = enter(MAIL, "critical", {
    output: "no answer",
    nowMs: NOW + MINUTE,
  });
  assert.strictEqual(occurrences, 1);
  assert.deepStrictEqual(notification, {
    id: "report",
    check: "mail",
    title: null,
    event: "problem",
    condition: "warning",
    previous: "ok",
    output: "no answer",
    detail: "",
    problemBeganAtMs: NOW,
    decidedAtMs: NOW + MINUTE,
    occurrences: 1,
    nextRunAtMs: NOW + 2 * MINUTE,
    hostName: "test-host",
  });
  assert.deepStrictEqual([record.nextRunAtMs, record.intervalMs], [NOW + 2 * MINUTE, MINUTE]);
  assert.deepStrictEqual([ledger.waiting, store.attempts], [2, []]);
});

Deno.test("isUrgent tells what is to be written at once", async (t) => {
  const rows: { name: string; expected: boolean; act(desk: Desk): void | Promise<void> }[] = [
    { name: "nothing was entered", expected: false, act: () => {} },
    { name: "an ok", expected: false, act: ({ enter }) => void enter(WEB, "ok") },
    {
      name: "a problem below the threshold",
      expected: false,
      act: ({ enter }) => void enter(MAIL, "critical"),
    },
    { name: "a confirmed change", expected: true, act: ({ enter }) => void enter(WEB, "critical") },
    {
      name: "a confirmed change whose notification is suppressed",
      expected: true,
      act: ({ enter }) => void enter(WEB, "critical", { suppressedBy: "no_notify" }),
    },
    {
      name: "the same problem once more",
      expected: false,
      act: async ({ enter, ledger }) => {
        enter(WEB, "critical");
        await ledger.flush();
        enter(WEB, "critical");
      },
    },
    {
      name: "a reminder",
      expected: true,
      act: async ({ enter, ledger }) => {
        const annoying = testCheck("ok", { name: "web", annoy: true });
        enter(annoying, "critical");
        await ledger.flush();
        assert.strictEqual(enter(annoying, "critical").notification?.event, "reminder");
      },
    },
    {
      name: "499 results without news",
      expected: false,
      act: ({ enter }) => Array.from({ length: 499 }, () => enter(WEB, "ok")).forEach(() => {}),
    },
    {
      name: "500 results without news",
      expected: true,
      act: ({ enter }) => Array.from({ length: 500 }, () => enter(WEB, "ok")).forEach(() => {}),
    },
    {
      name: "a confirmed change that the store did not take",
      expected: false,
      act: async ({ enter, ledger, store }) => {
        store.failure = "full";
        enter(WEB, "critical");
        await ledger.flush();
      },
    },
    {
      name: "a confirmed change after the store took one again",
      expected: true,
      act: async ({ enter, ledger, store }) => {
        store.failure = "full";
        enter(WEB, "critical");
        await ledger.flush();
        store.failure = null;
        await ledger.flush();
        enter(WEB, "ok");
      },
    },
  ];
  for (const { name, expected, act } of rows) {
    await t.step(name, async () => {
      const desk = await openDesk();
      await act(desk);
      assert.strictEqual(desk.ledger.isUrgent, expected);
    });
  }
});

Deno.test("flush() writes what waits in one transaction, in order, and nothing where nothing waits", async () => {
  const { ledger, store, enter } = await openDesk();
  enter(WEB, "ok");
  enter(MAIL, "critical");
  enter(MAIL, "critical");
  await ledger.flush();
  await ledger.flush();
  assert.deepStrictEqual(store.attempts, [3]);
  assert.deepStrictEqual(store.saved[0]?.map(({ record }) => record.name), ["web", "mail", "mail"]);
  assert.deepStrictEqual(await store.records(), ["web", "mail"].map((name) => ledger.recordOf(name, NOW)));
  assert.strictEqual(ledger.waiting, 0);
});

Deno.test("flush() is one write for all who ask before it begins, and another for who asks during it", async () => {
  const { ledger, store, enter } = await openDesk();
  const release = store.hold();
  enter(WEB, "critical");
  const first = ledger.flush();
  const second = ledger.flush();
  await Promise.resolve();
  enter(MAIL, "critical");
  const third = ledger.flush();
  let isKept = false;
  void third.then(() => isKept = true);
  release();
  await Promise.all([first, second]);
  assert.strictEqual(isKept, false);
  await third;
  assert.deepStrictEqual(store.attempts, [1, 1]);
});

Deno.test("flush() keeps what a store cannot take, tells of it once, and writes it when it can", async (t) => {
  for (const failure of ["full", "busy", "denied", "other"] as const) {
    await t.step(failure, async () => {
      const { ledger, store, troubles, enter } = await openDesk();
      store.failure = failure;
      enter(WEB, "critical");
      await ledger.flush();
      enter(WEB, "ok", { nowMs: NOW + MINUTE });
      enter(MAIL, "ok", { nowMs: NOW + MINUTE });
      await ledger.flush();
      assert.deepStrictEqual([troubles, ledger.waiting, ledger.isInTrouble], [[failure], 3, true]);
      store.failure = null;
      await ledger.flush();
      await ledger.flush();
      assert.deepStrictEqual([troubles, ledger.waiting, ledger.isInTrouble], [[failure, null], 0, false]);
      assert.deepStrictEqual(changesIn(store.saved), ["web: ok to critical", "web: critical to ok"]);
      assert.deepStrictEqual(
        await store.records(),
        ["web", "mail"].map((name) => ledger.recordOf(name, NOW)),
      );
      const [rollup] = await store.rollups("web", 0);
      assert.deepStrictEqual(rollup?.observed, { ok: 1, unknown: 0, warning: 0, critical: 1 });
    });
  }
});

Deno.test("flush() puts what was entered during a failing write behind what failed", async () => {
  const { ledger, store, enter } = await openDesk();
  const release = store.hold();
  store.failure = "full";
  enter(WEB, "critical");
  const flushed = ledger.flush();
  await Promise.resolve();
  enter(WEB, "ok");
  release();
  await flushed;
  store.failure = null;
  await ledger.flush();
  assert.deepStrictEqual(changesIn(store.saved), ["web: ok to critical", "web: critical to ok"]);
});

Deno.test("flush() rejects with what is no failure of the store", async () => {
  const store = createFaultyStore();
  store.save = () => Promise.reject(new TypeError("a bug"));
  const { ledger, enter } = await openDesk({ store });
  enter(WEB, "ok");
  await assert.rejects(ledger.flush(), TypeError);
});

Deno.test("flush() puts everything that is known into a fresh store in the place of a damaged one", async () => {
  const { ledger, store, fresh, troubles, enter } = await openDesk();
  const quiet = testCheck("ok", { name: "quiet" });
  enter(quiet, "ok");
  await ledger.flush();
  store.failure = "damaged";
  enter(WEB, "critical");
  enter(WEB, "ok", { nowMs: NOW + MINUTE });
  await ledger.flush();
  assert.deepStrictEqual([troubles, fresh.length, ledger.waiting], [["damaged", null], 1, 0]);
  const [next] = fresh;
  assert.deepStrictEqual(
    await next?.records(),
    ["quiet", "web"].map((name) => ledger.recordOf(name, NOW)),
  );
  assert.deepStrictEqual(changesIn(next?.saved ?? []), ["web: ok to critical", "web: critical to ok"]);
  const [rollup] = await next?.rollups("web", 0) ?? [];
  assert.deepStrictEqual(rollup?.observed, { ok: 1, unknown: 0, warning: 0, critical: 1 });
});

Deno.test("flush() tries again with each call where no fresh store can be opened", async () => {
  let refusals = 2;
  const { ledger, store, fresh, troubles, enter } = await openDesk({
    onReopen: () => {
      if (refusals-- > 0) throw new StoreError("Cannot open state: the disk is full", "full");
    },
  });
  store.failure = "damaged";
  enter(WEB, "critical");
  await ledger.flush();
  assert.deepStrictEqual([troubles, fresh.length, ledger.waiting], [["damaged"], 0, 1]);
  await ledger.flush();
  enter(MAIL, "ok");
  await ledger.flush();
  assert.deepStrictEqual([troubles, fresh.length, ledger.waiting], [["damaged", null], 1, 0]);
  assert.deepStrictEqual(changesIn(fresh[0]?.saved ?? []), ["web: ok to critical"]);
  assert.strictEqual((await fresh[0]?.records())?.length, 2);
});

Deno.test("flush() gives a fresh store everything also where that one cannot take it at first", async () => {
  const { ledger, store, fresh, enter } = await openDesk({
    onReopen: (next) => void (next.failure = "full"),
  });
  enter(WEB, "critical");
  await ledger.flush();
  store.failure = "damaged";
  enter(MAIL, "ok");
  await ledger.flush();
  const [next] = fresh;
  assert.ok(next !== undefined);
  next.failure = null;
  await ledger.flush();
  assert.deepStrictEqual((await next.records()).map(({ name }) => name).toSorted(), ["mail", "web"]);
});

Deno.test("flush() opens at most one fresh store a call where every one is damaged", async () => {
  const { ledger, store, fresh, troubles, enter } = await openDesk({
    onReopen: (next) => void (next.failure = "damaged"),
  });
  store.failure = "damaged";
  enter(WEB, "critical");
  await ledger.flush();
  assert.strictEqual(fresh.length, 1);
  await ledger.flush();
  assert.ok(fresh.length <= 3, `${fresh.length} stores were opened`);
  assert.deepStrictEqual([troubles, ledger.waiting], [["damaged"], 1]);
});

Deno.test("flush() keeps every change of a long outage, and gives up the roll-ups of very many runs", async (t) => {
  const rows = [
    { name: "few runs", runs: 2_000, keepsAll: true },
    { name: "very many runs", runs: 25_000, keepsAll: false },
  ];
  for (const { name, runs, keepsAll } of rows) {
    await t.step(name, async () => {
      const { ledger, store, enter } = await openDesk();
      store.failure = "full";
      const expected: string[] = [];
      for (let run = 0; run < runs; run++) {
        const condition = run % 10 < 5 ? "ok" : "critical";
        const { notification } = enter(WEB, condition, { nowMs: NOW + run, output: `run ${run}` });
        if (notification !== null) {
          expected.push(`web: ${notification.previous} to ${notification.condition}`);
        }
        enter(MAIL, "ok", { nowMs: NOW + run, output: `run ${run}` });
        if (run % 1000 === 999) await ledger.flush();
      }
      assert.ok(ledger.waiting <= 10_000, `${ledger.waiting} updates wait`);
      store.failure = null;
      await ledger.flush();
      assert.deepStrictEqual(changesIn(store.saved), expected);
      const outputs = new Set(store.saved.flat().map(({ record }) => record.last?.output));
      assert.deepStrictEqual([...outputs], [`run ${runs - 1}`], "long outputs do not pile up");
      assert.deepStrictEqual(
        (await store.records()).toSorted((one, other) => other.name.localeCompare(one.name)),
        ["web", "mail"].map((known) => ledger.recordOf(known, NOW)),
      );
      const [rollup] = await store.rollups("web", 0);
      const observed = rollup === undefined ? 0 : rollup.observed.ok + rollup.observed.critical;
      assert.strictEqual(observed === runs, keepsAll);
    });
  }
});

Deno.test("enter() says how long the condition confirmed before has lasted, where somebody looked", async (t) => {
  const rows = [
    { name: "never observed", sinceMs: null, expected: 0 },
    { name: "an interval", sinceMs: MINUTE, expected: MINUTE },
    { name: "two intervals", sinceMs: 2 * MINUTE, expected: 2 * MINUTE },
    { name: "a long gap", sinceMs: DAY, expected: 2 * MINUTE },
    { name: "the clock was set back", sinceMs: -HOUR, expected: 0 },
  ];
  for (const { name, sinceMs, expected } of rows) {
    await t.step(name, async () => {
      const { ledger, store, enter } = await openDesk();
      if (sinceMs !== null) enter(WEB, "critical", { nowMs: NOW - sinceMs });
      enter(WEB, "ok");
      await ledger.flush();
      const rollup = store.saved[0]?.at(-1)?.rollup;
      assert.strictEqual(rollup?.lastedMs, expected);
      assert.strictEqual(rollup?.lasted, sinceMs === null ? "ok" : "critical");
    });
  }
});

Deno.test("tidy() notes once a day that the config still has a check that does not run", async () => {
  const { ledger, store, enter } = await openDesk();
  enter(WEB, "ok");
  await ledger.tidy([WEB], NOW + HOUR);
  assert.deepStrictEqual(store.attempts, [1]);
  await ledger.tidy([WEB, MAIL], NOW + 25 * HOUR);
  assert.deepStrictEqual(store.attempts, [1, 1]);
  assert.deepStrictEqual((await store.records()).map(({ name, seenAtMs }) => [name, seenAtMs]), [
    ["web", NOW + 25 * HOUR],
  ]);
});

Deno.test("tidy() forgets a check that left the config 30 days ago, not one that came back", async () => {
  const { ledger, store, enter } = await openDesk();
  enter(WEB, "critical");
  enter(MAIL, "ok");
  for (let day = 1; day <= 29; day++) await ledger.tidy([MAIL], NOW + day * DAY);
  assert.strictEqual(ledger.recordOf("web", NOW).condition.confirmed, "critical");
  for (let day = 30; day <= 33; day++) await ledger.tidy([MAIL], NOW + day * DAY);
  assert.strictEqual(ledger.recordOf("web", NOW).condition.observed, null);
  assert.deepStrictEqual((await store.records()).map(({ name }) => name), ["mail"]);
  assert.strictEqual(ledger.recordOf("mail", NOW).condition.observed, "ok");
});

Deno.test("finish() with a clock 15 months ahead deletes nothing, and the next call notes the right time again", async () => {
  const before = await openDesk();
  before.enter(WEB, "critical");
  before.enter(MAIL, "critical");
  await before.ledger.tidy([WEB, MAIL], NOW);
  const { store } = before;
  const { ledger, enter } = await openDesk({ store });
  const aheadMs = NOW + 456 * DAY;
  enter(WEB, "critical", { nowMs: aheadMs });
  await ledger.finish([WEB], aheadMs);
  assert.strictEqual(ledger.recordOf("mail", NOW).condition.observed, "critical");
  assert.deepStrictEqual((await store.records()).map(({ name, seenAtMs }) => [name, seenAtMs]), [
    ["web", aheadMs],
    ["mail", NOW],
  ]);
  assert.strictEqual((await store.changes("web", { sinceMs: 0, limit: 9 })).length, 1);
  for (const name of ["web", "mail"]) assert.strictEqual((await store.rollups(name, 0))[0]?.startMs, NOW);
  await ledger.tidy([WEB], NOW + HOUR);
  assert.strictEqual(ledger.recordOf("web", NOW).seenAtMs, NOW + HOUR);
});

Deno.test("tidy() prunes one step a call and says whether that was all", async () => {
  const { ledger, store } = await openDesk();
  store.pruneCalls = 3;
  const answers: boolean[] = [];
  for (let call = 0; call < 3; call++) answers.push((await ledger.tidy([], NOW)).finished);
  assert.deepStrictEqual(answers, [false, false, true]);
});

Deno.test("tidy() goes on where the store cannot forget, and replaces it where it turns out damaged", async () => {
  const { ledger, store, fresh, troubles, enter } = await openDesk();
  enter(WEB, "critical");
  await ledger.flush();
  store.failure = "full";
  assert.deepStrictEqual(await ledger.tidy([WEB], NOW), { finished: true, forgotten: [] });
  store.failure = "damaged";
  assert.deepStrictEqual(await ledger.tidy([WEB], NOW), { finished: true, forgotten: [] });
  enter(MAIL, "ok");
  await ledger.flush();
  assert.deepStrictEqual((await fresh[0]?.records())?.map(({ name }) => name), ["web", "mail"]);
  assert.deepStrictEqual(troubles, ["damaged", null], "so that what else was kept there is written anew");
});

Deno.test("finish() writes what waits and prunes to the end, in the first process of an hour only", async (t) => {
  const rows = [
    { name: "the first process of all", lastMs: null, expected: 4 },
    { name: "the first of the hour", lastMs: NOW - 1, expected: 4 },
    { name: "a later one", lastMs: NOW, expected: 0 },
  ];
  for (const { name, lastMs, expected } of rows) {
    await t.step(name, async () => {
      const before = await openDesk();
      if (lastMs !== null) before.enter(WEB, "ok", { nowMs: lastMs });
      await before.ledger.flush();
      const { store } = before;
      const { ledger, enter } = await openDesk({ store });
      store.pruneCalls = 4;
      enter(WEB, "critical", { nowMs: NOW + 30 * MINUTE });
      await ledger.finish([WEB], NOW + 30 * MINUTE);
      assert.strictEqual(store.pruned, expected);
      assert.deepStrictEqual(changesIn(store.saved), ["web: ok to critical"]);
    });
  }
});

/** One step of the random walk. */
type Step =
  | { readonly step: "enter"; readonly check: number; readonly condition: Condition }
  | { readonly step: "flush" }
  | { readonly step: "fail"; readonly failure: StoreFailure | null }
  | { readonly step: "restart" };

const STEP: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      step: fc.constant("enter" as const),
      check: fc.nat(2),
      condition: fc.constantFrom(...CONDITIONS),
    }),
  },
  { weight: 4, arbitrary: fc.constant({ step: "flush" as const }) },
  {
    weight: 2,
    arbitrary: fc.record({
      step: fc.constant("fail" as const),
      failure: fc.constantFrom<StoreFailure | null>("full", "busy", "other", null, null),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ step: "restart" as const }) },
);

Deno.test("flush() keeps every change once and every run in its roll-up, whatever fails in between", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { maxLength: 80 }), async (steps) => {
      const store = createFaultyStore();
      const checks = [1, 2, 3].map((threshold) => testCheck("ok", { name: `check ${threshold}`, threshold }));
      let desk = await openDesk({ store });
      let nowMs = NOW;
      const expected: string[] = [];
      let observations = 0;
      for (const step of steps) {
        nowMs += SECOND;
        if (step.step === "flush") await desk.ledger.flush();
        else if (step.step === "fail") store.failure = step.failure;
        else if (step.step === "restart") {
          store.failure = null;
          await desk.ledger.flush();
          desk = await openDesk({ store });
        } else {
          const check = checks[step.check] ?? WEB;
          const before = desk.ledger.recordOf(check.name, nowMs).condition.confirmed;
          const { record, notification } = desk.enter(check, step.condition, { nowMs });
          observations++;
          const after = record.condition.confirmed;
          if (before !== after) expected.push(`${check.name}: ${before} to ${after}`);
          assert.strictEqual(notification !== null, before !== after);
        }
      }
      store.failure = null;
      await desk.ledger.flush();
      assert.deepStrictEqual(changesIn(store.saved), expected);
      for (const record of await store.records()) {
        assert.deepStrictEqual(record, desk.ledger.recordOf(record.name, nowMs));
      }
      assert.strictEqual(await countObservations(store, checks), observations);
    }),
  );
});

async function countObservations(store: Store, checks: readonly Check[]): Promise<number> {
  let count = 0;
  for (const { name } of checks) {
    for (const { observed } of await store.rollups(name, 0)) {
      count += observed.ok + observed.unknown + observed.warning + observed.critical;
    }
  }
  return count;
}

Deno.test("enter() writes nothing of a store's that was closed under it, and says so", async () => {
  const inner = createMemoryStore();
  const { ledger, troubles, enter } = await openDesk({ store: createFaultyStore(inner) });
  await inner.close();
  enter(WEB, "critical");
  await ledger.flush();
  assert.deepStrictEqual(troubles, ["other"]);
});
