import assert from "node:assert/strict";
import { loadConfig } from "../../src/config/load.ts";
import { ConfigError } from "../../src/config/problem.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { tempDirectory } from "../../testing/builders.ts";
import { testRows } from "../support/rows.ts";

const EXPECTED = "expected a file of its own because it is overwritten";

/** The config, with its keys in this order on one line each, and the problems without the accepted values. */
type Row = readonly [
  config: Readonly<Record<string, unknown>>,
  problems: readonly string[],
  prepare?: (directory: string) => void,
];

const touchable = (directory: string, name: string): void =>
  Deno.writeTextFileSync(`${directory}/${name}`, "#!/bin/sh\n", { mode: 0o755 });

const TABLE: Readonly<Record<string, Row>> = {
  "the config": [{ report: { path: "m.json" } }, ["2:19 report.path: is this config itself"]],
  "an included config": [{ include: "part.json", report: { path: "part.json" } }, [
    '3:19 report.path: is the included config "part.json"',
  ], (directory) => Deno.writeTextFileSync(`${directory}/part.json`, "{}")],
  "the state": [{ state: "s", metrics: { path: "s" } }, [
    '3:20 metrics.path: is the file of "state" (m.json:2:10)',
  ]],
  "the journal of the state": [{ state: "s", report: { path: "./s-wal" } }, [
    '3:19 report.path: is the -wal file of "state" (m.json:2:10)',
  ]],
  "a secret file": [
    {
      report: { path: "token" },
      checks: { a: { kind: "test", parameters: { output: "x${file:token}" } } },
    },
    ['2:19 report.path: is the secret file of "checks.a.parameters.output" (m.json:3:54)'],
    (directory) => touchable(directory, "token"),
  ],
  "a command of a channel": [{
    report: { path: "notify.sh" },
    defaults: { notifications: [{ kind: "command", parameters: { path: "./notify.sh" } }] },
  }, [
    '2:19 report.path: is the file of "defaults.notifications[0].parameters.path" (m.json:3:70)',
  ], (directory) => touchable(directory, "notify.sh")],
  "the authority of a certificate": [{
    metrics: { path: "ca.prom" },
    checks: { a: { kind: "tls_certificate", parameters: { host: "h", ca_file: "ca.prom" } } },
  }, ['2:20 metrics.path: is the file of "checks.a.parameters.ca_file" (m.json:3:77)']],
  "a temporary file that is the other": [{ report: { path: "a.prom.tmp" }, metrics: { path: "a.prom" } }, [
    '3:20 metrics.path: is with .tmp added the file of "report.path" (m.json:2:19)',
  ]],
  "the state, through a linked directory": [{ state: "sub/s", report: { path: "link/s" } }, [
    '3:19 report.path: is the file of "state" (m.json:2:10)',
  ], (directory) => Deno.symlinkSync("sub", `${directory}/link`)],
  "files that are only checked or touched are no clash": [{
    report: { path: "page.html" },
    defaults: { notifications: [{ kind: "file_touch", parameters: { path: "page.html" } }] },
    checks: { a: { kind: "file_timestamp", parameters: { path: "page.html" } } },
  }, []],
  "a link in the place of the page is replaced, and its target stays": [
    { state: "s", report: { path: "page.html" } },
    [],
    (directory) => Deno.symlinkSync("s", `${directory}/page.html`),
  ],
};

Deno.test("loadConfig() rejects a report or metrics file that would overwrite a required file", async (t) => {
  await testRows(t, TABLE, async ([config, problems, prepare]) => {
    await using temporary = await tempDirectory();
    const directory = temporary.path;
    Deno.mkdirSync(`${directory}/bin`);
    Deno.mkdirSync(`${directory}/sub`);
    prepare?.(directory);
    const keys = { ...config, ...(config["defaults"] === undefined && { defaults: {} }) };
    const lines = Object.entries(keys).map(([key, value]) => `"${key}": ${JSON.stringify(value)}`);
    Deno.writeTextFileSync(`${directory}/m.json`, `{\n${lines.join(",\n")}\n}`);
    const system = createMemorySystem({
      workingDirectory: directory,
      environment: { PATH: `${directory}/bin:/usr/bin` },
    });
    assert.deepEqual(
      await problemsIn(loadConfig({ path: "m.json", named: true }, system, {
        locateState: ({ statePath }) => Promise.resolve(statePath ?? `${directory}/elsewhere`),
      })),
      problems.map((problem) => `${problem}, ${EXPECTED}`),
    );
  });
});

async function problemsIn(loading: Promise<unknown>): Promise<readonly string[]> {
  try {
    await loading;
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(({ line, column, path, message }) => `${line}:${column} ${path}: ${message}`);
  }
}
