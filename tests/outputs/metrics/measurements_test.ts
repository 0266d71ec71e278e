import assert from "node:assert/strict";
import { type Measurement, measurementsOf } from "../../../src/outputs/metrics/measurements.ts";
import { observeProgram } from "../../support/script_check.ts";
import { requiresTools, runChild, tool } from "../../../testing/tools.ts";

Deno.test("measurementsOf() brings units to their base", async (t) => {
  const rows: readonly (readonly [text: string, value: number | null, unit: string])[] = [
    ["x=5", 5, ""],
    ["x=-0.5", -0.5, ""],
    ["x=U", null, ""],
    ["x=3s", 3, "seconds"],
    ["x=59ms", 0.059, "seconds"],
    ["x=7us", 0.000007, "seconds"],
    ["x=7µs", 0.000007, "seconds"],
    ["x=2m", 120, "seconds"],
    ["x=2h", 7200, "seconds"],
    ["x=1d", 86400, "seconds"],
    ["x=12.5%", 0.125, "ratio"],
    ["x=9B", 9, "bytes"],
    ["x=2kB", 2000, "bytes"],
    ["x=2KB", 2000, "bytes"],
    ["x=2MB", 2e6, "bytes"],
    ["x=2GiB", 2 * 1024 ** 3, "bytes"],
    ["x=2TiB", 2 * 1024 ** 4, "bytes"],
    ["x=2Mb", 2, "Mb"],
    ["x=2C", 2, "C"],
  ];
  for (const [text, value, unit] of rows) {
    await t.step(text, () => {
      const [measurement] = measurementsOf(text);
      assert.deepEqual([measurement?.value, measurement?.unit], [value, unit]);
      assert.equal(measurement?.isCounter, false);
    });
  }
  await t.step("x=4c counts", () => {
    assert.deepEqual(measurementsOf("x=4c"), [
      { label: "x", unit: "", isCounter: true, value: 4, bounds: [] },
    ]);
  });
});

Deno.test("measurementsOf() returns the bounds of ranges", async (t) => {
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
    await t.step(range === "" ? "none" : range, () => {
      const [measurement] = measurementsOf(`x=1s;;${range}`);
      const bound = (kind: string): number | null =>
        measurement?.bounds.find((one) => one.kind === kind)?.value ?? null;
      assert.deepEqual([bound("critical_low"), bound("critical")], [low, high]);
    });
  }
});

Deno.test("measurementsOf() distinguishes duplicate labels of a plugin", () => {
  const labels = measurementsOf("x=1 x=2 x_2=3 x=4 'it''s a \"label\"'=5").map(({ label }) => label);
  assert.deepEqual(labels, ["x", "x_2", "x_2_2", "x_3", 'it\'s a "label"']);
});

const PLUGINS = [
  "check_disk",
  "check_file_age",
  "check_load",
  "check_ping",
  "check_procs",
  "check_users",
] as const;

Deno.test({
  ...requiresTools(...PLUGINS),
  name: "measurementsOf() parses the output of Debian's plugins",
  fn: async (t) => {
    const rows: Readonly<
      Record<
        typeof PLUGINS[number],
        { readonly arguments: readonly string[]; readonly expected: Readonly<Record<string, string>> }
      >
    > = {
      check_disk: { arguments: ["-w", "10%", "-c", "5%", "-p", "/"], expected: { "/": "bytes" } },
      check_load: {
        arguments: ["-w", "90,90,90", "-c", "99,99,99"],
        expected: { load1: "", load5: "", load15: "" },
      },
      check_users: { arguments: ["-w", "50", "-c", "100"], expected: { users: "" } },
      check_procs: { arguments: ["-w", "90000"], expected: { procs: "" } },
      check_ping: {
        arguments: ["-H", "127.0.0.1", "-p", "1", "-w", "10,10%", "-c", "20,20%"],
        expected: { rta: "seconds", pl: "ratio" },
      },
      check_file_age: {
        arguments: ["-f", "/etc/passwd"],
        expected: { age: "seconds", size: "bytes" },
      },
    };
    for (const plugin of PLUGINS) {
      const { arguments: args, expected } = rows[plugin];
      await t.step(plugin, async () => {
        const measurements = measurementsOf(await performanceDataOf(plugin, args));
        assert.deepEqual(Object.fromEntries(measurements.map(({ label, unit }) => [label, unit])), expected);
        for (const { value } of measurements) assert.ok(value !== null && value >= 0);
      });
    }
  },
});

Deno.test({
  ...requiresTools("check_disk"),
  name: "measurementsOf() agrees with the machine about the size of a disk",
  fn: async () => {
    const [disk] = measurementsOf(await performanceDataOf("check_disk", ["-w", "1%", "-p", "/"]));
    const { stdout } = await runChild(tool("df"), ["--block-size=1", "--output=size", "/"]);
    const sizeBytes = Number(stdout.split("\n")[1]);
    const max = boundOf(disk, "max");
    // The plugin excludes the space reserved for the superuser.
    assert.ok(max > sizeBytes * 0.8 && max <= sizeBytes, `${max} of ${sizeBytes}`);
  },
});

function boundOf(measurement: Measurement | undefined, kind: string): number {
  return measurement?.bounds.find((bound) => bound.kind === kind)?.value ?? NaN;
}

async function performanceDataOf(plugin: typeof PLUGINS[number], args: readonly string[]): Promise<string> {
  const { performanceData, output } = await observeProgram(tool(plugin), { arguments: args });
  assert.notEqual(performanceData, "", `${plugin}: ${output}`);
  return performanceData;
}
