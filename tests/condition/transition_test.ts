import assert from "node:assert/strict";
import type { Awaited, Reminders } from "../../src/domain/check.ts";
import type { Condition, ConditionState, ShownCondition, Suppression } from "../../src/domain/condition.ts";
import { type ConditionPolicy, review, type Transition, transition } from "../../src/condition/transition.ts";
import {
  dependencyHolds,
  dependencyIsUnknown,
  initialState,
  isAttentive,
} from "../../src/condition/condition_state.ts";
import { parseLetter } from "./traces.ts";
import { type Rows, testRows } from "../support/rows.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START_MS = 1_700_000_000_000;

Deno.test("transition() forgets an ok from before a time without runs", async (t) => {
  // `!` is the first result after such a time; expected are the condition, since which result, and both previous ones.
  const rows: Rows<[results: string, expected: string]> = {
    "a failure is pending": ["O !C", "- - - -"],
    "until the threshold": ["O !C C", "critical 2 pending pending"],
    "a failure that is enough": ["O C !C", "critical 2 pending pending"],
    "an ok is known again": ["O !C O C C", "critical 4 ok ok"],
    "an ok begins then": ["O !O", "ok 1 pending -"],
    "a problem goes on, and is known since then": ["W W !O", "warning 2 - -"],
    "a problem ends": ["W W !O O", "ok 3 warning warning"],
  };
  await testRows(t, rows, ([results, expected]) => {
    const policy = policyOf({ threshold: 2 });
    let state = initialState();
    let step: Transition | null = null;
    for (const [index, word] of results.split(" ").entries()) {
      const condition = parseLetter(word.replace("!", ""));
      const isAfterGap = word.startsWith("!");
      step = transition(policy, state, {
        condition,
        isAfterGap,
        suppressedBy: null,
        nowMs: START_MS + index,
      });
      state = step.state;
    }
    const { confirmed, confirmedSinceMs } = state;
    const sinceMs = confirmedSinceMs === null ? null : confirmedSinceMs - START_MS;
    const previous = step?.verdict.kind === "notify" ? step.verdict.previous : null;
    const found = [confirmed, sinceMs, step?.change?.from ?? null, previous];
    assert.equal(found.map((one) => one ?? "-").join(" "), expected);
  });
});

Deno.test("transition() counts no result from before a stop", () => {
  const policy = policyOf({ threshold: 3, recoveryThreshold: 2 });
  const resume = (observed: string, condition: Condition): ConditionState => {
    const { state } = last(run({ threshold: 3, recoveryThreshold: 2, observed }));
    const stopped = { isAfterGap: true, isInterrupted: true } as const;
    return transition(policy, state, { ...stopped, condition, suppressedBy: null, nowMs: START_MS + HOUR })
      .state;
  };
  const pending = resume("O C C", "critical");
  assert.deepEqual([pending.confirmed, pending.atLeast.critical], [null, 1]);
  assert.deepEqual([pending.problemBeganAtMs, pending.sinceLowered], [START_MS + HOUR, 1]);
  const ok = resume("O C C", "ok");
  assert.deepEqual([ok.confirmed, ok.problemBeganAtMs, ok.sinceLowered], ["ok", null, 1]);
  const problem = resume("C C C O", "ok");
  assert.deepEqual([problem.confirmed, problem.atMost.ok], ["critical", 1]);
  assert.ok((problem.problemBeganAtMs ?? 0) < START_MS + HOUR, "a problem goes on");
});

Deno.test("transition() counts no result that waits for another one", async (t) => {
  const policy = policyOf({ threshold: 2, recoveryThreshold: 2 });
  const options = { suppressedBy: null, condition: "unknown" } as const;
  const after = (observed: string): ConditionState =>
    run({ threshold: 2, recoveryThreshold: 2, observed }).at(-1)?.state ?? initialState();
  const wait = (
    state: ConditionState,
    awaits: Awaited,
    suppressedBy: Suppression | null = null,
    recoveredAtMs = START_MS + 8,
  ): Transition =>
    transition(policy, state, { ...options, suppressedBy, awaits, recoveredAtMs, nowMs: START_MS + 9 });
  await t.step("a job that never ran is not failing, others are", () => {
    const job = wait(initialState(), "job");
    assert.deepEqual(job.state, { ...initialState(), observedAtMs: START_MS + 9 });
    assert.deepEqual([job.change, job.verdict.kind, job.occurrences], [null, "quiet", 0]);
    assert.deepEqual([
      isAttentive(job.state),
      dependencyHolds(job.state, { problemBeganAtMs: START_MS, observedAtMs: Infinity }),
    ], [false, false]);
    const group = wait(initialState(), "checks");
    assert.deepEqual(group.state, { ...job.state, observed: "unknown" });
    assert.deepEqual([
      isAttentive(group.state),
      dependencyHolds(group.state, { problemBeganAtMs: START_MS, observedAtMs: Infinity }),
    ], [true, true]);
    assert.deepEqual(wait(group.state, "job").state, job.state);
  });
  await t.step("the threshold counts from the next result", () => {
    const first = transition(policy, wait(initialState(), "checks").state, { ...options, nowMs: START_MS });
    assert.equal(first.state.confirmed, null);
    assert.equal(transition(policy, first.state, { ...options, nowMs: START_MS }).state.confirmed, "unknown");
    const waited = transition(policy, wait(after("O W"), "job").state, { ...options, nowMs: START_MS + 10 });
    assert.deepEqual([waited.state.confirmed, waited.state.problemBeganAtMs], [null, START_MS + 10]);
  });
  await t.step("results from before an edit do not count", () => {
    const edited = { awaits: "checks", isAfterGap: true, isInterrupted: true, nowMs: START_MS } as const;
    const waited = transition(policy, after("O W"), { ...options, ...edited });
    assert.equal(transition(policy, waited.state, { ...options, nowMs: START_MS }).state.confirmed, null);
  });
  await t.step("an ok is no longer known", () => {
    const ok = wait(after("O W O"), "job").state;
    assert.deepEqual([ok.confirmed, ok.confirmedSinceMs, ok.leftAtMs.ok], [null, null, null]);
    assert.equal(ok.recent, after("O W O").recent);
  });
  await t.step("a problem goes on while other checks are awaited", () => {
    const waiting = { observed: "unknown", observedAtMs: START_MS + 9 };
    assert.deepEqual(wait(after("W W"), "checks").state, { ...after("W W"), ...waiting });
  });
  await t.step("a problem recovers while only a job is awaited, and nothing is ok", () => {
    const problem = after("W W");
    const first = wait(problem, "job");
    assert.deepEqual([first.state.confirmed, first.state.observed, first.change], ["warning", null, null]);
    const { state, change, verdict } = wait(first.state, "job");
    assert.deepEqual([change?.from, change?.to], ["warning", "ok"]);
    assert.deepEqual(verdict.kind === "notify" && [verdict.event, verdict.previous], ["recovery", "warning"]);
    assert.deepEqual([state.confirmed, state.notified, state.problemBeganAtMs], [null, "ok", null]);
    assert.deepEqual([
      isAttentive(state),
      dependencyHolds(state, { problemBeganAtMs: START_MS, observedAtMs: Infinity }),
    ], [false, false]);
    // The recovery would never be due again.
    for (const suppressedBy of ["overtaken", "no_notify"] as const) {
      const { verdict } = wait(wait(first.state, "job", suppressedBy).state, "job");
      assert.equal(verdict.kind === "notify" && verdict.event, "recovery");
    }
  });
  await t.step("a problem goes on if no check recovered since it began", () => {
    for (const recoveredAtMs of [0, after("W W").problemBeganAtMs ?? 0]) {
      const problem = wait(after("W W"), "job", null, recoveredAtMs);
      const { state, verdict } = wait(problem.state, "job", null, recoveredAtMs);
      assert.deepEqual([state.confirmed, state.observed, verdict.kind], ["warning", null, "quiet"]);
    }
  });
  await t.step("a recovery that flapping suppressed is not sent while the job is awaited", () => {
    const recent = "ow".repeat(11);
    const flapping = { ...after("W W"), recent, flappingSinceMs: START_MS, notifiedAtMs: START_MS };
    const once = { ...policy, recoveryThreshold: 1, flapping: "once" } as const;
    const awaited = { awaits: "job", recoveredAtMs: START_MS + 8, nowMs: START_MS + 9 } as const;
    const waited = transition(once, flapping, { ...options, ...awaited });
    assert.equal(waited.verdict.kind === "suppressed" && waited.verdict.suppressedBy, "flapping");
    assert.deepEqual([waited.state.confirmed, waited.state.notified], [null, "warning"]);
    assert.equal(review(waited.state, { suppressedBy: null, nowMs: START_MS + 10 }).verdict.kind, "quiet");
  });
  await t.step("a problem that was not notified recovers without notifications, too", () => {
    const problem = { ...after("W W"), notified: "ok" } as const;
    const { state } = wait(wait(problem, "job", "no_notify").state, "job", "no_notify");
    assert.deepEqual([state.confirmed, state.notified], [null, "ok"]);
  });
});

Deno.test("transition() sends a recovery during a suppression, and no problem", async (t) => {
  const rows = { silence: "", until_ok: "", maintenance: "", dependency: "" };
  await testRows(t, rows, (_, suppression) => {
    const observed = `W O/${suppression} C/${suppression} O/${suppression}`;
    assert.equal(tell({ observed, threshold: 1 }), "problem:warning recovery:ok suppressed:problem -");
  });
});

Deno.test("transition() subtracts a tenth from the interval between reminders", async (t) => {
  const problem = run({ threshold: 1, reminders: HOUR, observed: "W" });
  const table: Readonly<Record<string, { laterMs: number; kind: "notify" | "quiet" }>> = {
    "on time": { laterMs: HOUR, kind: "notify" },
    "a tenth early": { laterMs: 54 * MINUTE, kind: "notify" },
    "more than a tenth early": { laterMs: 54 * MINUTE - 1, kind: "quiet" },
    "the clock was set back a little": { laterMs: -10 * MINUTE, kind: "quiet" },
    "the clock was set back further than the interval": { laterMs: -400 * HOUR, kind: "notify" },
  };
  await testRows(t, table, ({ laterMs, kind }) => {
    const observed = { condition: "warning", suppressedBy: null, nowMs: START_MS + laterMs } as const;
    assert.equal(transition(policyOf({ reminders: HOUR }), last(problem).state, observed).verdict.kind, kind);
  });
});

Deno.test("transition() sends no reminder of an acknowledged problem", () => {
  const { state } = last(run({ threshold: 1, observed: "W" }));
  for (const reminders of [true, MINUTE] as const) {
    const observed = { condition: "warning", suppressedBy: null, nowMs: START_MS + HOUR } as const;
    const { verdict } = transition(policyOf({ reminders }), state, { ...observed, isAcknowledged: true });
    assert.deepEqual(verdict, { kind: "quiet" });
  }
});

Deno.test("transition() and review() use the channel that was last notified the longest ago", async (t) => {
  const wasCritical = last(run({ threshold: 1, observed: "C" })).state;
  const isOver = last(run({ threshold: 1, observed: "C O" })).state;
  const table: Rows<[
    ConditionState,
    known: readonly Condition[],
    expected: readonly [event: string, previous: ShownCondition] | null,
  ]> = {
    "all were notified": [wasCritical, ["critical", "critical"], null],
    "one was never notified": [wasCritical, ["critical", "ok"], ["problem", "pending"]],
    "one was notified of an earlier condition": [wasCritical, ["warning", "critical"], ["change", "warning"]],
    "there is no channel": [wasCritical, [], null],
    "one misses the recovery": [isOver, ["ok", "critical"], ["recovery", "critical"]],
  };
  const policy = { threshold: 1, recoveryThreshold: 1, flapping: "once", reminders: false } as const;
  await testRows(t, table, ([state, known, expected]) => {
    const nowMs = START_MS + HOUR;
    const condition = state.observed ?? "ok";
    const decided = [
      transition(policy, state, { condition, suppressedBy: null, nowMs, known: () => known }),
      review(state, { suppressedBy: null, nowMs, known: () => known }),
    ];
    for (const { verdict, state: after } of decided) {
      const due = verdict.kind === "notify" ? [verdict.event, verdict.previous] : null;
      assert.deepEqual(due, expected);
      if (verdict.kind === "notify") assert.equal(verdict.problemBeganAtMs, START_MS);
      assert.equal(after.notified, state.confirmed);
    }
    const suppressed = transition(policy, state, {
      condition,
      suppressedBy: "no_notify",
      nowMs,
      known: () => known,
    });
    assert.equal(suppressed.verdict.kind, expected === null ? "quiet" : "suppressed");
    const still = expected === null ? state.confirmed : known.find((one) => one !== state.confirmed);
    assert.equal(suppressed.state.notified, still, "it is still due");
  });
});

Deno.test("review() returns suppressed notifications without a new result", async (t) => {
  const nowMs = START_MS + HOUR;
  const suppressed = last(run({ observed: "W W W/silence" })).state;
  await t.step("when the suppression has ended", () => {
    const { verdict, state, change, occurrences } = review(suppressed, { suppressedBy: null, nowMs });
    assert.deepEqual(verdict.kind === "notify" && [verdict.event, verdict.previous], ["problem", "pending"]);
    assert.deepEqual([change, occurrences, state.notifiedAtMs], [null, 3, nowMs]);
    assert.equal(review(state, { suppressedBy: null, nowMs }).verdict.kind, "quiet");
  });
  await t.step("not while another suppression remains", () => {
    const { verdict, state } = review(suppressed, { suppressedBy: "maintenance", nowMs });
    assert.ok(verdict.kind === "suppressed" && verdict.suppressedBy === "maintenance");
    assert.deepEqual(state, suppressed);
  });
  await t.step("never a reminder, and nothing of a new check", () => {
    const events = last(run({ reminders: true, observed: "W W W" })).state;
    assert.equal(review(events, { suppressedBy: null, nowMs }).verdict.kind, "quiet");
    assert.equal(review(initialState(), { suppressedBy: null, nowMs }).verdict.kind, "quiet");
    assert.equal(review(initialState(), { suppressedBy: null, nowMs }).occurrences, 0);
  });
});

Deno.test("review() sends the problem of a flapping check to a channel that was notified of none", () => {
  const state = { ...stateAfter({ threshold: 1, observed: "C" }), flappingSinceMs: START_MS };
  const verdictOf = (...known: readonly Condition[]) =>
    review(state, { suppressedBy: null, nowMs: START_MS + HOUR, known: () => known }, { flapping: "once" })
      .verdict;
  assert.equal(verdictOf("critical", "critical").kind, "quiet");
  assert.equal(verdictOf("critical", "ok").kind, "notify");
});

Deno.test("review() leaves reminders as they are when a problem escalates", () => {
  const before = stateAfter({ threshold: 1, reminders: true, observed: "C C C" });
  const known = () => ["critical", "ok"] as const;
  const { verdict, state } = review(before, { suppressedBy: null, nowMs: START_MS + HOUR, known });
  assert.ok(verdict.kind === "notify" && verdict.event === "problem");
  assert.equal(state.reminders, 2);
  assert.equal(state.notifiedAtMs, before.notifiedAtMs);
});

Deno.test("dependencyHolds() returns true until a parent was ok since the problem began; without a result it is unknown", async (t) => {
  const table: Rows<[observed: string, beganMinutes: number, holds: boolean, isUnknown: boolean]> = {
    "no data": ["", 0, true, true],
    "ok before the problem began": ["O", 1, true, true],
    "a confirmed problem before it began": ["W W W", 5, true, true],
    "ok since the problem began": ["O O O", 1, false, false],
    "ok as the problem began": ["O O", 1, false, false],
    "a problem since": ["W W W", 1, true, false],
    "a failure that is not confirmed yet": ["O W", 5, true, false],
    "pending": ["W W", 5, true, false],
    "a confirmed problem, last result ok": ["W W W O", 1, true, false],
  };
  await testRows(t, table, ([observed, beganMinutes, holds, isUnknown]) => {
    const state = stateAfter({ observed });
    const beganMs = START_MS + beganMinutes * MINUTE;
    assert.deepEqual([
      dependencyHolds(state, { problemBeganAtMs: beganMs, observedAtMs: Infinity }),
      dependencyIsUnknown(state, beganMs),
    ], [holds, isUnknown]);
  });
});

interface Trace {
  /** 3 by default. */
  readonly threshold?: number;
  /** The threshold by default. */
  readonly recoveryThreshold?: number;
  readonly reminders?: Reminders;
  /** One result a minute; its suppression follows a slash: `"W W/silence"`. */
  readonly observed: string;
}

function policyOf(
  { threshold = 3, recoveryThreshold = threshold, reminders = false }: Partial<Trace>,
): ConditionPolicy {
  return { threshold, recoveryThreshold, flapping: "all", reminders };
}

function run(trace: Trace): Transition[] {
  let state = initialState();
  const steps = trace.observed.split(" ").filter((step) => step !== "");
  return steps.map((step, index) => {
    const [letter = "", suppressedBy = null] = step.split("/") as [string, Suppression?];
    const observed = { condition: parseLetter(letter), suppressedBy, nowMs: START_MS + index * MINUTE };
    const result = transition(policyOf(trace), state, observed);
    state = result.state;
    return result;
  });
}

/** Returns `event:condition`, `suppressed:event` or `-` for each result. */
function tell(trace: Trace): string {
  return run(trace).map(({ verdict }) => {
    if (verdict.kind === "notify") return `${verdict.event}:${verdict.condition}`;
    return verdict.kind === "suppressed" ? `suppressed:${verdict.event}` : "-";
  }).join(" ");
}

function stateAfter(trace: Trace): ConditionState {
  return run(trace).at(-1)?.state ?? initialState();
}

function last(transitions: readonly Transition[]): Transition {
  const transition = transitions.at(-1);
  assert.ok(transition !== undefined);
  return transition;
}
