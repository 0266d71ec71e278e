import assert from "node:assert/strict";
import type { LoadParameters } from "../../src/domain/generated/config.ts";
import { createHost } from "../../src/system/deno_system.ts";
import { observeCheck } from "../support/observe_check.ts";
import { testRows } from "../support/rows.ts";

const PARAMETERS: LoadParameters = {
  load1: {},
  load5: { warningAbove: 2, criticalAbove: 4 },
  load15: { criticalAbove: 1.5 },
};

function hostWith(averages: readonly [number, number, number]) {
  return { ...createHost(), loadAverages: () => averages, processors: 4 };
}

Deno.test("load compares the load of each processor with thresholds", async (t) => {
  const rows = {
    "idle": [[0, 0.04, 0.1], "ok", "load1 0; load5 0.01; load15 0.03 per processor"],
    "busy for a minute": [[80, 7, 3], "ok", "load1 20; load5 1.75; load15 0.75 per processor"],
    "busy for fifteen": [
      [80, 9, 8],
      "critical",
      "load1 20; load5 2.25, warning above 2; load15 2, critical above 1.5 per processor",
    ],
  } as const;
  await testRows(t, rows, async ([averages, condition, output]) => {
    const system = { host: hostWith(averages) };
    const checkResult = await observeCheck({ kind: "load", parameters: PARAMETERS }, { system });
    assert.deepEqual([checkResult.condition, checkResult.output], [condition, output]);
  });
});

Deno.test("load measures this machine", async () => {
  const parameters = { load1: { warningAbove: 1e6 }, load5: {}, load15: {} };
  const { condition, metrics } = await observeCheck({ kind: "load", parameters });
  assert.equal(condition, "ok");
  assert.equal(metrics["processors"], navigator.hardwareConcurrency);
  assert.ok((metrics["load1"] ?? -1) >= 0);
  assert.equal(metrics["load1_warning_above"], 1e6);
});

Deno.test("load is unknown on Windows", async () => {
  const system = { platform: "windows" } as const;
  const { condition, output } = await observeCheck({ kind: "load", parameters: PARAMETERS }, { system });
  assert.deepEqual([condition, output], ["unknown", "Windows has no load average"]);
});
