import assert from "node:assert/strict";
import { requiresTools } from "../../../testing/tools.ts";
import { findExpressionProblems } from "../../../src/config/expressions.ts";
import { DEPTH_MAX, selectValues } from "../../../src/checks/http/captures.ts";
import suite from "../testdata/jsonpath_compliance/cts.json" with { type: "json" };

interface ComplianceCase {
  readonly name: string;
  readonly selector: string;
  readonly document?: unknown;
  /** The only result, or each of those that the order of keys allows. */
  readonly result?: readonly unknown[];
  readonly results?: readonly (readonly unknown[])[];
  readonly invalid_selector?: boolean;
}

const CASES: readonly ComplianceCase[] = suite.tests;

Deno.test("selectValues() passes the compliance suite of RFC 9535", async () => {
  assert.ok(CASES.length > 700);
  for (const { name, selector, document, result, results, invalid_selector } of CASES) {
    if (invalid_selector) continue;
    const found = await valuesOf(selector, document);
    const wanted = results ?? [result];
    assert.ok(
      wanted.some((one) => isDeepEqual(found, one)),
      `${name}: ${selector} finds ${JSON.stringify(found)}, expected ${JSON.stringify(wanted)}`,
    );
  }
});

/** Filters that the config rejects because their time grows faster than the body. */
const EXPENSIVE = /(?:match|search)\(|\$.*\$|count\(|value\(|@[^,&|=!<>]*(?:\*|\.\.|\[[^\]]*[?:,])/;

Deno.test("findExpressionProblems() accepts the valid paths of the suite but for expensive filters", async () => {
  for (const { name, selector, invalid_selector } of CASES) {
    if (!invalid_selector && EXPENSIVE.test(selector)) continue;
    const problems = await problemsOf(selector);
    assert.equal(problems.length, invalid_selector ? 1 : 0, `${name}: ${selector}`);
  }
});

Deno.test("findExpressionProblems() rejects expensive filters", async (t) => {
  const single = "a filter may compare single values only, such as @.name";
  const rows = [
    { path: "$[?count($..*) > 1]", reason: single },
    { path: "$..[?!count(@..*) || @.a]", reason: single },
    { path: "$[?(@.a && @[?@.b])]", reason: single },
    { path: "$.o[?$.s == @.t]", reason: "a filter may look at @ only, not at $" },
    { path: "$[?search(@.a, 'b')]", reason: "match() and search() are not supported, use body_pattern" },
    { path: `$[?${Array(11).fill("@.a").join("||")}]`, reason: "its filters have more than 10 parts with @" },
  ];
  for (const { path, reason } of rows) {
    await t.step(path, async () => {
      const message = `"${path}" is not a JSON path (RFC 9535): ${reason}`;
      assert.deepEqual((await problemsOf(path)).map((problem) => problem.message), [message]);
    });
  }
  await t.step("keys may have the names of functions", async () => {
    assert.deepEqual(await problemsOf("$.match[?@.search == 'count']"), []);
  });
});

async function valuesOf(path: string, value: unknown): Promise<readonly unknown[]> {
  return await selectValues(path, value) ?? assert.fail("too many values");
}

function problemsOf(path: string): ReturnType<typeof findExpressionProblems> {
  return findExpressionProblems([{ path: ["json", path], format: "json_path", value: path, written: path }]);
}

Deno.test(
  "selectValues() comes to an end in the largest and deepest bodies, whatever the path is",
  requiresTools("time"),
  async (t) => {
    const flat = Array(524_000).fill(1);
    let deep: unknown = flat;
    for (let depth = 1; depth < DEPTH_MAX; depth++) deep = [deep];
    const filter = Array(10).fill("@.a").join("||");
    for (const [name, value] of Object.entries({ flat, deep })) {
      const rows = [
        { path: "$..*", isFound: true },
        { path: "$..a", isFound: true },
        { path: `$..[?${filter}]`, isFound: true },
        { path: "$..[?length(@) > 1]", isFound: true },
        { path: "$..*..*..*", isFound: false },
        { path: `$..[${Array(200).fill("*").join(",")}]`, isFound: false },
        { path: `$${"[0,0]".repeat(99)}`, isFound: name === "flat" },
      ];
      for (const { path, isFound } of rows) {
        await t.step(`${path} in a ${name} list`, async () => {
          assert.equal(await selectValues(path, value) !== null, isFound);
        });
      }
    }
  },
);

function isDeepEqual(one: unknown, other: unknown): boolean {
  try {
    assert.deepStrictEqual(one, other);
    return true;
  } catch {
    return false;
  }
}
