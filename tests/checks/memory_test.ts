import assert from "node:assert/strict";
import type { MemoryParameters } from "../../src/domain/generated/config.ts";
import type { MemoryFacts } from "../../src/domain/system.ts";
import { createHost } from "../../src/system/deno_system.ts";
import { observeCheck } from "../support/observe_check.ts";
import { fieldsOf, testTable } from "../support/rows.ts";

const FACTS: MemoryFacts = { availableBytes: 4e9, totalBytes: 16e9, swapUsedBytes: 1e9, swapTotalBytes: 2e9 };

const PARAMETERS: MemoryParameters = {
  available: { warningBelow: { percent: 10 }, criticalBelow: 1e9 },
  swapUsed: { warningAbove: { percent: 60 } },
};

Deno.test("memory compares available memory and used swap with thresholds", async (t) => {
  const table = `
    enough      | | ok: available 25% (4 GB of 16 GB); swap used 50% (1 GB of 2 GB)
    little      | availableBytes=1.5e9 | \\
      warning: available 9.4% (1.5 GB of 16 GB), warning below 10%; swap used 50% (1 GB of 2 GB)
    hardly any  | availableBytes=0     | \\
      critical: available 0% (0 B of 16 GB), critical below 1 GB; swap used 50% (1 GB of 2 GB)
    much swap   | swapUsedBytes=2e9    | \\
      warning: available 25% (4 GB of 16 GB); swap used 100% (2 GB of 2 GB), warning above 60%
    no swap     | swapUsedBytes=0 swapTotalBytes=0 | ok: available 25% (4 GB of 16 GB); swap used 0% (0 B of 0 B)
    no facts    | totalBytes=0         | unknown: the system has no data about its memory`;
  await testTable(t, table, async (_, facts, expected) => {
    const host = { ...createHost(), memory: () => ({ ...FACTS, ...fieldsOf<Partial<MemoryFacts>>(facts) }) };
    const { condition, output } = await observeCheck({ kind: "memory", parameters: PARAMETERS }, {
      system: { host },
    });
    assert.equal(`${condition}: ${output}`, expected);
  });
});

Deno.test("memory measures this machine, with thresholds in the metrics", async () => {
  const { metrics } = await observeCheck({ kind: "memory", parameters: PARAMETERS });
  const { available_bytes: available = 0, total_bytes: total = 0, available_percent: percent = 0 } = metrics;
  assert.ok(0 < available && available < total);
  assert.ok(Math.abs(percent - available / total * 100) < 1e-9);
  assert.equal(metrics["available_percent_warning_below"], 10);
  assert.equal(metrics["available_bytes_critical_below"], 1e9);
  assert.equal(metrics["swap_used_percent_warning_above"], 60);
});
