import assert from "node:assert/strict";
import { loadError, problemsOf, withCheck } from "../../testing/config_system.ts";
import { testRows } from "../support/rows.ts";

const page = (parameters: object) => withCheck({ kind: "http_request", parameters });
const script = (parameters: object) =>
  withCheck({ kind: "script", parameters: { path: "/x", ...parameters } });
const mail = (parameters: object) => ({ defaults: { notifications: [{ kind: "email", parameters }] } });

/** The hint for the one error of a config. */
async function hintOf(config: unknown): Promise<string | null> {
  const { problems } = await loadError(config);
  assert.equal(problems.length, 1, problems.map((problem) => problem.message).join("; "));
  return problems[0]?.hint ?? null;
}

Deno.test("findStructureProblems() names the object to which a misplaced key belongs", async (t) => {
  const request = { target: "http://h/" };
  const rows: Readonly<Record<string, readonly [config: unknown, hint: string | null]>> = {
    "a parameter in the check": [
      withCheck({ kind: "script", path: "/x", parameters: { path: "/x" } }),
      'move it into "parameters"',
    ],
    "a setting at the top": [{ defaults: {}, schedule: {} }, 'move it into "defaults"'],
    "headers in the parameters": [page({ request, headers: {} }), 'move it into "request" or "response"'],
  };
  await testRows(t, rows, async ([config, hint]) => {
    assert.equal(await hintOf(config), hint);
  });
});

Deno.test("findStructureProblems() suggests the equivalent of another tool's key", async (t) => {
  const parameters = {};
  const target = "http://h/";
  const rows: Readonly<Record<string, readonly [config: unknown, hint: string]>> = {
    "type of a check": [withCheck({ type: "script", parameters }), 'did you mean "kind"?'],
    "url in the request": [page({ request: { url: target } }), 'did you mean "target"?'],
    "command in the parameters": [
      script({ command: "/x" }),
      'write "path" and "arguments"',
    ],
  };
  await testRows(t, rows, async ([config, hint]) => assert.equal(await hintOf(config), hint));
});

Deno.test("findStructureProblems() suggests the equivalent of another tool's kind", async (t) => {
  const check = (kind: string) => withCheck({ kind, parameters: {} });
  const rows: Readonly<Record<string, readonly [config: unknown, hint: string]>> = {
    "http": [check("http"), 'did you mean "http_request"?'],
  };
  await testRows(t, rows, async ([config, hint]) => assert.equal(await hintOf(config), hint));
});

Deno.test("findStructureProblems() does not suggest an existing key", async () => {
  assert.equal(await hintOf(script({ pathh: "/y" })), null);
  assert.equal(await hintOf(withCheck({ kind: "test", parameters: {}, parameter: {} })), null);
  const both = await problemsOf(withCheck({ kind: "script", parameters: { pth: "/y" } }));
  assert.deepEqual(both, [
    'checks.web.parameters.pth: unknown key "pth", expected one of path, arguments, environment, ' +
    "condition_on_timeout, exit_code_conditions, output_part, output_pattern, value, performance_data_ranges, " +
    'condition_on_mismatch (did you mean "path"?)',
  ]);
});

Deno.test("findStructureProblems() returns one error for a misspelled required key", async (t) => {
  await t.step("not that it is missing too", async () => {
    const problems = await problemsOf(withCheck({ knid: "test", parameters: {} }));
    assert.equal(problems.length, 1);
    assert.ok(problems[0]?.endsWith('(did you mean "kind"?)'));
  });
  await t.step("and a second one if the unknown key is unrelated", async () => {
    assert.equal((await problemsOf(withCheck({ color: "red", parameters: {} }))).length, 2);
  });
});

Deno.test("findStructureProblems() suggests how to write a value of another type", async (t) => {
  const access = { host: "h", port: 25, username: "", password: "" };
  const rows: Readonly<Record<string, readonly [config: unknown, hint: string | null]>> = {
    "a number in quotes": [
      withCheck({ kind: "test", threshold: "3", parameters: {} }),
      "write 3 without quotes",
    ],
    "a string for a list of them": [script({ arguments: "-v" }), 'put it in brackets: ["-v"]'],
    "a placeholder for a number": [
      mail({ access: { ...access, port: "${env:X}" }, sender: "a@b", receivers: ["a@b"] }),
      "a placeholder is always a string",
    ],
  };
  await testRows(t, rows, async ([config, hint]) => {
    assert.equal(await hintOf(config), hint);
  });
});

Deno.test("findStructureProblems() rejects invalid free names", async () => {
  const environment = { "": "x", "A=B": "x", "A\0B": "x", "${env:X}": "x", "é": "x" };
  const { problems } = await loadError(script({ environment }));
  assert.deepEqual(
    problems.map(({ path, message }) => [path, message]),
    [
      ["", '""'],
      ["A=B", '"A=B"'],
      ["A\\u0000B", '"A\\u0000B"'],
    ].map(([name, shown]) => [
      `checks.web.parameters.environment["${name}"]`,
      `${shown} cannot be a name here, expected a variable name without =`,
    ]),
  );
  const headers = { "": "x", "a b": "x", "ä": "x", "a:": "x", "X-Ok": "x", "!#$%&'*+.^_`|~": "x" };
  const refused = await loadError(page({ request: { target: "http://h/" }, response: { headers } }));
  assert.deepEqual(
    refused.problems.map((problem) => problem.message),
    ['""', '"a b"', '"ä"', '"a:"'].map((shown) =>
      `${shown} cannot be a name here, expected a header name: letters, digits and signs such as - and _`
    ),
  );
});
