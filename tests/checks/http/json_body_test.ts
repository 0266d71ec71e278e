import assert from "node:assert/strict";
import { judgeJson } from "../../../src/checks/http/json_body.ts";
import type { HttpExpectation } from "../../../src/domain/http_check.ts";

type Expected = NonNullable<HttpExpectation["json"]>;

async function violationsOf(text: string, expected: Expected): Promise<readonly string[]> {
  const options = { expected, isWhole: true, pause: () => Promise.resolve() };
  const { violations, obstacle } = await judgeJson(text, options);
  assert.equal(obstacle, null);
  return violations;
}

const BODY = JSON.stringify({
  status: "up",
  count: 120,
  text: "120",
  nothing: null,
  list: [],
  nested: { b: [1, { c: 2 }], a: true },
  nodes: [{ name: "one", up: true }, { name: "two", up: false }, { name: "three", up: false }],
});

Deno.test("judgeJson() holds values to what is expected", async (t) => {
  const rows: readonly { name: string; expected: Expected; violation: string | null }[] = [
    { name: "a value alone", expected: { "$.status": "up" }, violation: null },
    {
      name: "another value",
      expected: { "$.status": "down" },
      violation: 'json "$.status" is "up", expected "down"',
    },
    { name: "null", expected: { "$.nothing": null }, violation: null },
    {
      name: "null for another",
      expected: { "$.status": null },
      violation: 'json "$.status" is "up", expected null',
    },
    { name: "an empty list", expected: { "$.list": [] }, violation: null },
    { name: "another list", expected: { "$.list": [1] }, violation: 'json "$.list" is [], expected [1]' },
    {
      name: "an object, its members in another order",
      expected: { "$.nested": { equals: { a: true, b: [1, { c: 2 }] } } },
      violation: null,
    },
    {
      name: "an object with a member less",
      expected: { "$.nested": { equals: { a: true } } },
      violation: 'json "$.nested" is an object of 2, expected {"a": true}',
    },
    { name: "less than", expected: { "$.count": { lessThan: 121 } }, violation: null },
    {
      name: "not less than",
      expected: { "$.count": { lessThan: 120 } },
      violation: 'json "$.count" is 120, expected a number less than 120',
    },
    {
      name: "not between",
      expected: { "$.count": { greaterThan: 0, lessThan: 100 } },
      violation: 'json "$.count" is 120, expected a number less than 100 and a number greater than 0',
    },
    {
      name: "a text is no number",
      expected: { "$.text": { lessThan: 1000 } },
      violation: 'json "$.text" is "120", expected a number less than 1000',
    },
    {
      name: "a text does not equal a number",
      expected: { "$.text": 120 },
      violation: 'json "$.text" is "120", expected 120',
    },
    { name: "not equal", expected: { "$.status": { notEquals: "down" } }, violation: null },
    {
      name: "equal after all",
      expected: { "$.status": { notEquals: "up" } },
      violation: 'json "$.status" is "up", expected anything but "up"',
    },
    { name: "there", expected: { "$.nothing": { exists: true } }, violation: null },
    {
      name: "not there",
      expected: { "$.missing": { exists: true } },
      violation: 'json "$.missing" finds nothing, expected a value',
    },
    { name: "rightly not there", expected: { "$.error": { exists: false } }, violation: null },
    {
      name: "there, expected not to be",
      expected: { "$.status": { exists: false } },
      violation: 'json "$.status" finds "up", expected nothing',
    },
    {
      name: "nothing to compare",
      expected: { "$.missing": { notEquals: 1 } },
      violation: 'json "$.missing" finds nothing, expected anything but 1',
    },
    { name: "all of several", expected: { "$.nodes[*].name": { notEquals: "four" } }, violation: null },
    {
      name: "some of several",
      expected: { "$.nodes[*].up": true },
      violation: 'json "$.nodes[*].up" is false, expected true (2 of 3 values do not fit)',
    },
    {
      name: "a member of every object's prototype",
      expected: { "$.__proto__": { exists: false } },
      violation: null,
    },
    { name: "another", expected: { "$.constructor": { exists: false } }, violation: null },
  ];
  for (const { name, expected, violation } of rows) {
    await t.step(name, async () => {
      assert.deepEqual(await violationsOf(BODY, expected), violation === null ? [] : [violation]);
    });
  }
});

Deno.test("judgeJson() lists what is wrong in the config's order", async () => {
  const violations = await violationsOf(BODY, { "$.text": "1", "$.status": "up", "$.count": 1 });
  assert.deepEqual(violations, ['json "$.text" is "120", expected "1"', 'json "$.count" is 120, expected 1']);
});

Deno.test("judgeJson() reports a body that is not JSON as a violation", async (t) => {
  const rows = [
    { name: "no JSON", text: "<html>", violation: "body is not JSON" },
    { name: "JSON cut short", text: BODY.slice(0, -1), violation: "body is not JSON" },
    { name: "nothing", text: " \n", violation: "body is empty, expected JSON" },
  ];
  for (const { name, text, violation } of rows) {
    await t.step(name, async () => assert.deepEqual(await violationsOf(text, { "$.a": 1 }), [violation]));
  }
});

Deno.test("judgeJson() returns why a body of JSON can't be judged", async (t) => {
  const tooDeep = "body is JSON nested deeper than 100 levels";
  const rows = [
    {
      name: "cut",
      text: "{}",
      isWhole: false,
      obstacle: "body is too long for JSON, at most 1048576 characters are read",
    },
    { name: "nested without end", text: "[".repeat(500_000) + "]".repeat(500_000), obstacle: tooDeep },
    { name: "a level too deep", text: "[".repeat(102) + "]".repeat(102), obstacle: tooDeep },
    {
      name: "a path that reaches too much",
      text: `[${Array(200_000).fill("[1]").join(",")}]`,
      obstacle: 'json "$..[*]..[*]" reaches more than 1000000 values',
    },
  ];
  for (const { name, text, isWhole = true, obstacle } of rows) {
    await t.step(name, async () => {
      const expected = { "$..[*]..[*]": { exists: false } };
      assert.deepEqual(await judgeJson(text, { expected, isWhole, pause: () => Promise.resolve() }), {
        violations: [],
        obstacle,
      });
    });
  }
  await t.step("just deep enough, and every level is reached", async () => {
    const text = `${'{"a":'.repeat(100)}1${"}".repeat(100)}`;
    assert.deepEqual(await violationsOf(text, { [`$${".a".repeat(100)}`]: 1, "$..a": { exists: true } }), []);
  });
});
