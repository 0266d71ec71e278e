import assert from "node:assert/strict";
import fc from "../support/property.ts";
import type { Reminders } from "../../src/domain/check.ts";
import {
  type Condition,
  CONDITIONS,
  type ConditionState,
  severity,
  type Suppression,
} from "../../src/domain/condition.ts";
import {
  type ConditionPolicy,
  type ObservedResult,
  review,
  type Transition,
  transition,
} from "../../src/condition/transition.ts";
import { dueEvent, initialState, isAttentive } from "../../src/condition/condition_state.ts";
import { campaign } from "../../testing/seed.ts";

Deno.test("transition() agrees with DESIGN 4 worked out over the whole history", () => {
  fc.assert(
    fc.property(steps({ changing: true, once: true }), (history) => {
      assert.deepEqual(runMachine(history).map(sent), runDefinition(history));
    }),
    { numRuns: campaign(3000, 100) },
  );
});

Deno.test("review() returns the suppressed notification that the next check result would cause", () => {
  fc.assert(
    fc.property(steps({ changing: false }), (history) => {
      const state = runMachine(history).at(-1)?.state ?? initialState();
      const due = dueEvent(state);
      const circumstances = { suppressedBy: null, nowMs: 1e9 };
      const { verdict, state: after } = review(state, circumstances, { flapping: "all" });
      const isEnding = history.at(-1)?.condition === "ok" && due !== "recovery" &&
        severity(state.notified) < severity(state.confirmed ?? "ok");
      assert.equal(verdict.kind === "notify" ? verdict.event : null, isEnding ? null : due);
      assert.equal(dueEvent(after), isEnding ? due : null);
      assert.deepEqual({ ...after, ...notificationFields(state) }, state);
    }),
    { numRuns: campaign(1000) },
  );
});

Deno.test("transition() keeps the invariants of the state, and does not mutate its arguments", () => {
  fc.assert(
    fc.property(steps({ changing: true }), (history) => {
      let state: ConditionState = deepFreeze(initialState());
      for (const step of history) {
        // As if the process had ended and the next one had read the state back.
        state = deepFreeze(JSON.parse(JSON.stringify(transition(step.policy, state, step).state)));
        assert.equal(isAttentive(state), state.problemBeganAtMs !== null);
        assert.ok(state.notified === "ok" || state.notifiedProblemBeganAtMs !== null);
        assert.equal(state.confirmed === null, state.confirmedSinceMs === null);
        assert.equal(state.confirmed === null, state.leftAtMs.pending === null);
        assert.ok((state.confirmedSinceMs ?? 0) <= step.nowMs);
        assert.ok(CONDITIONS.every((condition) => state.atLeast[condition] + state.atMost[condition] > 0));
      }
      assert.deepEqual(state, runMachine(history).at(-1)?.state ?? initialState());
    }),
    { numRuns: campaign(1000) },
  );
});

interface Step extends ObservedResult {
  readonly policy: ConditionPolicy;
}

/** The values of the machine and of the definition that must agree after each result. */
interface Sent {
  readonly confirmed: Condition | null;
  readonly occurrences: number;
  readonly problemBeganAtMs: number | null;
  readonly notified: Condition;
  readonly verdict: string;
}

const SUPPRESSIONS: readonly Suppression[] = ["silence", "maintenance", "no_notify", "dependency"];

function steps(
  options: {
    readonly changing: boolean;
    /** Whether some checks that flap have one notification. */
    readonly once?: boolean;
  },
): fc.Arbitrary<readonly Step[]> {
  const policy: fc.Arbitrary<ConditionPolicy> = fc.record({
    threshold: fc.integer({ min: 1, max: 5 }),
    recoveryThreshold: fc.integer({ min: 1, max: 5 }),
    reminders: fc.oneof(
      fc.boolean(),
      fc.integer({ min: 1, max: 500 }),
      fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 3 }),
    ) as fc.Arbitrary<Reminders>,
    within: fc.integer({ min: 1, max: 9 }),
    flapping: options.once === true
      ? fc.constantFrom("all" as const, "once" as const)
      : fc.constant("all" as const),
  });
  const observed = fc.record({
    condition: fc.constantFrom(...CONDITIONS),
    times: fc.integer({ min: 1, max: 6 }),
    suppressedBy: fc.option(fc.constantFrom(...SUPPRESSIONS), { freq: 2 }),
    laterMs: fc.integer({ min: 1, max: 200 }),
    changed: options.changing ? fc.option(policy, { freq: 1 }) : fc.constant(null),
  });
  return fc.tuple(policy, fc.array(observed, { maxLength: 25, size: "max" })).map(([first, runs]) => {
    const result: Step[] = [];
    let policy = first;
    let nowMs = 0;
    for (const { condition, times, suppressedBy, laterMs, changed } of runs) {
      policy = changed ?? policy;
      for (let time = 0; time < times; time++) {
        nowMs += laterMs;
        result.push({ policy, condition, suppressedBy, nowMs });
      }
    }
    return result;
  });
}

function runMachine(history: readonly Step[]): Transition[] {
  let state = initialState();
  return history.map((step) => {
    const result = transition(step.policy, state, step);
    state = result.state;
    return result;
  });
}

function sent({ state, occurrences, verdict }: Transition): Sent {
  const { confirmed, problemBeganAtMs, notified } = state;
  const text = verdict.kind === "quiet" ? "quiet" : `${verdict.kind} ${verdict.event}`;
  const began = verdict.kind === "notify"
    ? ` from ${verdict.previous} since ${verdict.problemBeganAtMs}`
    : "";
  return { confirmed, occurrences, problemBeganAtMs, notified, verdict: text + began };
}

/**
 * The design as simply as possible: at each step everything is computed again from the list of all results, without
 * counters.
 */
function runDefinition(history: readonly Step[]): Sent[] {
  const results: Sent[] = [];
  const isFailing: boolean[] = [];
  let confirmed: Condition | null = null;
  let wasOk = false;
  let notified: Condition = "ok";
  let notifiedAtMs = -Infinity;
  let reminders = 0;
  let loweredAt = 0;
  let flappingSinceMs: number | null = null;
  let notifiedBeganAtMs: number | null = null;
  history.forEach((step, index) => {
    const seen = history.slice(0, index + 1);
    const conditions = seen.map(({ condition }) => condition);
    const next = confirmByDefinition(conditions, confirmed, { ...step.policy, loweredAt });
    if (confirmed !== null && next !== null && severity(next) < severity(confirmed)) loweredAt = seen.length;
    confirmed = next;
    wasOk ||= confirmed === "ok";
    const percent = changePercentByDefinition(conditions);
    const isFlapping: boolean = percent >= (flappingSinceMs === null ? 20 : 5);
    flappingSinceMs = isFlapping ? flappingSinceMs ?? step.nowMs : null;
    const isQuiet = step.policy.flapping === "once" && flappingSinceMs !== null &&
      notifiedAtMs >= flappingSinceMs && severity(confirmed ?? "ok") <= severity(notified);
    const hasProblem = confirmed !== null && confirmed !== "ok";
    isFailing.push(hasProblem || step.condition !== "ok");
    const firstFailing = history[isFailing.lastIndexOf(false) + 1];
    const began = isFailing.at(-1) === true ? firstFailing?.nowMs ?? null : null;
    const like = (condition: Condition) =>
      step.condition === "ok" ? condition === "ok" : severity(condition) >= severity(step.condition);
    const inARow = seen.length - 1 - seen.findLastIndex(({ condition }) => !like(condition));

    let event: string | null = null;
    if (confirmed !== null && confirmed !== notified) {
      event = confirmed === "ok" ? "recovery" : notified === "ok" ? "problem" : "change";
    } else if (hasProblem && step.condition !== "ok") {
      const { reminders: policy } = step.policy;
      const intervals = typeof policy === "boolean" ? [] : [policy].flat();
      const intervalMs = intervals[Math.min(reminders, intervals.length - 1)] ?? Infinity;
      const due = typeof policy === "boolean" ? policy : step.nowMs - notifiedAtMs >= intervalMs * 0.9;
      if (due) event = "reminder";
    }
    let verdict = "quiet";
    // What was suppressed may be over.
    const isEnding = step.condition === "ok" && severity(confirmed ?? "ok") > severity(notified);
    if (confirmed !== null && event !== null && !isEnding) {
      const isSuppressed = isQuiet ||
        step.suppressedBy !== null && (step.suppressedBy === "no_notify" || event !== "recovery");
      if (!isSuppressed) {
        const previous = event === "problem" && !wasOk ? "pending" : notified;
        verdict = `notify ${event} from ${previous} since ${
          event === "recovery" ? notifiedBeganAtMs : began
        }`;
        notifiedBeganAtMs = confirmed === "ok" ? null : began;
        notified = confirmed;
        notifiedAtMs = step.nowMs;
        reminders = event === "reminder" ? reminders + 1 : 0;
      } else {
        verdict = `suppressed ${event}`;
      }
    }
    results.push({ confirmed, occurrences: inARow, problemBeganAtMs: began, notified, verdict });
  });
  return results;
}

function confirmByDefinition(
  seen: readonly Condition[],
  confirmed: Condition | null,
  { threshold, recoveryThreshold, within = threshold, loweredAt }: ConditionPolicy & {
    readonly loweredAt: number;
  },
): Condition | null {
  const bySeverity = (conditions: readonly Condition[]) =>
    conditions.toSorted((one, other) => severity(one) - severity(other));
  const lowest = seen.length < threshold ? undefined : bySeverity(seen.slice(-threshold)).at(0);
  const last = seen.at(-1) ?? "ok";
  if (confirmed === null && last === "ok") return "ok";
  const reached = bySeverity(seen.slice(loweredAt).slice(-within)).at(-threshold) ?? "ok";
  const raised = within > threshold ? severity(reached) < severity(last) ? reached : last : lowest ?? "ok";
  if (severity(raised) > severity(confirmed ?? "ok")) return raised;
  if (confirmed === null) return null;
  const highest = seen.length < recoveryThreshold
    ? undefined
    : bySeverity(seen.slice(-recoveryThreshold)).at(-1);
  if (highest !== undefined && severity(highest) < severity(confirmed)) return highest;
  return confirmed;
}

/** The last 21 results have 20 changes; the weights grow from 0.8 to 1.2. */
function changePercentByDefinition(seen: readonly Condition[]): number {
  if (seen.length < 21) return 0;
  const last = seen.slice(-21);
  const weights = last.slice(1).map((one, index) => one === last[index] ? 0 : 0.8 + 0.4 * index / 19);
  return weights.reduce((sum, weight) => sum + weight, 0) * 5;
}

function notificationFields(
  { notified, notifiedAtMs, notifiedSinceMs, notifiedProblemBeganAtMs, reminders }: ConditionState,
): Partial<ConditionState> {
  return { notified, notifiedAtMs, notifiedSinceMs, notifiedProblemBeganAtMs, reminders };
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    Object.values(value).forEach(deepFreeze);
    Object.freeze(value);
  }
  return value;
}
