/**
 * Debian's own plugins (package `monitoring-plugins-basic`) as `script` checks, compared with their direct output.
 */
import assert from "node:assert/strict";
import { observeProgram } from "../support/script_check.ts";
import { requiresTools, runChild, tool } from "../../testing/tools.ts";

const CONDITIONS = ["ok", "warning", "critical", "unknown"];
const PLUGINS = [
  "check_disk",
  "check_dummy",
  "check_file_age",
  "check_http",
  "check_load",
  "negate",
] as const;

interface Row {
  readonly name: string;
  readonly plugin: typeof PLUGINS[number];
  readonly arguments: readonly string[];
  /** Where it does not depend on this machine's state. */
  readonly condition?: string;
  readonly output?: RegExp;
  /** The labels of the performance data. */
  readonly labels?: readonly string[];
  /** Whether the plugin prints the same each time. */
  readonly steady: boolean;
}

Deno.test({
  ...requiresTools(...PLUGINS),
  name: "observeScript() returns the output of the Monitoring Plugins",
  fn: async (t) => {
    await using server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => {} },
      ({ url }) => new Response("hello", { status: url.endsWith("/broken") ? 500 : 200 }),
    );
    const address = ["-I", "127.0.0.1", "-p", `${server.addr.port}`];
    const rows: readonly Row[] = [
      ...CONDITIONS.map((condition, code): Row => ({
        name: `check_dummy ${code}`,
        plugin: "check_dummy",
        arguments: [`${code}`, "some text"],
        condition,
        output: new RegExp(`^${condition}: some text$`, "i"),
        labels: [],
        steady: true,
      })),
      {
        name: "check_dummy with performance data",
        plugin: "check_dummy",
        arguments: ["1", "hot | temperature=71.5;70;80 'fan 1'=0"],
        condition: "warning",
        output: /^WARNING: hot$/,
        labels: ["temperature", "'fan 1'"],
        steady: true,
      },
      {
        name: "check_file_age, an old file",
        plugin: "check_file_age",
        arguments: ["-w", "1", "-c", "2", "-f", "/etc/passwd"],
        condition: "critical",
        output: /^FILE_AGE CRITICAL: \/etc\/passwd is \d+ seconds old and \d+ bytes$/,
        labels: ["age", "size"],
        steady: false,
      },
      {
        name: "check_file_age, a missing file",
        plugin: "check_file_age",
        arguments: ["-f", "/no/such/file"],
        output: /File not found/,
        labels: [],
        steady: true,
      },
      {
        name: "check_http, a page",
        plugin: "check_http",
        arguments: [...address, "-u", "/"],
        condition: "ok",
        output: /^HTTP OK: HTTP\/1\.[01] 200 OK - \d+ bytes in [\d.]+ second response time$/,
        labels: ["time", "size"],
        steady: false,
      },
      {
        name: "check_http, a broken page",
        plugin: "check_http",
        arguments: [...address, "-u", "/broken"],
        condition: "critical",
        output: /^HTTP CRITICAL: HTTP\/1\.[01] 500 Internal Server Error/,
        labels: ["time", "size"],
        steady: false,
      },
      {
        name: "check_disk",
        plugin: "check_disk",
        arguments: ["-w", "1%", "-c", "1%", "-p", "/"],
        output: /^DISK \w+ - free space: \//,
        labels: ["/"],
        steady: false,
      },
      {
        name: "check_load",
        plugin: "check_load",
        arguments: ["-w", "10000,10000,10000", "-c", "20000,20000,20000"],
        condition: "ok",
        output: /^LOAD OK - total load average: /,
        labels: ["load1", "load5", "load15"],
        steady: false,
      },
      {
        name: "negate",
        plugin: "negate",
        arguments: [tool("check_dummy"), "2", "upside down"],
        condition: "ok",
        output: /upside down/,
        labels: [],
        steady: true,
      },
      {
        name: "negate with another state",
        plugin: "negate",
        arguments: ["-s", "-o", "WARNING", tool("check_dummy"), "0", "upside down"],
        condition: "warning",
        output: /^WARNING: upside down$/,
        labels: [],
        steady: true,
      },
    ];
    for (const row of rows) await t.step(row.name, () => compare(row));
  },
});

async function compare(row: Row): Promise<void> {
  const path = tool(row.plugin);
  const seen = await observeProgram(path, { arguments: row.arguments });
  const direct = await runDirectly(path, row.arguments);
  assert.equal(seen.condition, CONDITIONS[direct.code]);
  assert.deepEqual(seen.metrics, { exit_code: direct.code });
  assert.deepEqual(labels(seen.performanceData), labels(direct.performanceData));
  if (row.steady) {
    assert.deepEqual([seen.output, seen.performanceData], [direct.output, direct.performanceData]);
  }
  if (row.condition !== undefined) assert.equal(seen.condition, row.condition);
  if (row.output !== undefined) assert.match(seen.output, row.output);
  if (row.labels !== undefined) assert.deepEqual(labels(seen.performanceData), row.labels);
}

async function runDirectly(path: string, pluginArguments: readonly string[]): Promise<{
  readonly code: number;
  readonly output: string;
  readonly performanceData: string;
}> {
  const { code, stdout } = await runChild(path, pluginArguments, {
    clearEnv: true,
    env: { PATH: "/usr/bin:/bin" },
  });
  const [output = "", ...performanceData] = stdout.split("\n", 1)[0]?.split("|") ?? [];
  return { code, output: output.trim(), performanceData: performanceData.join("|").trim() };
}

function labels(performanceData: string): readonly string[] {
  return [...performanceData.matchAll(/('[^']+'|[^\s=]+)=/g)].map(([, label = ""]) => label);
}
