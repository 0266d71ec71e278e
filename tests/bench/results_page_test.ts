import assert from "node:assert/strict";
import { renderResults } from "../../bench/results_page.ts";
import type { BenchmarkResult } from "../../bench/results.ts";

const RESULT: BenchmarkResult = {
  measuredAt: "2026-01-31T10:00:00.000Z",
  machine: {
    processor: "Example 9000",
    cores: 2,
    memoryGigabytes: 8,
    target: "x86_64-unknown-linux-gnu",
    kernel: "6.1.0",
    runtime: "Deno 2.7.11",
    programs: "executable",
  },
  loadAverage: 0.1,
  rows: [{ name: "start", value: 1.5, unit: "×", aim: 1.2, note: "a | b" }, {
    name: "peak",
    value: null,
    unit: "MB",
  }],
};

Deno.test("renderResults() says what they were measured on once, as long as that is the same", () => {
  const text = renderResults({
    startup: RESULT,
    store: { ...RESULT, rows: [] },
    wheel: { ...RESULT, rows: [], measuredAt: "2026-02-01T10:00:00.000Z" },
  });
  const on =
    "on 2 × Example 9000, 8 GB, x86_64-unknown-linux-gnu, kernel 6.1.0, Deno 2.7.11; program: executable.";
  assert.deepStrictEqual(text.split("\n"), [
    `Measured by \`deno task bench\` on 2026-01-31 ${on}`,
    "",
    "| `startup` | value | aim | behind it |",
    "| --- | --- | --- | --- |",
    "| start | 1.50 × | MISSES 1.2 | a \\| b |",
    "| peak | - |  |  |",
    "",
    "| `store` | value | aim | behind it |",
    "| --- | --- | --- | --- |",
    "",
    `Measured by \`deno task bench\` on 2026-02-01 ${on}`,
    "",
    "| `wheel` | value | aim | behind it |",
    "| --- | --- | --- | --- |",
    "",
  ]);
});
