import assert from "node:assert/strict";
import { groupKind } from "../../src/checks/group.ts";
import type { CheckOf } from "../../src/domain/check.ts";
import type { GroupParameters } from "../../src/domain/generated/config.ts";
import type { KnownCondition, ObserveContext } from "../../src/domain/check_kind.ts";
import { type Condition, countedAs, type ShownCondition } from "../../src/domain/condition.ts";
import { load, problemsOf } from "../../testing/config_system.ts";
import { fieldsOf, linesOf, testTable } from "../support/rows.ts";
import { problemTexts } from "../support/observe_check.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";

async function groupOf(parameters: Partial<GroupParameters>): Promise<CheckOf<"group">> {
  const { checks } = await load({
    defaults: {},
    checks: { g: { kind: "group", parameters: { checks: ["a"] } }, a: { kind: "test", parameters: {} } },
  });
  const [check] = checks;
  if (check?.kind !== "group") throw new Error("The config has a group");
  return { ...check, parameters: { ...check.parameters, ...parameters } };
}

function current(condition: ShownCondition, last = countedAs(condition)): KnownCondition {
  return { condition, state: "current", last };
}

const NEVER_RAN: KnownCondition = { condition: "unknown", state: "never_ran", last: null };
const OVERDUE: KnownCondition = { condition: "unknown", state: "overdue", last: "ok" };

function contextOf(conditions: Readonly<Record<string, Condition>>): ObserveContext {
  return {
    system: createMemorySystem(),
    jobs: null,
    conditionOf: (name) => {
      const condition = conditions[name];
      return condition === undefined ? null : current(condition);
    },
    directory: "/",
    signal: new AbortController().signal,
  };
}

Deno.test("groupKind returns the highest severity beyond the checks that may fail", async (t) => {
  const table = `
    ok ok ok            |               | ok: 3 of 3 ok
    ok warning critical |               | critical: 1 of 3 ok, expected all: "c" is critical, "b" is warning
    ok ok unknown       |               | unknown: 2 of 3 ok, expected all: "c" is unknown
    ok critical critical | require=any  | ok: 1 of 3 ok: "b" is critical, "c" is critical
    warning critical critical | require=any | \\
      warning: 0 of 3 ok, expected at least 1: "b" is critical, "c" is critical, "a" is warning
    ok ok critical      | atLeast=2     | ok: 2 of 3 ok: "c" is critical
    ok warning critical | atLeast=2     | warning: 1 of 3 ok, expected at least 2: "c" is critical, "b" is warning
    critical ok critical | atLeast=2    | critical: 1 of 3 ok, expected at least 2: "a" is critical, "c" is critical`;
  await testTable(t, table, async (conditions, required, expected) => {
    const check = await groupOf({ checks: ["a", "b", "c"], ...fieldsOf<object>(required) });
    const [a, b, c] = conditions.split(" ") as [Condition, Condition, Condition];
    const { condition, output, metrics } = await groupKind.observe(check, contextOf({ a, b, c }));
    assert.equal(`${condition}: ${output}`, expected);
    assert.deepEqual(metrics, { ok_count: conditions.match(/ok/g)?.length ?? 0, check_count: 3 });
  });
  await t.step("inactive checks are left out, but not counted as ok", async () => {
    const checks = ["a", "gone", "b"];
    const all = await groupKind.observe(await groupOf({ checks }), contextOf({ a: "ok", b: "ok" }));
    assert.deepEqual([all.condition, all.output], ["ok", "2 of 3 ok, 1 inactive"]);
    const check = await groupOf({ checks, atLeast: 3 });
    const result = await groupKind.observe(check, contextOf({ a: "ok", b: "ok" }));
    assert.deepEqual([result.condition, result.output], ["unknown", "2 of 3 ok, 1 inactive, expected all"]);
    for (const required of [{}, { require: "any" }, { atLeast: 2 }, { atLeast: 3 }] as const) {
      const conditions = { a: required.require === "any" ? "critical" : "ok", b: "critical" } as const;
      const { condition } = await groupKind.observe(
        await groupOf({ checks, ...required }),
        contextOf(conditions),
      );
      assert.equal(condition, "critical", JSON.stringify(required));
    }
    const none = await groupKind.observe(check, contextOf({}));
    assert.deepEqual([none.condition, none.output], ["unknown", "none of its checks is active"]);
  });
  await t.step("checks whose condition is not known are unknown", async () => {
    const known: Readonly<Record<string, KnownCondition>> = {
      ok: current("ok"),
      pending: current("pending", "critical"),
      late: OVERDUE,
      never: NEVER_RAN,
      ahead: { condition: "unknown", state: "in_future", last: "ok" },
    };
    const observe = async (parameters: Partial<GroupParameters>): Promise<readonly string[]> => {
      const check = await groupOf({ checks: Object.keys(known), ...parameters });
      const conditionOf = (name: string): KnownCondition => known[name] ?? current("ok");
      const { condition, output } = await groupKind.observe(check, { ...contextOf({}), conditionOf });
      return [condition, output];
    };
    const others = '"late" is overdue, "never" did not run, "ahead" is unknown, "pending" is pending';
    assert.deepEqual(await observe({}), ["unknown", `1 of 5 ok, expected all: ${others}`]);
    assert.deepEqual(await observe({ require: "any" }), ["ok", `1 of 5 ok: ${others}`]);
    assert.deepEqual(await observe({ atLeast: 2 }), ["unknown", `1 of 5 ok, expected at least 2: ${others}`]);
  });
  await t.step("a result may only wait for checks, or for the first run of a job", async () => {
    const states: Readonly<Record<string, KnownCondition>> = {
      ok: current("ok"),
      pending: current("pending"),
      unknown: current("unknown"),
      critical: current("critical"),
      never: NEVER_RAN,
      overdue: OVERDUE,
      edited: { ...OVERDUE, state: "edited" },
      // A job that never ran, and a check that runs again at a cron time.
      job: { condition: "pending", state: "current", last: null },
      cron: { ...OVERDUE, state: "edited", isLater: true },
    };
    const rows = `
      after a start or a long stop, the others run soon | never | ok never | checks
      | overdue  | overdue overdue  | checks
      | overdue  | unknown overdue  | nothing
      | overdue  | pending overdue  | checks
      as long as nothing is confirmed, neither is a check that did not run | never | pending never | checks
      | pending  | pending never    | checks
      | pending  | ok overdue       | checks
      | pending  | critical never   | nothing
      | ok       | pending ok       | checks
      | ok       | edited ok        | checks
      later, it is news | ok | ok overdue | nothing
      | ok       | never ok         | nothing
      a job that was added is none, however late it runs | ok | job ok | job
      | pending  | job pending      | checks
      | ok       | job unknown      | nothing
      | ok       | job critical     | nothing
      neither is a cron time, but a problem of before may be its | ok | cron ok | job
      | pending  | cron job         | job
      | critical | cron ok          | checks`;
    for (const [, group = "", members = "", awaits] of linesOf(rows)) {
      const [a = "", b = ""] = members.split(" ");
      const conditionOf = (name: string): KnownCondition =>
        states[name === "g" ? group : name === "a" ? a : b] ?? assert.fail(members);
      const check = await groupOf({ checks: ["a", "b"] });
      const result = await groupKind.observe(check, { ...contextOf({}), conditionOf });
      assert.equal(result.awaits ?? "nothing", awaits, `${group}: ${members}`);
    }
  });
  await t.step("a result that waits has when a check last recovered", async () => {
    const pending: KnownCondition = { condition: "pending", state: "current", last: null };
    const states: Readonly<Record<string, KnownCondition>> = {
      a: { ...current("ok"), recoveredAtMs: 5 },
      b: { ...pending, recoveredAtMs: 7 },
    };
    const conditionOf = (name: string): KnownCondition => states[name] ?? pending;
    const recoveredAtMs = async (...checks: readonly string[]): Promise<unknown> =>
      (await groupKind.observe(await groupOf({ checks }), { ...contextOf({}), conditionOf })).recoveredAtMs;
    assert.deepEqual(
      [await recoveredAtMs("a", "b", "c"), await recoveredAtMs("a", "c"), await recoveredAtMs("c")],
      [7, 5, 0],
    );
  });
  await t.step("a result does not wait for a job or a cron time while a check is failing", async () => {
    const states: Record<string, KnownCondition> = { a: current("critical"), c: current("ok") };
    const observe = async (parameters: Partial<GroupParameters>): Promise<readonly unknown[]> => {
      const check = await groupOf({ checks: ["a", "b", "c"], ...parameters });
      const conditionOf = (name: string): KnownCondition => states[name] ?? current("ok");
      const { condition, awaits = null } = await groupKind.observe(check, { ...contextOf({}), conditionOf });
      return [condition, awaits];
    };
    for (
      const b of [
        { condition: "pending", state: "current", last: null },
        { ...OVERDUE, state: "edited", isLater: true },
      ] as const
    ) {
      states["b"] = b;
      assert.deepEqual(await observe({ checks: ["a", "b"], require: "any" }), ["unknown", null]);
      assert.deepEqual(await observe({ atLeast: 2 }), ["unknown", null]);
      assert.deepEqual(await observe({ require: "any" }), ["ok", null]);
    }
  });
  await t.step("failures that are not confirmed yet are listed", async () => {
    const check = await groupOf({ checks: ["a", "b", "c"] });
    const conditionOf = (name: string): KnownCondition =>
      current(name === "c" ? "critical" : "ok", name === "a" ? "ok" : "critical");
    const { output } = await groupKind.observe(check, { ...contextOf({}), conditionOf });
    assert.equal(output, '2 of 3 ok (1 not confirmed yet: "b"), expected all: "c" is critical');
  });
  await t.step("a long list is cut", async () => {
    const names = Array.from({ length: 12 }, (_, index) => `n${index}`);
    const conditions = Object.fromEntries(names.map((name) => [name, "critical" as const]));
    const { output } = await groupKind.observe(await groupOf({ checks: names }), contextOf(conditions));
    assert.match(output, /"n9" is critical, and 2 more$/);
  });
});

Deno.test("loadConfig() rejects an invalid group", async (t) => {
  const config = (...groups: readonly (readonly string[])[]): object => ({
    defaults: {},
    checks: {
      a: { kind: "test", parameters: {} },
      ...Object.fromEntries(
        groups.map((checks, index) => [`g${index}`, { kind: "group", parameters: { checks } }]),
      ),
    },
  });
  const table = `
    [["a","bb"]]        | checks.g0.parameters.checks[1]: is "bb", expected the name of a check
    [["a","g1"],["g0"]] | checks.g0.parameters.checks: is a cycle: "g0" depends on "g1" depends on "g0"`;
  await testTable(t, table, async (groups, problem) => {
    assert.deepEqual(await problemsOf(config(...JSON.parse(groups))), [problem]);
  });
  const errors = `
    checks=["a","b","a"]           | checks.2: "a" is specified more than once
    checks=["a"] atLeast=2         | at_least: is 2, and the group has 1 checks
    checks=["a","b"] atLeast=1 require=any | require: cannot be used with "at_least"`;
  await testTable(t, errors, async (parameters, error) => {
    const group = await groupOf(fieldsOf(parameters));
    assert.deepEqual(problemTexts(groupKind.errors?.(group)), [error]);
  });
});
