import assert from "node:assert/strict";
import { findDependencyProblems } from "../../src/config/resolve_config.ts";
import { testCheck } from "../support/checks.ts";
import { problemsOf } from "../../testing/config_system.ts";
import { campaign } from "../../testing/seed.ts";
import { testRows } from "../support/rows.ts";

/** Returns the problems of checks with these dependencies, one line each. */
function problemsIn(requiredPermissions: Readonly<Record<string, readonly string[]>>): readonly string[] {
  const checks = Object.entries(requiredPermissions).map(([name, dependsOn]) =>
    testCheck("ok", { name, dependsOn })
  );
  return findDependencyProblems(checks).map(({ path, message, hint }) =>
    `${path.join(".")}: ${message}${hint === undefined ? "" : ` (${hint})`}`
  );
}

Deno.test("findDependencyProblems() accepts every graph without a cycle", async (t) => {
  const rows: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
    "two ways to one check": { a: ["b", "c"], b: ["d"], c: ["d"], d: [] },
    "names that objects have of themselves": {
      constructor: ["toString"],
      toString: ["hasOwnProperty"],
      hasOwnProperty: [],
    },
  };
  await testRows(t, rows, (requiredPermissions) => assert.deepEqual(problemsIn(requiredPermissions), []));
});

Deno.test("findDependencyProblems() returns each cycle once, with all its checks", async (t) => {
  const at = (name: string, circle: string): string => `checks.${name}.depends_on: is a cycle: ${circle}`;
  const rows: Readonly<
    Record<
      string,
      readonly [requiredPermissions: Readonly<Record<string, readonly string[]>>, problems: readonly string[]]
    >
  > = {
    "a check that depends on itself": [{ a: ["a"] }, [at("a", '"a" depends on "a"')]],
    "one that others lead to": [
      { x: ["y"], y: ["a"], a: ["b"], b: ["a"], z: ["b"] },
      [at("a", '"a" depends on "b" depends on "a"')],
    ],
    "two that share no check": [
      { a: ["b"], b: ["a"], c: ["c"] },
      [at("a", '"a" depends on "b" depends on "a"'), at("c", '"c" depends on "c"')],
    ],
    "a cycle and a name that is no check": [
      { a: ["a", "web site"] },
      ['checks.a.depends_on.1: is "web site", expected the name of a check', at("a", '"a" depends on "a"')],
    ],
  };
  await testRows(
    t,
    rows,
    ([requiredPermissions, problems]) => assert.deepEqual(problemsIn(requiredPermissions), problems),
  );
});

/** A chain of checks, the first of which needs the second, and so on; the last needs `last`. */
function chain(length: number, last: readonly string[]): Readonly<Record<string, readonly string[]>> {
  const names = Array.from({ length }, (_, index) => `c${index}`);
  return Object.fromEntries(
    names.map((name, index) => [name, index === length - 1 ? last : [`c${index + 1}`]]),
  );
}

Deno.test("findDependencyProblems() walks chains of very many checks, in time that grows with their number", async (t) => {
  // Looking through the path at each step would take minutes.
  await t.step("to their end", () => assert.deepEqual(problemsIn(chain(campaign(200_000), [])), []));
  await t.step("around, without all names in one message", () => {
    assert.deepEqual(problemsIn(chain(1_000, ["c0"])), [
      'checks.c0.depends_on: is a cycle: "c0" depends on "c1" depends on "c2" depends on "c3" depends on "c4" depends on "c5" depends on ' +
      '… (993 more) … depends on "c999" depends on "c0"',
    ]);
  });
});

Deno.test("loadConfig() locates errors in dependencies, and ignores unresolved names", async () => {
  const config = {
    defaults: {},
    checks: {
      web: { kind: "test", depends_on: ["${env:ROUTER}", "web"], parameters: {} },
      router: { kind: "test", parameters: {} },
    },
  };
  assert.deepEqual(await problemsOf(config, { withoutSecrets: true }), [
    'checks.web.depends_on: is a cycle: "web" depends on "web"',
  ]);
  assert.deepEqual(await problemsOf(config, { environment: { ROUTER: "rooter" } }), [
    'checks.web.depends_on: is a cycle: "web" depends on "web"',
    'checks.web.depends_on[0]: is "${env:ROUTER}", expected the name of a check',
  ]);
});
