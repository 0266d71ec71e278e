import assert from "node:assert/strict";
import { JSON_LENGTH_MAX, jsonViolations } from "../../../src/checks/http/json_body.ts";
import type { HttpExpectation } from "../../../src/domain/http_check.ts";

type Expected = NonNullable<HttpExpectation["json"]>;

function violationsOf(text: string, expected: Expected, isWhole = true): Promise<readonly string[]> {
  return jsonViolations(text, { expected, isWhole, pause: () => Promise.resolve() });
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

Deno.test("jsonViolations() holds values to what is expected", async (t) => {
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

Deno.test("jsonViolations() lists what is wrong in the config's order", async () => {
  const violations = await violationsOf(BODY, { "$.text": "1", "$.status": "up", "$.count": 1 });
  assert.deepEqual(violations, ['json "$.text" is "120", expected "1"', 'json "$.count" is 120, expected 1']);
});

Deno.test("jsonViolations() says why a body cannot be read as JSON", async (t) => {
  const rows = [
    { name: "no JSON", text: "<html>", violation: "body is not JSON" },
    { name: "JSON cut short", text: BODY.slice(0, -1), violation: "body is not JSON" },
    { name: "nothing", text: " \n", violation: "body is empty, expected JSON" },
    {
      name: "too long",
      text: `"${"a".repeat(JSON_LENGTH_MAX - 1)}"`,
      violation: "body is too long to be read as JSON (more than 512 Ki characters)",
    },
    {
      name: "cut",
      text: "{}",
      isWhole: false,
      violation: "body is too long to be read as JSON (more than 512 Ki characters)",
    },
    {
      name: "nested without end",
      text: "[".repeat(JSON_LENGTH_MAX / 2) + "]".repeat(JSON_LENGTH_MAX / 2),
      violation: "body is JSON that is nested deeper than 64 levels",
    },
    {
      name: "a level too deep",
      text: "[".repeat(66) + "]".repeat(66),
      violation: "body is JSON that is nested deeper than 64 levels",
    },
    {
      name: "too much for a path",
      text: `[${Array(60_000).fill("{}").join(",")}]`,
      violation: 'json "$..[?@.status == 1]" takes too many steps on this body',
    },
  ];
  for (const { name, text, isWhole, violation } of rows) {
    await t.step(name, async () => {
      const expected = { "$..[?@.status == 1]": { exists: false } };
      assert.deepEqual(await violationsOf(text, expected, isWhole), [violation]);
    });
  }
  await t.step("just deep enough, and every level is reached", async () => {
    const text = `${'{"a":'.repeat(64)}1${"}".repeat(64)}`;
    assert.deepEqual(await violationsOf(text, { [`$${".a".repeat(64)}`]: 1, "$..a": { exists: true } }), []);
  });
});
