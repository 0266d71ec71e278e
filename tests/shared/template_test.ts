import assert from "node:assert/strict";
import {
  fillJsonTemplate,
  fillTemplate,
  SAMPLE_FIELDS,
  TEMPLATE_FIELDS,
  type TemplateField,
  unknownFields,
  unknownFilters,
} from "../../src/shared/template.ts";
import type { JsonTemplate } from "../../src/domain/generated/config.ts";
import { type Rows, testRows } from "../support/rows.ts";

const FIELDS = Object.fromEntries(TEMPLATE_FIELDS.map((field) => [field, `<${field}>`])) as Record<
  TemplateField,
  string
>;

const FILLED: readonly (readonly [name: string, template: string, filled: string])[] = [
  ["no field", "plain", "plain"],
  ["a field", "a {{check}} b", "a <check> b"],
  ["a field with spaces", "{{ check }}{{\tcheck\n}}", "<check><check>"],
  ["the same field twice", "{{id}}{{id}}", "<id><id>"],
  ["the braces of JSON", '{"a":{"b":"{{host}}"}}', '{"a":{"b":"<host>"}}'],
  ["three braces", "{{{id}}}", "{<id>}"],
  ["an unknown field, which stays", "{{color}}", "{{color}}"],
  ["a name of the language itself", "{{constructor}}{{__proto__}}", "{{constructor}}{{__proto__}}"],
  ["braces that do not close", "{{id} {{id", "{{id} {{id"],
];

Deno.test("fillTemplate() puts values in place of", async (t) => {
  for (const [name, template, filled] of FILLED) {
    await t.step(name, () => assert.equal(fillTemplate(template, FIELDS), filled));
  }
});

const FILTERED: readonly (readonly [filters: string, value: string, filled: string])[] = [
  ["truncate: 5", "123456", "1234…"],
  ["truncate: 6", "123456", "123456"],
  ["truncate: 3", "a\u{1f600}\u{1f600}", "a…"],
  ["html", '<b> & "', '&lt;b&gt; &amp; "'],
  ["no_mentions", "@all <!channel> a@b", "@\u200ball <\u200b!channel> a@\u200bb"],
  ["no_mentions", "[Open](https://x) [a] (b)", "[Open]\u200b(https://x) [a] (b)"],
  ["truncate: 3 | html", "a<>bc", "a&lt;…"],
  ["html|no_mentions", "<@U1>", "&lt;@\u200bU1&gt;"],
  ["url", "a/b c&d", "a%2Fb%20c%26d"],
  ["local", "2026-07-31T10:00:00.000Z", "2026-07-31 12:00:00 +02:00"],
  ["local | url", "2026-01-31T10:00:00.000Z", "2026-01-31%2011%3A00%3A00%20%2B01%3A00"],
  ["local", "2026", "2026"],
];

Deno.test("fillTemplate() applies filters", async (t) => {
  for (const [filters, output, filled] of FILTERED) {
    await t.step(`${filters} of ${output}`, () => {
      const plain = fillTemplate(`{{ output | ${filters} }}`, {
        ...FIELDS,
        output,
        time_zone: "Europe/Zurich",
      }, (value) => `[${value}]`);
      assert.equal(plain, `[${filled}]`);
    });
  }
});

Deno.test("unknownFilters() returns texts after a field that are no filter", () => {
  const known = "{{id | html | no_mentions|truncate:1}} {{id | url | local}}";
  assert.deepEqual(unknownFilters(known), []);
  const wrong =
    "{{id | htm | truncate}} {{id | truncate: 0 | truncate: -1}}{{id|}} {{id | truncate: 100000}}";
  assert.deepEqual(unknownFilters(wrong), [
    "htm",
    "truncate",
    "truncate: 0",
    "truncate: -1",
    "",
    "truncate: 100000",
  ]);
  assert.deepEqual(unknownFields("{{id | htm}}"), []);
});

Deno.test("unknownFields() returns unknown fields in order", () => {
  assert.deepEqual(unknownFields("{{id}} {{ color }} {{}} {{Check}} {{constructor}}"), [
    "color",
    "",
    "Check",
    "constructor",
  ]);
  assert.deepEqual(unknownFields(TEMPLATE_FIELDS.map((field) => `{{${field}}}`).join("")), []);
});

Deno.test("unknownFields() is fast for a template of braces and spaces", () => {
  assert.deepEqual(unknownFields(`${"{{".repeat(50_000)}${" ".repeat(50_000)}`), []);
});

const VALUES = {
  ...SAMPLE_FIELDS,
  condition: "critical",
  event: "problem",
  output: '"\n{{check}}',
  check: "web",
};

const ROWS: Rows<[template: JsonTemplate, filled: JsonTemplate | undefined]> = {
  "texts anywhere": [{ a: ["{{check}}", 1, null, true], b: { c: "is {{ output }}" } }, {
    a: ["web", 1, null, true],
    b: { c: 'is "\n{{check}}' },
  }],
  "filters": ["{{output | truncate: 1}}", "…"],
  "a choice": [{ p: { "{{condition}}": { critical: 5, "*": 3 } } }, { p: 5 }],
  "a choice of templates": [{ "{{event}}": { problem: { text: "{{check}}" } } }, { text: "web" }],
  "a choice in a choice": [{ "{{event}}": { problem: { "{{condition}}": { critical: [1] } } } }, [1]],
  "a key without a value": [{ p: { "{{condition}}": { ok: 1 } }, q: 2 }, { q: 2 }],
  "no value at the top": [{ "{{condition}}": { ok: 1 } }, undefined],
  "no cases": [{ p: { "{{condition}}": 1 }, q: 1 }, { q: 1 }],
  "names of the language itself": [
    JSON.parse('{"__proto__": "{{check}}"}'),
    JSON.parse('{"__proto__": "web"}'),
  ],
  "an empty object and list": [{ a: {}, b: [] }, { a: {}, b: [] }],
};

Deno.test("fillJsonTemplate() fills a template", async (t) => {
  await testRows(t, ROWS, ([template, filled]) => {
    assert.deepEqual(fillJsonTemplate(template, VALUES), filled);
  });
});
