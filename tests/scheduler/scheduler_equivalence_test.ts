/**
 * Run by cron, which calls `check --once --due` every minute, a config causes the same notifications as with the
 * continuous loop. Both sides are the program's own code on a fake clock; cron's opens its repository each minute
 * from the stored state of the last call, as processes do.
 */
import assert from "node:assert/strict";
import fc from "../support/property.ts";
import type { Check } from "../../src/domain/check.ts";
import { type Condition, CONDITIONS } from "../../src/domain/condition.ts";
import type { Notification } from "../../src/domain/notification.ts";
import type { Store } from "../../src/domain/store.ts";
import { openStateRepository, type StateRepository } from "../../src/state/state_repository.ts";
import { DEFAULT_LIMITS, runPass } from "../../src/scheduler/run_checks.ts";
import { isCheckDue, recordRequested } from "../../src/scheduler/next_run.ts";
import { splayOf } from "../../src/scheduler/plan.ts";
import { openInMemoryStore } from "../../src/state/sqlite/in_memory_store.ts";
import { Scheduler } from "../../src/scheduler/scheduler.ts";
import { intervalsOf } from "../support/checks.ts";
import { createSilentNotifying } from "../support/silent_notifying.ts";
import { createFakeClock, type FakeClock } from "../../testing/fake_clock.ts";
import type { MemorySystem } from "../../testing/memory_system.ts";
import { createProgramSystem, type FakeRun, programCheck } from "../support/fake_commands.ts";
import { campaign } from "../../testing/seed.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** On a minute, an hour and a day. */
const START = Date.UTC(2026, 0, 31);
const MINUTES = 90;
/** The timer that the project ships fires within a second (`AccuracySec=1s`). */
const JITTER_MAX = 900;
const RUN_MS = 5;

/** The condition of a check's target in each minute from the start on. */
type ConditionsByMinute = readonly Condition[];

interface Subject {
  readonly check: Check;
  readonly conditionsByMinute: ConditionsByMinute;
}

interface Scenario {
  readonly subjects: readonly Subject[];
  /** How late cron is in each minute. */
  readonly jitters: readonly number[];
}

const startOf = ({ jitters }: Scenario): number => START + (jitters[0] ?? 0);

async function driveByLoop(scenario: Scenario): Promise<readonly Notification[]> {
  const clock = createFakeClock(startOf(scenario));
  const notifications: Notification[] = [];
  const checks = scenario.subjects.map(({ check }) => check);
  const scheduler = new Scheduler({ checks, directory: "/", redact: (text) => text }, {
    // The loop is never late here: a run at this time was planned for it.
    system: createProgramSystem(clock, (name, nowMs) => fakeRun(scenario, name, nowMs)),
    jobs: null,
    repository: await open(await openInMemoryStore()),
    limits: DEFAULT_LIMITS,
    notifying: createSilentNotifying(),
    onEvent: (event) => {
      if (event.event === "result") assert.ok(event.lateMs < 1, `${event.lateMs} ms late`);
      if (event.event === "notification") notifications.push(event.notification);
    },
    onBug: (error) => {
      throw error;
    },
  });
  await clock.advance((MINUTES + 1) * MINUTE);
  const stopped = scheduler.stop(0);
  await clock.advance(1);
  await stopped;
  return notifications;
}

async function driveByCron(scenario: Scenario): Promise<readonly Notification[]> {
  const clock = createFakeClock(startOf(scenario));
  const store = await openInMemoryStore();
  const plans = new Map<string, number>();
  const system = createProgramSystem(
    clock,
    (name, nowMs) => fakeRun(scenario, name, plans.get(name) ?? nowMs),
  );
  const notifications: Notification[] = [];
  for (const [minute, jitter] of scenario.jitters.entries()) {
    await clock.advance(START + minute * MINUTE + jitter - clock.wallMs());
    const repository = await open(store);
    for (const { check: { name } } of scenario.subjects) {
      plans.set(name, repository.recordOf(name, clock.wallMs()).nextRunAtMs ?? firstPlan(name, scenario));
    }
    notifications.push(...await callOnce(scenario, { clock, system, repository }));
  }
  return notifications;
}

interface CallOptions {
  readonly clock: FakeClock;
  readonly system: MemorySystem;
  readonly repository: StateRepository;
}

/** One call of `check --once --due`. */
async function callOnce(
  scenario: Scenario,
  { clock, system, repository }: CallOptions,
): Promise<readonly Notification[]> {
  const nowMs = clock.wallMs();
  const checks = scenario.subjects.map(({ check }) => check);
  const notifications: Notification[] = [];
  const pass = runPass(
    checks.filter((check) => isCheckDue(check, repository.recordOf(check.name, nowMs), nowMs)),
    {
      system,
      jobs: null,
      directory: "/",
      limits: DEFAULT_LIMITS,
      signal: new AbortController().signal,
      redact: (text) => text,
      onResult: (result) => {
        const { notification } = recordRequested(repository, result, {
          nowMs: clock.wallMs(),
          suppressedBy: null,
          queue: () => [],
        });
        if (notification !== null) notifications.push(notification);
      },
    },
  );
  await clock.advance(RUN_MS);
  await pass;
  await repository.finish(checks, clock.wallMs());
  return notifications;
}

function open(store: Store): Promise<StateRepository> {
  return openStateRepository({
    store,
    onFailure: (error) => {
      throw error;
    },
    reopen: (error) => Promise.reject(error),
    // The compared notifications have no ids.
    newId: () => "notification",
    hostName: "test-host",
  });
}

/** The condition is that at the planned time, whenever the run really is: both sides have to share the plan. */
function fakeRun({ subjects }: Scenario, name: string, plannedMs: number): FakeRun {
  const minute = Math.max(0, Math.floor((plannedMs - START) / MINUTE));
  const conditions = subjects.find(({ check }) => check.name === name)?.conditionsByMinute;
  return { condition: conditions?.[minute] ?? "ok", afterMs: RUN_MS };
}

/** The loop's first run, within a tenth of the interval. */
function firstPlan(name: string, scenario: Scenario): number {
  const check = scenario.subjects.find((subject) => subject.check.name === name)?.check;
  const withinMs = Math.min(
    (check === undefined ? 0 : intervalsOf(check).regularIntervalMs) / 10,
    10 * SECOND,
  );
  return startOf(scenario) + Math.round(splayOf(name) * withinMs);
}

const LEVEL = fc.constantFrom<Condition>(...CONDITIONS, "ok", "critical");

/** Minutes in runs of a few, so that thresholds are reached. */
const CONDITIONS_BY_MINUTE: fc.Arbitrary<ConditionsByMinute> = fc.array(
  fc.tuple(LEVEL, fc.integer({ min: 1, max: 8 })),
  {
    minLength: 10,
    maxLength: 40,
  },
).map((spells) => spells.flatMap(([condition, minutes]) => Array<Condition>(minutes).fill(condition)));

const CHECK: fc.Arbitrary<Check> = fc.record({
  name: fc.stringMatching(/^[a-z]{1,6}$/),
  threshold: fc.integer({ min: 1, max: 4 }),
  recoveryThreshold: fc.integer({ min: 1, max: 4 }),
  // A reminder by an interval goes by the clock, not by the plan.
  reminders: fc.boolean(),
  regularIntervalMs: fc.integer({ min: 1, max: 9 }).map((minutes) => minutes * MINUTE),
  attentiveIntervalMs: fc.integer({ min: 1, max: 9 }).map((minutes) => minutes * MINUTE),
}).map((options) => programCheck(options));

/** Asserts that both sides notify the same for each check, in the same order; at the end one may be a run ahead. */
async function assertSame(scenario: Scenario, withinMs: number): Promise<number> {
  const [byLoop, byCron] = [await driveByLoop(scenario), await driveByCron(scenario)];
  for (const { check: { name } } of scenario.subjects) {
    const loop = byLoop.filter(({ check }) => check === name);
    const cron = byCron.filter(({ check }) => check === name);
    const shared = Math.min(loop.length, cron.length);
    assert.ok(Math.max(loop.length, cron.length) - shared <= 1, `${name}: ${loop.length} and ${cron.length}`);
    assert.deepStrictEqual(cron.slice(0, shared).map(timeless), loop.slice(0, shared).map(timeless));
    for (let index = 0; index < shared; index++) {
      const apartMs = Math.abs((loop[index]?.decidedAtMs ?? 0) - (cron[index]?.decidedAtMs ?? 0));
      assert.ok(apartMs <= withinMs, `${name}: notification ${index} is ${apartMs} ms apart`);
    }
  }
  return byLoop.length;
}

/** Returns a notification without fields that differ by the minute; the plan of the next run does not. */
function timeless({ decidedAtMs: _decided, problemBeganAtMs: _began, ...rest }: Notification): unknown {
  return rest;
}

const SUBJECT: fc.Arbitrary<Subject> = fc.record({ check: CHECK, conditionsByMinute: CONDITIONS_BY_MINUTE })
  .filter(({ check }) => {
    // One that is planned just after the calls runs a minute late each time, past a run at its offset.
    const { regularIntervalMs, attentiveIntervalMs } = intervalsOf(check);
    const toleranceMs = Math.min(Math.min(regularIntervalMs, attentiveIntervalMs) / 10, 30 * SECOND);
    return regularIntervalMs > MINUTE || splayOf(check.name) * toleranceMs + JITTER_MAX <= toleranceMs;
  });

const SCENARIO: fc.Arbitrary<Scenario> = fc.record({
  subjects: fc.uniqueArray(SUBJECT, { minLength: 1, maxLength: 3, selector: ({ check }) => check.name }),
  jitters: fc.array(fc.integer({ min: 0, max: JITTER_MAX }), {
    minLength: MINUTES + 1,
    maxLength: MINUTES + 1,
  }),
});

Deno.test("recordRequested() and the loop plan the same runs and send the same notifications", async () => {
  let notified = 0;
  await fc.assert(
    fc.asyncProperty(SCENARIO, async (scenario) => {
      notified += await assertSame(scenario, MINUTE + SECOND);
    }),
    { numRuns: campaign(100) },
  );
  assert.ok(notified > 60, `only ${notified} notifications were compared`);
});
