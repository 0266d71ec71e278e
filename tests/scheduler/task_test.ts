import assert from "node:assert/strict";
import { initialState } from "../../src/condition/transition.ts";
import type { Check } from "../../src/domain/check.ts";
import {
  createTask,
  type Task,
  type TaskEvent,
  type TaskState,
  transitionTask,
} from "../../src/scheduler/task.ts";
import { requestCheck } from "../support/checks.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** Now. */
const NOW = 1_800_000_000_000;

const CHECK = requestCheck("http://web/", { regularIntervalMs: MINUTE });
const IDLE: TaskState = { status: "idle", plannedMs: NOW, isSpread: false };
const QUEUED: TaskState = { status: "queued", plannedMs: NOW };
const RUNNING: TaskState = { status: "running", plannedMs: NOW, lateMs: 0 };
const DISCARDING: TaskState = { status: "discarding", plannedMs: NOW, hasStarted: true, againAfterMs: 1_000 };
const REMOVED: TaskState = { status: "removed", hasStarted: true };
const STATES = [IDLE, QUEUED, RUNNING, DISCARDING, REMOVED];

function after(state: TaskState, event: TaskEvent, { nowMs = NOW, check = CHECK } = {}): {
  readonly task: Task;
  readonly state: TaskState;
  readonly effects: readonly string[];
} {
  const record = { condition: initialState(), nextRunAtMs: null, last: null };
  const { task, effects } = transitionTask({ check, missedRuns: 0, state }, event, { nowMs, record });
  return { task, state: task.state, effects: effects.map(({ effect }) => effect) };
}

/** A check that runs at each full minute. */
const CALENDAR: Check = {
  ...CHECK,
  schedule: {
    attentiveIntervalMs: null,
    times: {
      expression: "* * * * *",
      timeZone: "UTC",
      after: (ms) => (Math.floor(ms / MINUTE) + 1) * MINUTE,
    },
  },
};

Deno.test("transition() leads a task through a run", () => {
  const record = { condition: initialState(), nextRunAtMs: null, last: null };
  const { task, effects } = createTask(CHECK, { record, nowMs: NOW });
  assert.ok(task.state.status === "idle" && task.state.plannedMs >= NOW);
  assert.deepEqual(effects, [{ effect: "plan", atMs: task.state.plannedMs }]);

  const due = after(IDLE, { event: "due" }, { nowMs: NOW + 3 });
  assert.deepEqual(due.state, QUEUED);
  assert.deepEqual(due.effects, ["start"]);

  const started = after(QUEUED, { event: "started" }, { nowMs: NOW + 5 });
  assert.deepEqual(started.state, { ...RUNNING, lateMs: 5 });
  assert.deepEqual(started.effects, ["report_late"]);

  const recorded = after(RUNNING, { event: "recorded", nextRunAtMs: NOW + MINUTE });
  assert.deepEqual(recorded.state, { status: "idle", plannedMs: NOW + MINUTE, isSpread: false });
  assert.deepEqual(recorded.effects, ["plan"]);
});

Deno.test("transition() ignores an event that does not fit the state", async (t) => {
  const events: readonly (readonly [TaskEvent, fits: readonly TaskState[]])[] = [
    [{ event: "due" }, [IDLE]],
    [{ event: "requested" }, [IDLE]],
    [{ event: "started" }, [QUEUED]],
    [{ event: "ended" }, [QUEUED, RUNNING, DISCARDING, REMOVED]],
  ];
  for (const [event, fits] of events) {
    for (const state of STATES.filter((one) => !fits.includes(one))) {
      await t.step(`${event.event} while ${state.status}`, () => {
        assert.deepEqual(after(state, event).state, state);
        assert.deepEqual(after(state, event).effects, []);
      });
    }
  }
});

Deno.test("transition() spreads a run that is late after a stall, once", () => {
  const nowMs = NOW + 30 * MINUTE;
  const first = after(IDLE, { event: "due" }, { nowMs });
  assert.ok(first.state.status === "idle" && first.state.isSpread);
  assert.ok(first.state.plannedMs >= nowMs && first.state.plannedMs <= nowMs + 3 * SECOND);
  assert.equal(first.task.missedRuns, 30);
  assert.deepEqual(first.effects, ["report_late", "plan"]);
  const second = after(first.state, { event: "due" }, { nowMs: nowMs + MINUTE });
  assert.equal(second.state.status, "queued");
});

Deno.test("transition() plans again after a run without a result that counts", async (t) => {
  for (const [state, delayMs] of [[QUEUED, 0], [RUNNING, 0], [DISCARDING, SECOND]] as const) {
    await t.step(state.status, () => {
      const { state: next, effects } = after(state, { event: "ended" }, { nowMs: NOW });
      assert.ok(next.status === "idle");
      assert.ok(next.plannedMs >= NOW + delayMs && next.plannedMs <= NOW + delayMs + 3 * SECOND);
      assert.deepEqual(effects, ["plan"]);
    });
  }
  await t.step("removed: the task is forgotten", () => {
    assert.deepEqual(after(REMOVED, { event: "ended" }).effects, ["forget"]);
  });
});

Deno.test("transition() plans a requested check at once", () => {
  const { state, effects } = after(IDLE, { event: "requested" }, { nowMs: NOW - 30 * SECOND });
  assert.deepEqual(state, { ...IDLE, plannedMs: NOW - 30 * SECOND });
  assert.deepEqual(effects, ["plan"]);
});

Deno.test("transition() completes the run of a removed check before it deletes the task", async (t) => {
  assert.deepEqual(after(IDLE, { event: "removed" }).effects, ["forget"]);
  const rows = [[QUEUED, false], [RUNNING, true], [DISCARDING, true], [REMOVED, true]] as const;
  for (const [state, hasStarted] of rows) {
    await t.step(state.status, () => {
      const next = after(state, { event: "removed" });
      assert.deepEqual(next.state, { status: "removed", hasStarted });
      assert.deepEqual(next.effects, ["abort"]);
    });
  }
});

Deno.test("transition() discards a run after a reload only if its target changed", async (t) => {
  const sameTarget: TaskEvent = { event: "reloaded", check: { ...CHECK, threshold: 3 } };
  const otherTarget: TaskEvent = {
    event: "reloaded",
    check: requestCheck("http://new/", { regularIntervalMs: MINUTE }),
  };
  for (const state of [QUEUED, RUNNING, DISCARDING]) {
    await t.step(state.status, () => {
      const same = after(state, sameTarget);
      assert.deepEqual([same.state, same.effects], [state, []]);
      assert.equal(same.task.check.threshold, 3);
      const other = after(state, otherTarget);
      assert.deepEqual(other.state, { ...DISCARDING, hasStarted: state !== QUEUED });
      assert.deepEqual(other.effects, ["abort"]);
    });
  }
  await t.step("a removed check that is added again waits for the end of its run", () => {
    assert.deepEqual(after(REMOVED, sameTarget).state, DISCARDING);
  });
  await t.step("idle: a new schedule replaces the plan", () => {
    assert.deepEqual(after(IDLE, otherTarget).effects, []);
    const schedule = { regularIntervalMs: SECOND, attentiveIntervalMs: SECOND };
    assert.deepEqual(after(IDLE, { event: "reloaded", check: { ...CHECK, schedule } }).effects, ["plan"]);
  });
});

Deno.test("transition() discards a run during which the clock jumped", async (t) => {
  for (const state of [QUEUED, RUNNING, DISCARDING]) {
    for (const jumpMs of [-MINUTE, MINUTE]) {
      await t.step(`${state.status}, ${jumpMs} ms`, () => {
        const next = after(state, { event: "clock_jumped", jumpMs });
        assert.deepEqual(next.state, {
          ...DISCARDING,
          hasStarted: state !== QUEUED,
          againAfterMs: 10 * SECOND,
        });
        assert.deepEqual(next.effects, ["abort"]);
      });
    }
    await t.step(`${state.status}, a small step`, () => {
      const next = after(state, { event: "clock_jumped", jumpMs: SECOND });
      assert.deepEqual([next.state, next.effects], [{ ...state, plannedMs: NOW + SECOND }, []]);
    });
  }
});

Deno.test("transition() plans an idle task at a clock jump", async (t) => {
  const jump = (jumpMs: number, plannedMs: number, check = CHECK): ReturnType<typeof after> =>
    after({ ...IDLE, plannedMs }, { event: "clock_jumped", jumpMs }, { nowMs: NOW, check });
  await t.step("after a suspend, an overdue run waits for the network", () => {
    const { state, task, effects } = jump(MINUTE, NOW - 59 * SECOND);
    assert.ok(state.status === "idle");
    assert.ok(state.plannedMs >= NOW + 10 * SECOND && state.plannedMs <= NOW + 13 * SECOND);
    assert.deepEqual([task.missedRuns, effects], [1, ["plan"]]);
  });
  await t.step("after a suspend, a later run stays", () => {
    assert.deepEqual(jump(MINUTE, NOW + MINUTE).state, { ...IDLE, plannedMs: NOW + MINUTE });
  });
  for (const jumpMs of [-MINUTE, -SECOND, SECOND]) {
    await t.step(`${jumpMs} ms: the timer of an interval stays`, () => {
      const { state, effects } = jump(jumpMs, NOW);
      assert.deepEqual([state, effects], [{ ...IDLE, plannedMs: NOW + jumpMs }, []]);
    });
    await t.step(`${jumpMs} ms: a cron schedule follows the wall clock`, () => {
      const { state, effects } = jump(jumpMs, NOW + MINUTE, CALENDAR);
      assert.deepEqual([state, effects], [{ ...IDLE, plannedMs: NOW + MINUTE }, ["plan"]]);
    });
  }
  await t.step("set back: a cron schedule plans the nearest time", () => {
    assert.deepEqual(jump(-10 * MINUTE, NOW + 11 * MINUTE, CALENDAR).state, {
      ...IDLE,
      plannedMs: NOW + MINUTE,
    });
  });
});
