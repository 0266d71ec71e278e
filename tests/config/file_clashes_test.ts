import assert from "node:assert/strict";
import { loadConfig } from "../../src/config/load.ts";
import { ConfigError } from "../../src/config/problem.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";

const EXPECTED = "expected a file of its own because it is overwritten";

interface Row {
  /** The config, with its keys in this order on one line each. */
  readonly config: Readonly<Record<string, unknown>>;
  /** The lines of the problems, without the accepted values. */
  readonly problems: readonly string[];
  readonly prepare?: (directory: string) => void;
}

const script = (path: string): unknown => ({ a: { kind: "script", parameters: { path } } });
const touchable = (directory: string, name: string): void =>
  Deno.writeTextFileSync(`${directory}/${name}`, "#!/bin/sh\n", { mode: 0o755 });

const TABLE: Readonly<Record<string, Row>> = {
  "the config": {
    config: { report: { path: "m.json" } },
    problems: ["2:19 report.path: is this config itself"],
  },
  "an included config": {
    config: { include: "part.json", report: { path: "part.json" } },
    prepare: (directory) => Deno.writeTextFileSync(`${directory}/part.json`, "{}"),
    problems: ['3:19 report.path: is the included config "part.json"'],
  },
  "the state": {
    config: { state: "s", metrics: { path: "s" } },
    problems: ['3:20 metrics.path: is the file of "state" (m.json:2:10)'],
  },
  "the journal of the state": {
    config: { state: "s", report: { path: "./s-wal" } },
    problems: ['3:19 report.path: is the -wal file of "state" (m.json:2:10)'],
  },
  "the shared memory of the state": {
    config: { state: "s", report: { path: "s-shm" } },
    problems: ['3:19 report.path: is the -shm file of "state" (m.json:2:10)'],
  },
  "the lock file": {
    config: { state: "s", report: { path: "s.lock" } },
    problems: ['3:19 report.path: is the lock file of "state" (m.json:2:10)'],
  },
  "a state that the config does not name": {
    config: { report: { path: "elsewhere-wal" } },
    problems: ["2:19 report.path: is the -wal file of the state"],
  },
  "the heartbeat": {
    config: { heartbeat: { path: "alive" }, report: { path: "alive" } },
    problems: ['3:19 report.path: is the file of "heartbeat.path" (m.json:2:22)'],
  },
  "a secret file": {
    config: {
      report: { path: "token" },
      checks: { a: { kind: "test", parameters: { output: "x${file:token}" } } },
    },
    prepare: (directory) => touchable(directory, "token"),
    problems: ['2:19 report.path: is the secret file of "checks.a.parameters.output" (m.json:3:54)'],
  },
  "a checked command": {
    config: { report: { path: "check.sh" }, checks: script("./check.sh") },
    prepare: (directory) => touchable(directory, "check.sh"),
    problems: ['2:19 report.path: is the file of "checks.a.parameters.path" (m.json:3:54)'],
  },
  "a command that is found in PATH": {
    config: { report: { path: "bin/check_it" }, checks: script("check_it") },
    prepare: (directory) => touchable(directory, "bin/check_it"),
    problems: ['2:19 report.path: is the file of "checks.a.parameters.path" (m.json:3:54)'],
  },
  "a command of a channel": {
    config: {
      report: { path: "notify.sh" },
      defaults: { notifications: [{ kind: "command", parameters: { path: "./notify.sh" } }] },
    },
    prepare: (directory) => touchable(directory, "notify.sh"),
    problems: [
      '2:19 report.path: is the file of "defaults.notifications[0].parameters.path" (m.json:3:70)',
    ],
  },
  "the authority of a certificate": {
    config: {
      metrics: { path: "ca.prom" },
      checks: { a: { kind: "tls_certificate", parameters: { host: "h", ca_file: "ca.prom" } } },
    },
    problems: ['2:20 metrics.path: is the file of "checks.a.parameters.ca_file" (m.json:3:77)'],
  },
  "the key of a request": {
    config: {
      metrics: { path: "key.prom" },
      checks: {
        a: {
          kind: "http_request",
          parameters: { request: { target: "https://h", tls: { key: "key.prom", certificate: "c" } } },
        },
      },
    },
    problems: [
      '2:20 metrics.path: is the file of "checks.a.parameters.request.tls.key" (m.json:3:98)',
    ],
  },
  "each other": {
    config: { report: { path: "a.prom" }, metrics: { path: "sub/../a.prom" } },
    problems: ['3:20 metrics.path: is the file of "report.path" (m.json:2:19)'],
  },
  "the temporary file of the other": {
    config: { report: { path: "a.prom" }, metrics: { path: "a.prom.tmp" } },
    problems: ['3:20 metrics.path: is the temporary file of "report.path" (m.json:2:19)'],
  },
  "a temporary file that is the other": {
    config: { report: { path: "a.prom.tmp" }, metrics: { path: "a.prom" } },
    problems: ['3:20 metrics.path: is with .tmp added the file of "report.path" (m.json:2:19)'],
  },
  "a temporary file that is the state": {
    config: { state: "s.tmp", report: { path: "s" } },
    problems: ['3:19 report.path: is with .tmp added the file of "state" (m.json:2:10)'],
  },
  "the state, through a linked directory": {
    config: { state: "sub/s", report: { path: "link/s" } },
    prepare: (directory) => Deno.symlinkSync("sub", `${directory}/link`),
    problems: ['3:19 report.path: is the file of "state" (m.json:2:10)'],
  },
  "the state, in a directory that is to be made behind a link": {
    config: { state: "sub/new/s", report: { path: "link/new/s" } },
    prepare: (directory) => Deno.symlinkSync("sub", `${directory}/link`),
    problems: ['3:19 report.path: is the file of "state" (m.json:2:10)'],
  },
  "the command that a link leads to": {
    config: { report: { path: "check.sh" }, checks: script("./link.sh") },
    prepare: (directory) => {
      touchable(directory, "check.sh");
      Deno.symlinkSync("check.sh", `${directory}/link.sh`);
    },
    problems: ['2:19 report.path: is the file of "checks.a.parameters.path" (m.json:3:54)'],
  },
  "files that are only checked or touched are no clash": {
    config: {
      report: { path: "page.html" },
      defaults: { notifications: [{ kind: "file_touch", parameters: { path: "page.html" } }] },
      checks: { a: { kind: "file_timestamp", parameters: { path: "page.html" } } },
    },
    problems: [],
  },
  "a link in the place of the page is replaced, and its target stays": {
    config: { state: "s", report: { path: "page.html" } },
    prepare: (directory) => Deno.symlinkSync("s", `${directory}/page.html`),
    problems: [],
  },
};

Deno.test("loadConfig() rejects a report or metrics file that would overwrite a required file", async (t) => {
  for (const [name, { config, prepare, problems }] of Object.entries(TABLE)) {
    await t.step(name, async () => {
      const directory = await Deno.makeTempDir({ prefix: "monitor_clash_" });
      try {
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
      } finally {
        await Deno.remove(directory, { recursive: true });
      }
    });
  }
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
