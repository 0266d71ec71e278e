import assert from "node:assert/strict";
import { evaluateJson } from "../../../src/checks/http/expected_body.ts";
import type { HttpExpectation } from "../../../src/domain/generated/config.ts";
import { linesOf, type Rows, testRows } from "../../support/rows.ts";
import { testWith } from "../../../testing/tools.ts";
import { findExpressionProblems } from "../../../src/config/expressions.ts";
import { DEPTH_MAX, selectValues } from "../../../src/checks/http/captures.ts";
import suite from "../testdata/jsonpath_compliance/cts.json" with { type: "json" };

type Expected = NonNullable<HttpExpectation["json"]>;

const NOW_MS = Date.UTC(2026, 0, 31, 12);

async function evaluate(text: string, expected: Expected, isWhole = true) {
  return await evaluateJson(text, { expected, isWhole, nowMs: NOW_MS, pause: () => Promise.resolve() });
}

async function violationsOf(text: string, expected: Expected): Promise<readonly string[]> {
  const { violations, obstacle } = await evaluate(text, expected);
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

/** Compares the values of paths with expected ones, as JSON; each line ends with the problem. */
async function testValues(t: Deno.TestContext, body: string, table: string): Promise<void> {
  for (const [path = "", expected = "", problem = ""] of linesOf(table)) {
    await t.step(`${path} ${expected}`, async () => {
      const violations = await violationsOf(body, { [path]: JSON.parse(expected) });
      assert.deepEqual(violations, problem === "" ? [] : [`json "${path}" ${problem}`]);
    });
  }
}

Deno.test("evaluateJson() compares values with the expected ones", async (t) => {
  const table = `
    $.status      | "down" | is "up", expected "down"
    $.nothing     | null |
    $.status      | null | is "up", expected null
    $.list        | [] |
    $.nested      | {"equals":{"a":true,"b":[1,{"c":2}]}} |
    $.nested      | {"equals":{"a":true}} | is an object of 2, expected {"a": true}
    $.count       | {"lessThan":120} | is 120, expected a number less than 120
    $.count       | {"greaterThan":0,"lessThan":100} | is 120, expected a number less than 100 and a number greater than 0
    $.text        | {"lessThan":1000} | is "120", expected a number less than 1000
    $.text        | 120 | is "120", expected 120
    $.status      | {"notEquals":"down"} |
    $.status      | {"notEquals":"up"} | is "up", expected anything but "up"
    $.nothing     | {"exists":true} |
    $.missing     | {"exists":true} | finds nothing, expected a value
    $.error       | {"exists":false} |
    $.status      | {"exists":false} | finds "up", expected nothing
    $.missing     | {"notEquals":1} | finds nothing, expected anything but 1
    $.nodes[*].up | true | is false, expected true (2 of 3 values do not fit)
    $.__proto__   | {"exists":false} |`;
  await testValues(t, BODY, table);
});

Deno.test("evaluateJson() compares texts, lists, lengths and times", async (t) => {
  const body = JSON.stringify({
    version: "v2.14",
    tags: ["ready", { zone: "a" }],
    word: "grün🙂",
    replicas: 3,
    at: {
      hour: "2026-01-31T11:30:00Z",
      offset: "2026-01-31T12:30:00.5+01:00",
      bare: "2026-01-31 11:30:00",
      day: "2026-01-31",
      seconds: Date.UTC(2026, 0, 31, 11, 30) / 1000,
      milliseconds: Date.UTC(2026, 0, 31, 11, 30),
      future: "2026-02-01T00:00:00Z",
      old: "2026-01-31T10:00:00Z",
      impossible: "2026-13-31T10:00:00Z",
      text: "yesterday",
    },
  });
  const table = `
    $.version         | {"oneOf":["v1","v2.14"]} |
    $.version         | {"oneOf":["v1",null]} | is "v2.14", expected one of "v1", null
    $.version         | {"matches":"^v2\\\\."} |
    $.version         | {"matches":"^v3"} | is "v2.14", expected a match of "^v3"
    $.replicas        | {"matches":"3"} | is 3, expected a match of "3"
    $.version         | {"contains":"2.1"} |
    $.tags            | {"contains":"ready"} |
    $.tags            | {"contains":{"zone":"a"}} |
    $.tags            | {"contains":"read"} | is a list of 2, expected a text or list that contains "read"
    $.replicas        | {"contains":3} | is 3, expected a text or list that contains 3
    $.replicas        | {"atLeast":3,"atMost":3} |
    $.replicas        | {"atLeast":4} | is 3, expected a number of at least 4
    $.replicas        | {"atMost":2} | is 3, expected a number of at most 2
    $.tags            | {"length":2} |
    $.word            | {"length":5} |
    $.tags            | {"length":{"atLeast":3,"atMost":9}} | is a list of 2, expected a length of at least 3 and at most 9
    $.replicas        | {"length":1} | is 3, expected a length of 1
    $.at.hour         | {"newerThanMs":1800000} |
    $.at.offset       | {"newerThanMs":1800000} |
    $.at.bare         | {"newerThanMs":1800000} |
    $.at.seconds      | {"newerThanMs":1800000} |
    $.at.milliseconds | {"newerThanMs":1800000} |
    $.at.future       | {"newerThanMs":1800000} |
    $.at.day          | {"newerThanMs":43200000} |
    $.at.future       | {"aheadMs":1800000} |
    $.at.hour         | {"aheadMs":1800000} | is "2026-01-31T11:30:00Z", expected a time at least 30 min ahead
    $.at.text         | {"aheadMs":1} | is "yesterday", expected a time at least 1 ms ahead
    $.at.old          | {"newerThanMs":3600000} | is "2026-01-31T10:00:00Z", expected a time within the last 1 h
    $.at.impossible   | {"newerThanMs":1000000000000} | is "2026-13-31T10:00:00Z", expected a time within the last 11574 d 1 h 46 min 40 s
    $.at.text         | {"newerThanMs":3600000} | is "yesterday", expected a time within the last 1 h`;
  await testValues(t, body, table);
});

Deno.test("evaluateJson() compares numbers as they are written", async (t) => {
  const body =
    '{"id": 9007199254740993, "share": 0.1000000000000000055, "huge": -1e400, "list": [1, 12345678901234567891], ' +
    '"mark": "\\ue000number:5", "text": "\\ue000number:x"}';
  const table = `
    $.id                   | 9007199254740992 | is 9007199254740993, expected 9007199254740992
    $.id                   | {"notEquals":9007199254740992} |
    $.id                   | {"greaterThan":9007199254740992,"lessThan":9007199254740994} |
    $.id                   | {"atMost":9007199254740992} | is 9007199254740993, expected a number of at most 9007199254740992
    $.id                   | {"equals":{}} | is 9007199254740993, expected {}
    $.id                   | {"length":0} | is 9007199254740993, expected a length of 0
    $.id                   | {"matches":"9"} | is 9007199254740993, expected a match of "9"
    $.share                | {"atLeast":0.1} |
    $.huge                 | {"lessThan":-1e+300} |
    $.list                 | [1,12345678901234567000] | is [1, 12345678901234567891], expected [1, 12345678901234567000]
    $.list                 | {"contains":1,"length":2} |
    $.list[?@ == 12345678901234567000] | {"exists":false} |`;
  await testValues(t, body, table);
  await t.step("a text with the mark of numbers", async () => {
    const text = "\ue000number:x";
    assert.deepEqual(await violationsOf(body, { "$.text": text }), []);
    assert.deepEqual(await violationsOf(body, { "$.text": { atMost: 1 } }), [
      `json "$.text" is "${text}", expected a number of at most 1`,
    ]);
  });
  await t.step("a number alone", async () => {
    assert.deepEqual(await violationsOf("9007199254740993", { "$": 9007199254740992 }), [
      'json "$" is 9007199254740993, expected 9007199254740992',
    ]);
  });
  await t.step("as many digits as the runtime keeps", async () => {
    assert.deepEqual(await violationsOf("[0.30000000000000004, 1.0, 1e2]", { "$": [0.1 + 0.2, 1, 100] }), []);
  });
});

Deno.test("evaluateJson() searches a bounded amount of text for a pattern", async () => {
  const text = JSON.stringify(Array.from({ length: 100 }, (_, index) => "x".repeat(9_000) + index));
  const expected = { "$[*]": { matches: `(${"[a-x]?".repeat(200)})*z|\\d$` } };
  const { obstacle } = await evaluate(text, expected);
  assert.equal(obstacle, 'json "$[*]" finds more text than the pattern can search');
});

Deno.test("evaluateJson() lists failures in the order of the config", async () => {
  const violations = await violationsOf(BODY, { "$.text": "1", "$.status": "up", "$.count": 1 });
  assert.deepEqual(violations, ['json "$.text" is "120", expected "1"', 'json "$.count" is 120, expected 1']);
});

Deno.test("evaluateJson() returns a failure for a body that is not JSON", async (t) => {
  const rows = { "<html>": "body is not JSON", " \n": "body is empty, expected JSON" };
  await testRows(t, rows, async (violation, text) => {
    assert.deepEqual(await violationsOf(text, { "$.a": 1 }), [violation]);
  });
});

Deno.test("evaluateJson() returns the reason why a body of JSON can't be evaluated", async (t) => {
  const tooDeep = "body is JSON nested deeper than 100 levels";
  const all = "$..[*]..[*]";
  const rows: Rows<[text: string, obstacle: string, path?: string]> = {
    "nested without end": ["[".repeat(100_000) + "]".repeat(100_000), tooDeep],
    "a level too deep": ["[".repeat(102) + "]".repeat(102), tooDeep],
    "a path with too many matches": [
      `[${Array(200_000).fill("[1]").join(",")}]`,
      `json "${all}" reaches more than 1000000 values`,
    ],
    "a filter that orders long numbers": [
      "[12345678901234567891]",
      'json "$[?@ > 12345678901234567000]" cannot compare the long numbers of the body',
      "$[?@ > 12345678901234567000]",
    ],
    "very many long numbers": [
      `[${Array(10_001).fill("0.12345678901234567891").join(",")}]`,
      "body has more than 10000 numbers with too many digits",
    ],
  };
  await testRows(t, rows, async ([text, obstacle, path = all]) => {
    assert.deepEqual(await evaluate(text, { [path]: { exists: false } }), { violations: [], obstacle });
  });
  await t.step("cut", async () => {
    assert.deepEqual(await evaluate("{}", { [all]: { exists: false } }, false), {
      violations: [],
      obstacle: "body is too long for JSON, at most 1048576 characters are read",
    });
  });
  await t.step("just deep enough, and every level is reached", async () => {
    const text = `${'{"a":'.repeat(100)}1${"}".repeat(100)}`;
    assert.deepEqual(await violationsOf(text, { [`$${".a".repeat(100)}`]: 1, "$..a": { exists: true } }), []);
  });
});

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

testWith("time")(
  "selectValues() comes to an end in the largest and deepest bodies, whatever the path is",
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
