import assert from "node:assert/strict";
import { measurementsOf } from "../../../src/outputs/metrics/render_metrics.ts";

Deno.test("measurementsOf() brings units to their base", () => {
  const rows: readonly (readonly [text: string, value: number | null, unit: string])[] = [
    ["x=5", 5, ""],
    ["x=U", null, ""],
    ["x=59ms", 0.059, "seconds"],
    ["x=7us", 0.000007, "seconds"],
    ["x=1d", 86400, "seconds"],
    ["x=12.5%", 0.125, "ratio"],
    ["x=9B", 9, "bytes"],
    ["x=2kB", 2000, "bytes"],
    ["x=2MB", 2e6, "bytes"],
    ["x=2GiB", 2 * 1024 ** 3, "bytes"],
    ["x=2Mb", 2, "Mb"],
    ["x=2C", 2, "C"],
  ];
  for (const [text, value, unit] of rows) {
    const bounds: never[] = [];
    assert.deepEqual(measurementsOf(text), [{ label: "x", unit, isCounter: false, value, bounds }], text);
  }
  assert.deepEqual(measurementsOf("x=4c"), [{ label: "x", unit: "", isCounter: true, value: 4, bounds: [] }]);
});

Deno.test("measurementsOf() returns the bounds of ranges", () => {
  const rows: readonly (readonly [range: string, low: number | null, high: number | null])[] = [
    ["10", null, 10],
    ["10:", 10, null],
    ["~:10", null, 10],
    ["5:10", 5, 10],
    [":10", null, 10],
    ["@5:10", null, null],
    ["", null, null],
  ];
  for (const [range, low, high] of rows) {
    const [measurement] = measurementsOf(`x=1s;;${range}`);
    const bound = (kind: string): number | null =>
      measurement?.bounds.find((one) => one.kind === kind)?.value ?? null;
    assert.deepEqual([bound("critical_low"), bound("critical")], [low, high], range);
  }
});

Deno.test("measurementsOf() distinguishes duplicate labels of a plugin", () => {
  const labels = measurementsOf("x=1 x=2 x_2=3 x=4 'it''s a \"label\"'=5").map(({ label }) => label);
  assert.deepEqual(labels, ["x", "x_2", "x_2_2", "x_3", 'it\'s a "label"']);
});
