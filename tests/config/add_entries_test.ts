import assert from "node:assert/strict";
import fc from "../support/property.ts";
import { addEntries, setListIn } from "../../src/config/add_entries.ts";
import { parseText } from "../../src/config/syntax.ts";
import { campaign } from "../../testing/seed.ts";
import { testRows } from "../support/rows.ts";

const NEW = { kind: "x" };

const ROWS: Readonly<Record<string, readonly [before: string, after: string]>> = {
  "after the last check": [
    '{\n  "checks": {\n    "a": 1\n  }\n}\n',
    '{\n  "checks": {\n    "a": 1,\n    "n": { "kind": "x" }\n  }\n}\n',
  ],
  "after a comment that belongs to the last check": [
    '{\n  "checks": {\n    "a": 1 // one /* } */\n    // "b": 2\n  }\n}',
    '{\n  "checks": {\n    "a": 1, // one /* } */\n    "n": { "kind": "x" }\n    // "b": 2\n  }\n}',
  ],
  "after a trailing comma": [
    '{\n  "checks": {\n    "a": 1, // one\n  },\n}',
    '{\n  "checks": {\n    "a": 1, // one\n    "n": { "kind": "x" },\n  },\n}',
  ],
  "to an empty object": ['{\n  "checks": {}\n}\n', '{\n  "checks": {\n    "n": { "kind": "x" }\n  }\n}\n'],
  "to a config without checks": [
    '{\n\t"defaults": {} // d\n}\n',
    '{\n\t"defaults": {}, // d\n\t"checks": { "n": { "kind": "x" } }\n}\n',
  ],
  "with tabs and CRLF": [
    '{\r\n\t"checks": {\r\n\t\t"a": 1\r\n\t}\r\n}\r\n',
    '{\r\n\t"checks": {\r\n\t\t"a": 1,\r\n\t\t"n": { "kind": "x" }\r\n\t}\r\n}\r\n',
  ],
};

const LISTS: Readonly<Record<string, readonly [before: string, after: string]>> = {
  "a list that is missing": [
    '{\n  "checks": {\n    "a": { "kind": "x" }\n  }\n}',
    '{\n  "checks": {\n    "a": { "kind": "x",\n      "depends_on": ["n"]\n    }\n  }\n}',
  ],
  "an empty list": [
    '{ "checks": { "a": { "depends_on": [ ] } } }',
    '{ "checks": { "a": { "depends_on": ["n"] } } }',
  ],
  "a list on one line": [
    '{ "checks": { "a": { "depends_on": ["b", { "any": ["c"] }] } } }',
    '{ "checks": { "a": { "depends_on": ["b", { "any": ["c"] }, "n"] } } }',
  ],
  "a list with comments": [
    '{ "checks": { "a": {\n  "depends_on": [\n    "b", // first\n    "c" // last\n    // end\n  ] } } }',
    '{ "checks": { "a": {\n  "depends_on": [\n    "b", // first\n    "c", // last\n    "n"\n    // end\n  ] } } }',
  ],
  "a list with a trailing comma": [
    '{ "checks": { "a": {\n  "depends_on": [\n    "b",\n  ] } } }',
    '{ "checks": { "a": {\n  "depends_on": [\n    "b",\n    "n",\n  ] } } }',
  ],
};

Deno.test("setListIn() adds to a list, and keeps everything else", async (t) => {
  await testRows(
    t,
    LISTS,
    ([before, after]) => assert.equal(setListIn(before, ["checks", "a"], "depends_on", ["n"]), after),
  );
});

Deno.test("addEntries() adds a check, and keeps everything else", async (t) => {
  await testRows(t, ROWS, ([before, after]) => assert.equal(addEntries(before, [["n", NEW]]), after));
});

Deno.test("addEntries() breaks a long check into lines", () => {
  const path = `/${"x".repeat(60)}`;
  assert.equal(
    addEntries('{\n  "checks": {}\n}', [["n", { kind: "x", parameters: { path } }], ["m", 1]]),
    `{\n  "checks": {\n    "n": {\n      "kind": "x",\n      "parameters": { "path": "${path}" }\n    },\n    "m": 1\n  }\n}`,
  );
});

Deno.test("addEntries() changes no value and removes no comment, however a config is written", () => {
  const space = fc.constantFrom(
    "",
    " ",
    "\n",
    "\n\n  ",
    "\t",
    " // c\n",
    "/* c */",
    "\n/* c\n c */ ",
    "\r\n",
  );
  const value = fc.constantFrom("1", "{}", '{ "a": [1, 2,] }', '"},"', "[ // c\n]");
  const object = fc.tuple(
    fc.array(fc.tuple(space, space, value, space), { maxLength: 4 }),
    space,
    fc.boolean(),
  )
    .map(([entries, end, hasTrailingComma]) => {
      const parts = entries.map(([one, two, value, three], index) =>
        `${one}"k${index}"${two}:${value}${three}`
      );
      return `{${parts.join(",")}${hasTrailingComma && parts.length > 0 ? "," : ""}${end}}`;
    });
  fc.assert(
    fc.property(space, object, space, (before, checks, after) => {
      const text = `${before}{"defaults": {}${after},"checks":${checks}}${after}`;
      const added = addEntries(text, [["n", NEW], ["m", [1]]]);
      const { value: old, problems } = parseText(text);
      assert.deepEqual(problems, []);
      const parsed = parseText(added);
      assert.deepEqual(parsed.problems, [], added);
      const expected = JSON.parse(JSON.stringify(old)) as { checks: Record<string, unknown> };
      Object.assign(expected.checks, { n: NEW, m: [1] });
      assert.equal(JSON.stringify(parsed.value), JSON.stringify(expected));
      assert.equal(added.split(/\/\/ c|\/\* c/).length, text.split(/\/\/ c|\/\* c/).length);
      assert.equal(addEntries(text, [["n", NEW], ["m", [1]]]), added);
    }),
    { numRuns: campaign(2000) },
  );
});
