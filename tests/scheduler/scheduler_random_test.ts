/**
 * The whole loop under random operations: reloads, clocks that jump, a process that stalls, restarts, targets that
 * are slow or hang, and a store that fails. Afterwards, each check runs at its rate, and each change of a confirmed
 * condition was sent once and stored once.
 */
import assert from "node:assert/strict";
import fc from "../support/property.ts";
import type { Check } from "../../src/domain/check.ts";
import type { Condition, ShownCondition } from "../../src/domain/condition.ts";
import { conditionOf } from "../../src/engine/check_status.ts";
import type { CheckRecord, StoreFailure } from "../../src/domain/store.ts";
import { intervalsOf, requestCheck } from "../support/checks.ts";
import { createFakeClock, type FakeClock } from "../../testing/fake_clock.ts";
import { type FaultyStore, openFaultyStore } from "../support/faulty_store.ts";
import type { FakeResponse } from "../../testing/fake_targets.ts";
import { type SchedulerHarness, startHarness } from "../support/scheduler_harness.ts";
import { campaign } from "../../testing/seed.ts";

/** How many random walks are taken; more in a soak: `WALK_ROUNDS=2000 deno test -A tests/scheduler/scheduler_random_test.ts`. */
const ROUNDS = Number(Deno.env.get("WALK_ROUNDS") ?? campaign(50, 1));

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const START = Date.UTC(2026, 0, 31, 10);
/** After the last fault: the store is retried within 16 s, and the longest run has ended. */
const CALM_MS = 2 * MINUTE;
const TIMEOUT_MS = 12 * SECOND;

/** The behavior of a check's target. */
interface Behaviour {
  readonly status: 200 | 500;
  /** `null`: it hangs. */
  readonly afterMs: number | null;
}

const CHECK: fc.Arbitrary<Check> = fc.record({
  index: fc.nat(4),
  threshold: fc.integer({ min: 1, max: 3 }),
  recoveryThreshold: fc.integer({ min: 1, max: 3 }),
  regularIntervalMs: fc.constantFrom(1, 2, 7, 30).map((seconds) => seconds * SECOND),
  attentiveIntervalMs: fc.constantFrom(1, 2, 7, 30).map((seconds) => seconds * SECOND),
  /** Another target of the same name. */
  path: fc.constantFrom("", "", "new"),
}).map(({ index, path, ...options }) =>
  requestCheck(`http://check${index}/${path}`, { ...options, name: `check${index}`, timeoutMs: TIMEOUT_MS })
);

const CHECKS = fc.uniqueArray(CHECK, { maxLength: 5, size: "max", selector: ({ name }) => name });

const MS = fc.oneof(
  fc.integer({ min: 0, max: 900 }),
  fc.integer({ min: 0, max: 30 * SECOND }),
  fc.constant(100 * SECOND),
);

const BEHAVIOUR: fc.Arbitrary<Behaviour> = fc.record({
  status: fc.constantFrom<200 | 500>(200, 500),
  afterMs: fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 50 }) },
    { weight: 2, arbitrary: fc.integer({ min: 0, max: 20 * SECOND }) },
    { weight: 1, arbitrary: fc.constant(null) },
  ),
});

const STEP = fc.oneof(
  { weight: 8, arbitrary: MS.map((ms) => ({ step: "advance", ms }) as const) },
  { weight: 3, arbitrary: CHECKS.map((checks) => ({ step: "reload", checks }) as const) },
  {
    weight: 2,
    arbitrary: fc.oneof(MS, MS.map((ms) => -ms), fc.constantFrom(-3_600_000, 3_600_000))
      .map((ms) => ({ step: "jump", ms }) as const),
  },
  { weight: 1, arbitrary: MS.map((ms) => ({ step: "freeze", ms }) as const) },
  { weight: 1, arbitrary: MS.map((pauseMs) => ({ step: "restart", pauseMs }) as const) },
  {
    weight: 5,
    arbitrary: fc.tuple(fc.nat(4), BEHAVIOUR)
      .map(([check, behaviour]) => ({ step: "target", check, behaviour }) as const),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom<StoreFailure | null>("full", "busy", "damaged", null, null)
      .map((failure) => ({ step: "store", failure }) as const),
  },
);
type Step = typeof STEP extends fc.Arbitrary<infer S> ? S : never;

/** Targets that count how many requests each of them is answering. */
interface Targets {
  readonly behaviours: Map<string, Behaviour>;
  /** Checks that ran twice at a time. */
  readonly alongside: readonly string[];
  respond(target: string): FakeResponse | "hang";
  ended(target: string): void;
}

function createTargets(): Targets {
  const behaviours = new Map<string, Behaviour>();
  const asked = new Map<string, number>();
  const alongside: string[] = [];
  const add = (target: string, count: number): number => {
    const sum = (asked.get(nameOf(target)) ?? 0) + count;
    asked.set(nameOf(target), sum);
    return sum;
  };
  return {
    behaviours,
    alongside,
    respond: (target) => {
      if (add(target, 1) > 1) alongside.push(nameOf(target));
      const { status, afterMs } = behaviours.get(nameOf(target)) ?? { status: 200, afterMs: 5 };
      return afterMs === null ? "hang" : { status, afterMs };
    },
    ended: (target) => void add(target, -1),
  };
}

function nameOf(target: string): string {
  return new URL(target).host;
}

/** A scheduler that is restarted at times. */
interface Fake {
  readonly clock: FakeClock;
  readonly targets: Targets;
  /** All that were used, in order. */
  readonly stores: FaultyStore[];
  readonly harnesses: SchedulerHarness[];
  checks: readonly Check[];
  start(): Promise<void>;
}

async function createFake(checks: readonly Check[]): Promise<Fake> {
  const fake: Fake = {
    clock: createFakeClock(START),
    targets: createTargets(),
    stores: [await openFaultyStore()],
    harnesses: [],
    checks,
    start: async () => {
      const { clock, targets: { respond, ended }, stores } = fake;
      const reopen = async (): Promise<FaultyStore> => {
        stores.push(await openFaultyStore());
        return last(stores);
      };
      fake.harnesses.push(
        await startHarness(fake.checks, { clock, store: last(stores), respond, ended, reopen }),
      );
    },
  };
  await fake.start();
  return fake;
}

function last<T>(values: readonly T[]): T {
  return values.at(-1) ?? assert.fail("there is none");
}

async function take(fake: Fake, step: Step): Promise<void> {
  const { clock, targets, stores, harnesses } = fake;
  if (step.step === "advance") await clock.advance(step.ms);
  else if (step.step === "jump") clock.stepWall(step.ms);
  else if (step.step === "freeze") clock.freeze(step.ms);
  else if (step.step === "target") targets.behaviours.set(`check${step.check}`, step.behaviour);
  else if (step.step === "store") last(stores).failure = step.failure;
  else if (step.step === "reload") {
    fake.checks = step.checks;
    last(harnesses).reload(step.checks);
  } else {
    // Data that the store cannot write at the end is lost with the process; so it can.
    last(stores).failure = null;
    await last(harnesses).end();
    await clock.advance(step.pauseMs);
    await fake.start();
  }
}

interface Notified {
  readonly name: string;
  readonly from: ShownCondition;
  readonly to: Condition;
}

/** Asserts that the changes of each check are these, in this order. */
function assertSame(actual: readonly Notified[], expected: readonly Notified[], what: string): void {
  const byName = (notified: readonly Notified[]): unknown =>
    [...Map.groupBy(notified, ({ name }) => name)].toSorted(([one], [other]) => one.localeCompare(other));
  assert.deepStrictEqual(byName(actual), byName(expected), what);
}

/** Returns the changes of the confirmed conditions in the results. An ok of a check that was overdue is pending. */
function confirmedMoves(harnesses: readonly SchedulerHarness[]): readonly Notified[] {
  const records = new Map<string, CheckRecord>();
  const moves: Notified[] = [];
  for (
    const { name, check, condition, entry: { record } } of harnesses.flatMap((harness) => harness.runs())
  ) {
    const before = records.get(name);
    const wasKnown = before !== undefined &&
      conditionOf(check, before, record.seenAtMs).state === "current";
    const known = before?.condition.confirmed ?? "pending";
    const from = known === "ok" && !wasKnown && condition !== "ok" ? "pending" : known;
    const to = record.condition.confirmed ?? "pending";
    records.set(name, record);
    if (to === "pending") assert.notEqual(from, "ok", "a known ok stays");
    else if (from !== to && !(from === "pending" && to === "ok")) moves.push({ name, from, to });
  }
  return moves;
}

async function assertInvariants(first: readonly Check[], steps: readonly Step[]): Promise<number> {
  const fake = await createFake(first);
  for (const step of steps) await take(fake, step);

  // Calm: every target responds at once and the store accepts everything.
  fake.targets.behaviours.clear();
  last(fake.stores).failure = null;
  await fake.clock.advance(CALM_MS);
  const before = last(fake.harnesses).runs().length;
  await fake.clock.advance(CALM_MS);

  const calm = Map.groupBy(last(fake.harnesses).runs().slice(before), ({ name }) => name);
  assert.deepStrictEqual([...calm.keys()].toSorted(), fake.checks.map(({ name }) => name).toSorted());
  for (const check of fake.checks) {
    const { name } = check;
    const { regularIntervalMs } = intervalsOf(check);
    const runs = calm.get(name) ?? [];
    const expected = CALM_MS / regularIntervalMs;
    assert.ok(Math.abs(runs.length - expected) <= 1, `${name} ran ${runs.length} times, not ${expected}`);
    for (const [index, { startedAtMs }] of runs.slice(1).entries()) {
      assert.equal(startedAtMs - (runs[index]?.startedAtMs ?? 0), regularIntervalMs, `${name}: gap ${index}`);
    }
    for (const { lateMs } of runs) assert.ok(lateMs < 2, `${name} was ${lateMs} ms late`);
  }
  await last(fake.harnesses).end();

  assert.deepStrictEqual(fake.targets.alongside, [], "no check has two runs at a time");
  const moves = confirmedMoves(fake.harnesses);
  const notifications = fake.harnesses.flatMap((harness) => harness.notifications())
    .map(({ check, previous, condition }) => ({ name: check, from: previous, to: condition }));
  assertSame(notifications, moves, "every change is sent once");
  const saved = fake.stores.flatMap(({ saved }) => saved.flat())
    .flatMap(({ change }) =>
      change === null ? [] : [{ name: change.name, from: change.from, to: change.to }]
    );
  assertSame(saved, moves, "every change is kept once");
  return moves.length;
}

Deno.test("new Scheduler() keeps its guarantees after random events", async () => {
  let moves = 0;
  await fc.assert(
    fc.asyncProperty(
      CHECKS,
      fc.array(STEP, { maxLength: campaign(120, 60), size: "max" }),
      async (checks, steps) => {
        moves += await assertInvariants(checks, steps);
      },
    ),
    { numRuns: ROUNDS },
  );
  assert.ok(moves >= Math.floor(ROUNDS / 2), `only ${moves} changes were looked at`);
});
