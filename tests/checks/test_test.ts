import { deepStrictEqual, rejects } from "node:assert/strict";
import { CONDITIONS } from "../../src/domain/condition.ts";
import { observeCheck } from "../support/observe_check.ts";

Deno.test("testKind returns the condition and the output of its parameters", async () => {
  for (const condition of CONDITIONS) {
    for (const output of ["a drill", ""]) {
      deepStrictEqual(await observeCheck({ kind: "test", parameters: { condition, output } }), {
        condition,
        output,
        detail: "",
        metrics: {},
        performanceData: "",
      });
    }
  }
});

Deno.test("testKind throws the reason of an abort", async () => {
  const reason = new Error("stopped");
  const kind = { kind: "test", parameters: { condition: "ok", output: "" } } as const;
  await rejects(observeCheck(kind, { signal: AbortSignal.abort(reason) }), (error) => error === reason);
});
