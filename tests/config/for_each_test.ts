/** Checks that stand for several. */
import assert from "node:assert/strict";
import { explainCheck } from "../../src/config/explain_check.ts";
import { readJobIndex } from "../../src/config/job_index.ts";
import {
  createConfigSystem,
  describe,
  load,
  loadError,
  type LoadTestOptions,
} from "../../testing/config_system.ts";
import { testRows } from "../support/rows.ts";

async function problemsIn(
  config: unknown,
  options: LoadTestOptions = {},
): Promise<{ readonly problems: readonly string[]; readonly offsets: readonly number[] }> {
  const { problems } = await loadError(config, options);
  return { problems: problems.map(describe), offsets: problems.map(({ offset }) => offset) };
}

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
  const { problems } = await problemsIn(config);
  assert.deepEqual(problems, ['checks["api one"].depends_on: is a cycle: "api one" depends on "api one"']);
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

Deno.test("for_each returns errors with their position in the file", async (t) => {
  const check = (forEach: unknown, rest: object = {}): object => ({
    for_each: forEach,
    kind: "test",
    parameters: { output: "${each:host}" },
    ...rest,
  });
  const rows: Readonly<Record<string, readonly [name: string, check: object, problem: string]>> = {
    "an unknown key in a text": [
      "x",
      check({ host: ["a"] }, { title: "${each:port}" }),
      'checks.x.title: "${each:port}" is not a key of for_each, expected host (did you mean ${each:host}?)',
    ],
    "a key that one object lacks": [
      "${each:name}",
      check([{ name: "a", host: "a" }, { name: "b" }]),
      'checks["${each:name}"].for_each[1]: has no key "host", which "${each:host}" uses',
    ],
    "one name for two": [
      "${each:host}",
      check({ host: ["a"], port: [1, 2] }),
      'checks["${each:host}"]: for_each makes two checks with the name "a", expected each name once ' +
      "(put ${each:port} into the name)",
    ],
    "too many": [
      "${each:a}${each:b}${each:host}",
      check({ host: [1], a: Array.from(Array(101).keys()), b: Array.from(Array(100).keys()) }),
      'checks["${each:a}${each:b}${each:host}"].for_each: expands to more than 10000 checks',
    ],
    "too much": [
      "${each:a}",
      check({ a: Array.from(Array(1000).keys()), host: ["x".repeat(20_000)] }),
      'checks["${each:a}"].for_each: expands to more than 16777216 characters',
    ],
    "an error that all of them share, once": [
      "${each:host}",
      check({ host: ["a", "b"] }, { threshold: 0 }),
      "checks.a.threshold: is 0, expected 1 or more",
    ],
  };
  await testRows(t, rows, async ([key, item, problem]) => {
    const text = JSON.stringify({
      defaults: {},
      checks: { other: { kind: "test", parameters: {} }, [key]: item },
    });
    const { problems, offsets } = await problemsIn(text);
    assert.deepEqual(problems, [problem]);
    assert.ok((offsets[0] ?? 0) >= text.indexOf(JSON.stringify(key)), "it is at the check");
  });
  await t.step("a profile has none", async () => {
    const config = { defaults: {}, checks: { "${each:host}": check({ host: ["a"] }) } };
    const { problems } = await problemsIn(config, { shape: "a" });
    assert.match(problems.join(), /for_each: is not in profile a/);
  });
});

Deno.test("a placeholder of a check without for_each is a warning", async () => {
  const { warnings } = await load({
    defaults: {},
    checks: { x: { kind: "test", parameters: { output: "${each:host} $${each:host}" } } },
  });
  assert.deepEqual(warnings.map(({ message }) => message), [
    '"${each:host}" is not a placeholder here and stays unchanged',
  ]);
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
