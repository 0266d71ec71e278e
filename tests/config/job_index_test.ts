import assert from "node:assert/strict";
import { readJobIndex } from "../../src/config/job_index.ts";
import { ConfigError } from "../../src/config/problem.ts";
import { type ConfigSystemOptions, createConfigSystem } from "../../testing/config_system.ts";
import { testRows } from "../support/rows.ts";

const PATH = "/etc/monitor/monitor.jsonc";

function jobIndex(text: string, options: ConfigSystemOptions = {}): ReturnType<typeof readJobIndex> {
  const system = createConfigSystem({ ...options, files: { ...options.files, [PATH]: text } });
  return readJobIndex({ path: PATH, named: true }, system);
}

Deno.test("readJobIndex() finds the checks and the state despite other errors", async (t) => {
  const job = '"backup": { "kind": "job", "parameters": { "expected_every": "1 day" } }';
  const table: Readonly<Record<string, string>> = {
    "all is right": `{ "defaults": {}, "state": "kept.sqlite", "checks": { ${job} } }`,
    "errors elsewhere":
      `{ "defaults": 5, "nonsense": {}, "state": "kept.sqlite", "checks": { ${job}, "x": 1 } }`,
    "a secret that cannot be read": `{ "checks": { ${job}, "web": { "kind": "script", "parameters":
      { "path": "no_such_program", "arguments": ["\${env:NONE}", "\${file:/none}"] } } }, "state": "kept.sqlite" }`,
  };
  await testRows(t, table, async (text) => {
    const { kinds, statePath, source } = await jobIndex(text);
    assert.equal(kinds.get("backup"), "job");
    assert.equal(statePath, "/etc/monitor/kept.sqlite");
    assert.equal(source.path, PATH);
  });
});

Deno.test("readJobIndex() finds checks in included files, and skips unreadable ones", async () => {
  const { kinds, statePath, secrets } = await jobIndex(
    '{ "state": "kept.sqlite", "include": ["jobs.jsonc", "missing.jsonc"], "checks": { "web": { "kind": "test" } } }',
    {
      files: {
        "/etc/monitor/jobs.jsonc": '{ "checks": { "backup": { "kind": "job" }, "x": { "kind": "script", ' +
          '"parameters": { "environment": { "A": "${env:TOKEN}" } } } } }',
      },
      environment: { TOKEN: "swordfish" },
    },
  );
  assert.deepEqual(new Map(kinds), new Map([["web", "test"], ["backup", "job"], ["x", "script"]]));
  assert.equal(statePath, "/etc/monitor/kept.sqlite");
  assert.deepEqual(secrets, ["swordfish"]);
});

Deno.test("readJobIndex() resolves the secrets that it can read", async () => {
  const { secrets, statePath } = await jobIndex(
    '{ "state": "${env:DIRECTORY}/kept.sqlite", "checks": { "x": { "kind": "script", "parameters": ' +
      '{ "environment": { "A": "${file:/token}", "B": "${env:NONE}" } } } } }',
    { environment: { DIRECTORY: "/var/lib" }, files: { "/token": "swordfish\n" } },
  );
  assert.equal(statePath, "/var/lib/kept.sqlite");
  assert.deepEqual(secrets, ["swordfish"]);
});

Deno.test("readJobIndex() rejects a config that it cannot parse", async (t) => {
  const table: Readonly<Record<string, readonly [text: string, message: RegExp]>> = {
    "a missing comma": ['{ "state": "x" "checks": {} }', /: it is not JSON$/],
    "a state without a value": [
      '{ "state": "${env:NONE}/x", "checks": {} }',
      /: a placeholder in "state" has no value here$/,
    ],
  };
  for (const [name, [text, message]] of Object.entries(table)) {
    await t.step(name, () =>
      assert.rejects(
        () => jobIndex(text),
        (error) => error instanceof ConfigError && message.test(error.message),
      ));
  }
});
