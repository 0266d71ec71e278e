/**
 * Debian's own plugins (package `monitoring-plugins-basic`) as `script` checks, compared with their direct output.
 */
import assert from "node:assert/strict";
import { observeProgram } from "../support/script_check.ts";
import { requiresTools, runChild, tool } from "../../testing/tools.ts";

const CONDITIONS = ["ok", "warning", "critical", "unknown"];
const PLUGINS = [
  "check_dummy",
  "check_file_age",
  "check_http",
  "check_load",
  "negate",
] as const;

interface Row {
  readonly plugin: typeof PLUGINS[number];
  readonly arguments: readonly string[];
  readonly condition: string;
  readonly output: RegExp;
  /** The labels of the performance data. @default none */
  readonly labels?: readonly string[];
  /** Whether the plugin prints the same each time. @default true */
  readonly steady?: boolean;
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
        plugin: "check_dummy",
        arguments: [`${code}`, "some text"],
        condition,
        output: new RegExp(`^${condition}: some text$`, "i"),
      })),
      {
        plugin: "check_dummy",
        arguments: ["1", "hot | temperature=71.5;70;80 'fan 1'=0"],
        condition: "warning",
        output: /^WARNING: hot$/,
        labels: ["temperature", "'fan 1'"],
      },
      {
        plugin: "check_file_age",
        arguments: ["-w", "1", "-c", "2", "-f", "/etc/passwd"],
        condition: "critical",
        output: /^FILE_AGE CRITICAL: \/etc\/passwd is \d+ seconds old and \d+ bytes$/,
        labels: ["age", "size"],
        steady: false,
      },
      {
        plugin: "check_http",
        arguments: [...address, "-u", "/broken"],
        condition: "critical",
        output: /^HTTP CRITICAL: HTTP\/1\.[01] 500 Internal Server Error/,
        labels: ["time", "size"],
        steady: false,
      },
      {
        plugin: "check_load",
        arguments: ["-w", "10000,10000,10000", "-c", "20000,20000,20000"],
        condition: "ok",
        output: /^LOAD OK - total load average: /,
        labels: ["load1", "load5", "load15"],
        steady: false,
      },
      {
        plugin: "negate",
        arguments: ["-s", "-o", "WARNING", tool("check_dummy"), "0", "upside down"],
        condition: "warning",
        output: /^WARNING: upside down$/,
      },
    ];
    for (const row of rows) await t.step(`${row.plugin} ${row.arguments.join(" ")}`, () => compare(row));
  },
});

async function compare(row: Row): Promise<void> {
  const path = tool(row.plugin);
  const seen = await observeProgram(path, { arguments: row.arguments });
  const direct = await runDirectly(path, row.arguments);
  assert.deepEqual([seen.condition, CONDITIONS[direct.code]], [row.condition, row.condition]);
  assert.deepEqual(seen.metrics, { exit_code: direct.code });
  assert.match(seen.output, row.output);
  assert.deepEqual(labels(seen.performanceData), row.labels ?? []);
  if (row.steady === false) return;
  assert.deepEqual([seen.output, seen.performanceData], [direct.output, direct.performanceData]);
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
