import assert from "node:assert/strict";
import { groupKind } from "../../src/checks/group.ts";
import type { GroupCheck } from "../../src/domain/check.ts";
import type { GroupParameters } from "../../src/domain/generated/config.ts";
import type { KnownCondition, ObserveContext } from "../../src/domain/check_kind.ts";
import type { Awaited } from "../../src/domain/result.ts";
import { type Condition, countedAs, type ShownCondition } from "../../src/domain/condition.ts";
import { load, problemsOf } from "../../testing/config_system.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";

async function groupOf(parameters: Partial<GroupParameters>): Promise<GroupCheck> {
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
  const [o, u, w, c] = ["ok", "unknown", "warning", "critical"] as const;
  const rows: readonly (readonly [
    conditions: readonly Condition[],
    required: Partial<GroupParameters>,
    condition: Condition,
    output: string,
  ])[] = [
    [[o, o, o], {}, o, "3 of 3 ok"],
    [[o, w, c], {}, c, '1 of 3 ok, expected all: "c" is critical, "b" is warning'],
    [[o, o, u], {}, u, '2 of 3 ok, expected all: "c" is unknown'],
    [[o, c, c], { require: "any" }, o, '1 of 3 ok: "b" is critical, "c" is critical'],
    [
      [w, c, c],
      { require: "any" },
      w,
      '0 of 3 ok, expected at least 1: "b" is critical, "c" is critical, "a" is warning',
    ],
    [[o, o, c], { atLeast: 2 }, o, '2 of 3 ok: "c" is critical'],
    [[o, w, c], { atLeast: 2 }, w, '1 of 3 ok, expected at least 2: "c" is critical, "b" is warning'],
    [[c, o, c], { atLeast: 2 }, c, '1 of 3 ok, expected at least 2: "a" is critical, "c" is critical'],
  ];
  for (const [conditions, required, condition, output] of rows) {
    await t.step(`${conditions.join()} ${JSON.stringify(required)}`, async () => {
      const check = await groupOf({ checks: ["a", "b", "c"], ...required });
      const [a = "ok", b = "ok", c = "ok"] = conditions;
      const result = await groupKind.observe(check, contextOf({ a, b, c }));
      assert.deepEqual([result.condition, result.output], [condition, output]);
      assert.deepEqual(result.metrics, {
        ok_count: conditions.filter((one) => one === "ok").length,
        check_count: 3,
      });
    });
  }
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
    const neverRun: KnownCondition = { condition: "pending", state: "current", last: null };
    const editedCron: KnownCondition = { ...OVERDUE, state: "edited", isLater: true };
    const rows: readonly (readonly [
      group: KnownCondition,
      members: readonly KnownCondition[],
      awaits: Awaited | null,
    ])[] = [
      // After a start or a long stop, the others run soon.
      [NEVER_RAN, [current("ok"), NEVER_RAN], "checks"],
      [OVERDUE, [OVERDUE, OVERDUE], "checks"],
      [OVERDUE, [current("unknown"), OVERDUE], null],
      [OVERDUE, [current("pending"), OVERDUE], "checks"],
      // As long as nothing is confirmed, neither is that of a check that did not run or fails for the first time.
      [NEVER_RAN, [current("pending"), NEVER_RAN], "checks"],
      [current("pending"), [current("pending"), NEVER_RAN], "checks"],
      [current("pending"), [current("ok"), OVERDUE], "checks"],
      [current("pending"), [current("critical"), NEVER_RAN], null],
      [current("ok"), [current("pending"), current("ok")], "checks"],
      [current("ok"), [{ ...OVERDUE, state: "edited" }, current("ok")], "checks"],
      // Later, it is news.
      [current("ok"), [current("ok"), OVERDUE], null],
      [current("ok"), [NEVER_RAN, current("ok")], null],
      // A job that was added is none, however late it runs.
      [current("ok"), [neverRun, current("ok")], "job"],
      [current("pending"), [neverRun, current("pending")], "checks"],
      [current("ok"), [neverRun, current("unknown")], null],
      [current("ok"), [neverRun, current("critical")], null],
      // Neither is one that runs again at a cron time, but a problem of before may be its.
      [current("ok"), [editedCron, current("ok")], "job"],
      [current("pending"), [editedCron, neverRun], "job"],
      [current("critical"), [editedCron, current("ok")], "checks"],
    ];
    for (const [group, [a, b], awaits] of rows) {
      const conditionOf = (name: string): KnownCondition =>
        (name === "g" ? group : name === "a" ? a : b) ?? group;
      const check = await groupOf({ checks: ["a", "b"] });
      const result = await groupKind.observe(check, { ...contextOf({}), conditionOf });
      assert.equal(result.awaits ?? null, awaits, JSON.stringify([group, a, b]));
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
  await t.step("an unknown name", async () => {
    assert.deepEqual(await problemsOf(config(["a", "bb"])), [
      'checks.g0.parameters.checks[1]: is "bb", expected the name of a check',
    ]);
  });
  await t.step("a cycle of groups", async () => {
    assert.deepEqual(await problemsOf(config(["a", "g1"], ["g0"])), [
      'checks.g0.parameters.checks: is a cycle: "g0" depends on "g1" depends on "g0"',
    ]);
  });
  const rows: readonly (readonly [parameters: Partial<GroupParameters>, path: string, message: string])[] = [
    [{ checks: ["a", "b", "a"] }, "checks.2", '"a" is specified more than once'],
    [{ checks: ["a"], atLeast: 2 }, "at_least", "is 2, and the group has 1 checks"],
    [{ checks: ["a", "b"], atLeast: 1, require: "any" }, "require", 'cannot be used with "at_least"'],
  ];
  for (const [parameters, path, message] of rows) {
    await t.step(message, async () => {
      const errors = groupKind.errors?.(await groupOf(parameters)) ?? [];
      assert.deepEqual(errors.map((error) => [error.path.join("."), error.message]), [[path, message]]);
    });
  }
});
