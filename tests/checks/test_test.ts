import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { testKind } from "../../src/checks/test.ts";
import type { TestCheck } from "../../src/domain/check.ts";
import type { TestParameters } from "../../src/domain/generated/config.ts";
import { CONDITIONS } from "../../src/domain/condition.ts";
import type { ObserveContext } from "../../src/domain/check_kind.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";

Deno.test("testKind returns the condition of its parameters", async (t) => {
  for (const condition of CONDITIONS) {
    await t.step(condition, async () => {
      deepStrictEqual(await testKind.observe(check({ condition, output: "a drill" }), context()), {
        condition,
        output: "a drill",
        detail: "",
        metrics: {},
        performanceData: "",
      });
    });
  }
});

Deno.test("testKind keeps an empty output", async () => {
  strictEqual((await testKind.observe(check({ condition: "ok", output: "" }), context())).output, "");
});

Deno.test("testKind throws the reason of an abort", async () => {
  const reason = new Error("stopped");
  const observing = testKind.observe(
    check({ condition: "ok", output: "" }),
    context(AbortSignal.abort(reason)),
  );
  await rejects(observing, (error) => error === reason);
});

Deno.test("testKind has no limit and no warnings", () => {
  strictEqual(testKind.limit, "none");
  deepStrictEqual(testKind.warnings(check({ condition: "warning", output: "" })), []);
});

function check(parameters: TestParameters): TestCheck {
  return {
    name: "drill",
    active: true,
    threshold: 3,
    recoveryThreshold: 3,
    reminders: false,
    schedule: { regularIntervalMs: 60_000, attentiveIntervalMs: 60_000 },
    maintenanceWindows: [],
    notifications: [],
    dependsOn: [],
    tags: [],
    timeoutMs: 10_000,
    kind: "test",
    parameters,
  };
}

function context(signal: AbortSignal = new AbortController().signal): ObserveContext {
  return { system: createMemorySystem(), jobs: null, directory: "/", signal };
}
