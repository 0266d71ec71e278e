import assert from "node:assert/strict";
import { findExpressionProblems } from "../../../src/config/expressions.ts";
import { selectValues } from "../../../src/checks/http/json_paths.ts";
import { TooManySteps } from "../../../src/checks/metered.ts";
import suite from "../testdata/jsonpath_compliance/cts.json" with { type: "json" };

/** A case of the JSONPath Compliance Test Suite. */
interface ComplianceCase {
  readonly name: string;
  readonly selector: string;
  readonly document?: unknown;
  /** The only answer, or each of those that the order of members allows. */
  readonly result?: readonly unknown[];
  readonly results?: readonly (readonly unknown[])[];
  readonly invalid_selector?: boolean;
}

const CASES: readonly ComplianceCase[] = suite.tests;

Deno.test("selectValues() finds what the compliance suite of RFC 9535 wants", async (t) => {
  assert.ok(CASES.length > 700);
  for (const { name, selector, document, result, results, invalid_selector } of CASES) {
    if (invalid_selector) continue;
    await t.step(name, async () => {
      const found = await selectValues(selector, document);
      const wanted = results ?? [result];
      assert.ok(
        wanted.some((one) => isDeepEqual(found, one)),
        `${selector} finds ${JSON.stringify(found)}, expected ${JSON.stringify(wanted)}`,
      );
    });
  }
});

Deno.test("findExpressionProblems() takes the paths of the compliance suite, and refuses the invalid ones", async (t) => {
  for (const { name, selector, invalid_selector } of CASES) {
    await t.step(name, async () => {
      const item = { path: ["json", selector], format: "json_path", value: selector, written: selector };
      assert.equal((await findExpressionProblems([item])).length, invalid_selector ? 1 : 0, selector);
    });
  }
});

Deno.test("selectValues() gives the values themselves", async () => {
  const value = { a: [{ b: 1 }, { b: { c: [2] } }] };
  const found = await selectValues("$.a[*].b", value);
  assert.equal(found[1], value.a[1]?.b);
  assert.deepEqual(found, [1, { c: [2] }]);
});

Deno.test("selectValues() ends whatever path and value are", async (t) => {
  const flat = Array.from({ length: 40_000 }, (_item, index) => index);
  const objects = flat.map((index) => ({ index, text: "a".repeat(20) }));
  const long = "a".repeat(400_000);
  let deep: unknown = flat;
  for (let depth = 1; depth < 60; depth++) deep = [deep];
  const rows: readonly { name: string; path: string; value: unknown }[] = [
    { name: "every value of a long list", path: "$..*", value: flat },
    { name: "every value below every value", path: "$..*..*..*", value: deep },
    { name: "a filter that looks at everything each time", path: "$[?count($..*) > 1]", value: flat },
    { name: "one that looks at everything below", path: "$..[?count(@..*) > 100000]", value: deep },
    { name: "the same again and again", path: `$..[${Array(200).fill("0").join(",")}]`, value: deep },
    {
      name: "long texts that are compared",
      path: "$.o[?$.s == $.t]",
      value: { o: objects, s: long, t: `${long}b` },
    },
    { name: "the length of a long text", path: "$.o[?length($.s) > 1]", value: { o: objects, s: long } },
    { name: "a filter of many terms", path: `$[?${Array(200).fill("@.a").join("||")}]`, value: flat },
    { name: "a filter of many constants", path: `$[?${Array(140).fill("1==1").join("&&")}]`, value: flat },
    { name: "a runaway expression", path: "$[?search(@.text, '^(a+)+$')]", value: objects },
    { name: "one in a long text", path: "$[?search(@, '(a|a)*[bc]{20}!')]", value: [long] },
    {
      name: "expressions from the value",
      path: "$[?search('aaaa', @)]",
      value: flat.map((index) => `(a{${index % 30}}|\\p{L}{20}){${index}}`),
    },
  ];
  for (const { name, path, value } of rows) {
    await t.step(name, async () => {
      await assert.rejects(selectValues(path, value), TooManySteps);
    });
  }
});

Deno.test("selectValues() has steps enough for large answers", async () => {
  const value = { items: Array.from({ length: 5000 }, (_item, id) => ({ id, status: "up" })) };
  assert.equal((await selectValues("$.items[*].status", value)).length, 5000);
  assert.equal((await selectValues("$.items[?@.status == 'down']", value)).length, 0);
  assert.equal((await selectValues("$..status", value)).length, 5000);
});

function isDeepEqual(one: unknown, other: unknown): boolean {
  try {
    assert.deepStrictEqual(one, other);
    return true;
  } catch {
    return false;
  }
}
