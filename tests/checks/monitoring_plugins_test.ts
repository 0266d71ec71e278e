/**
 * Debian's own plugins (package `monitoring-plugins-basic`) as `script` checks, compared with their direct output.
 */
import assert from "node:assert/strict";
import { observeProgram } from "../support/script_check.ts";
import { testTable } from "../support/rows.ts";
import { requiresTools, runChild, tool } from "../../testing/tools.ts";

const CONDITIONS = ["ok", "warning", "critical", "unknown"];
const PLUGINS = ["check_dummy", "check_file_age", "check_http", "check_load", "negate"] as const;

Deno.test({
  ...requiresTools(...PLUGINS),
  name: "observeScript() returns the output of the Monitoring Plugins",
  fn: async (t) => {
    await using server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => {} },
      ({ url }) => new Response("hello", { status: url.endsWith("/broken") ? 500 : 200 }),
    );
    const table = `
      check_dummy 0 "some text" | ok       | ^OK: some text$
      check_dummy 1 "some text" | warning  | ^WARNING: some text$
      check_dummy 2 "some text" | critical | ^CRITICAL: some text$
      check_dummy 3 "some text" | unknown  | ^UNKNOWN: some text$
      check_dummy 1 "hot ¦ temperature=71.5;70;80 'fan 1'=0" | warning | ^WARNING: hot$ | temperature 'fan 1'
      negate -s -o WARNING ${tool("check_dummy")} 0 "upside down" | warning | ^WARNING: upside down$
      check_file_age -w 1 -c 2 -f /etc/passwd | critical | \\
        ^FILE_AGE CRITICAL: /etc/passwd is \\d+ seconds old and \\d+ bytes$ | age size | varies
      check_http -I 127.0.0.1 -p ${server.addr.port} -u /broken | critical | \\
        ^HTTP CRITICAL: HTTP/1\\.[01] 500 Internal Server Error | time size | varies
      check_load -w 10000,10000,10000 -c 20000,20000,20000 | ok | \\
        ^LOAD OK - total load average:  | load1 load5 load15 | varies`;
    await testTable(t, table, compare);
  },
});

/** Compares what the check returns of a plugin with what that prints: output, and labels of performance data. */
async function compare(
  command: string,
  condition: string,
  output: string,
  names: string,
  varies: string,
): Promise<void> {
  const [plugin = "", ...args] = [...command.replace("¦", "|").matchAll(/"([^"]*)"|\S+/g)].map((
    [word, text],
  ) => text ?? word);
  const path = tool(plugin as typeof PLUGINS[number]);
  const seen = await observeProgram(path, { arguments: args });
  const direct = await runDirectly(path, args);
  assert.deepEqual([seen.condition, CONDITIONS[direct.code]], [condition, condition]);
  assert.deepEqual(seen.metrics, { exit_code: direct.code });
  assert.match(seen.output, new RegExp(output));
  assert.equal(labels(seen.performanceData).join(" "), names);
  if (varies !== "") return;
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
