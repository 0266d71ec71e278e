/** Checks that stand for several. */
import assert from "node:assert/strict";
import { explainCheck } from "../../src/config/explain_check.ts";
import { readJobIndex } from "../../src/config/job_index.ts";
import { createConfigSystem, load, problemsOf } from "../../testing/config_system.ts";
import { testRows } from "../support/rows.ts";

const ports = {
  for_each: { host: ["a", "b"], port: [80, 443] },
  kind: "tcp_connect",
  parameters: { host: "${each:host}.example.org", port: "${each:port}" },
};

Deno.test("for_each expands to a check for every combination, with typed values", async () => {
  const { checks } = await load({
    defaults: {},
    checks: { first: { kind: "test", parameters: {} }, "${each:host} ${each:port}": ports },
  });
  assert.deepEqual(
    checks.map(({ name, parameters }) =>
      "port" in parameters ? [name, parameters.host, parameters.port] : [name]
    ),
    [
      ["first"],
      ["a 80", "a.example.org", 80],
      ["a 443", "a.example.org", 443],
      ["b 80", "b.example.org", 80],
      ["b 443", "b.example.org", 443],
    ],
  );
});

Deno.test("for_each accepts a list of objects, and secrets as values", async () => {
  const config = {
    defaults: {},
    checks: {
      "api ${each:name}": {
        for_each: [{ name: "one", token: "${env:ONE}", loud: true }, {
          name: "two",
          token: "x",
          loud: false,
        }],
        title: "$${each:name} is ${each:name}",
        tags: ["${each:name}"],
        reminders: "${each:loud}",
        depends_on: ["api one"],
        kind: "script",
        parameters: { path: "/x", arguments: ["${each:token}"] },
      },
      "uses ${each:other}": {
        for_each: { other: ["it"] },
        kind: "test",
        parameters: {},
        depends_on: ["api two"],
      },
    },
  };
  assert.deepEqual(await problemsOf(config), [
    'checks["api one"].depends_on: is a cycle: "api one" depends on "api one"',
  ]);
  config.checks["api ${each:name}"].depends_on = [];
  const { checks, secrets, fileOf, reader } = await load(config, { environment: { ONE: "swordfish" } });
  assert.deepEqual(
    checks.map(({ name, title, tags, reminders, dependsOn }) => ({
      name,
      title,
      tags,
      reminders,
      dependsOn,
    })),
    [
      { name: "api one", title: "${each:name} is one", tags: ["one"], reminders: true, dependsOn: [] },
      { name: "api two", title: "${each:name} is two", tags: ["two"], reminders: false, dependsOn: [] },
      { name: "uses it", title: undefined, tags: [], reminders: false, dependsOn: ["api two"] },
    ],
  );
  assert.deepEqual(secrets, ["swordfish"]);
  const explained = explainCheck(fileOf("api one").written, "api one", reader);
  assert.ok(
    explained.some(({ path, value }) => path === "parameters.arguments" && value === '["${env:ONE}"]'),
  );
  assert.ok(!explained.some(({ path }) => path.startsWith("for_each")));
});

Deno.test("for_each expands to so many checks and characters", async (t) => {
  const numbers = (length: number) => Array.from(Array(length).keys());
  const rows: Readonly<Record<string, readonly [forEach: object, limit: string]>> = {
    "too many": [{ a: numbers(101), b: numbers(100) }, "10000 checks"],
    "too much": [{ a: numbers(1000), b: ["x".repeat(20_000)] }, "16777216 characters"],
  };
  await testRows(t, rows, async ([for_each, limit]) => {
    const check = { for_each, kind: "test", parameters: { output: "${each:b}" } };
    assert.deepEqual(await problemsOf({ defaults: {}, checks: { "${each:a} ${each:b}": check } }), [
      `checks["\${each:a} \${each:b}"].for_each: expands to more than ${limit}`,
    ]);
  });
});

Deno.test("for_each works in included files, and for jobs that check in", async () => {
  const path = "/etc/monitor/monitor.jsonc";
  const job = { for_each: { db: ["a", "b"] }, kind: "job", parameters: { expected_every: "1 day" } };
  const files = {
    [path]: JSON.stringify({
      defaults: {},
      include: "more.jsonc",
      state: "s",
      checks: { "in ${each:db}": job },
    }),
    "/etc/monitor/more.jsonc": JSON.stringify({ checks: { "out ${each:db}": job } }),
  };
  const { kinds } = await readJobIndex({ path, named: true }, createConfigSystem({ files }));
  assert.deepEqual([...kinds.keys()].sort(), ["in a", "in b", "out a", "out b"]);
});
