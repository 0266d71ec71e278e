import assert from "node:assert/strict";
import { measurementsOf } from "../../../src/outputs/metrics/render_metrics.ts";
import { observeProgram } from "../../support/script_check.ts";
import { requiresTools, tool } from "../../../testing/tools.ts";

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

/** The arguments of plugins, and the units of what they measure. */
const PLUGINS = {
  check_disk: ["-w 10% -c 5% -p /", { "/": "bytes" }],
  check_load: ["-w 90,90,90 -c 99,99,99", { load1: "", load5: "", load15: "" }],
  check_users: ["-w 50 -c 100", { users: "" }],
  check_procs: ["-w 90000", { procs: "" }],
  check_ping: ["-H 127.0.0.1 -p 1 -w 10,10% -c 20,20%", { rta: "seconds", pl: "ratio" }],
  check_file_age: ["-f /etc/passwd", { age: "seconds", size: "bytes" }],
} as const;
const NAMES = Object.keys(PLUGINS) as (keyof typeof PLUGINS)[];

Deno.test({
  ...requiresTools(...NAMES),
  name: "measurementsOf() parses the output of Debian's plugins",
  fn: async () => {
    for (const plugin of NAMES) {
      const [args, units] = PLUGINS[plugin];
      const { performanceData, output } = await observeProgram(tool(plugin), { arguments: args.split(" ") });
      const measurements = measurementsOf(performanceData);
      assert.deepEqual(
        Object.fromEntries(measurements.map(({ label, unit }) => [label, unit])),
        units,
        output,
      );
      for (const { value } of measurements) assert.ok(value !== null && value >= 0);
    }
  },
});
