import assert from "node:assert/strict";
import type { JsonTemplate } from "../../src/domain/generated/config.ts";
import { type Rows, testRows } from "../support/rows.ts";
import { fillJsonTemplate, SAMPLE_FIELDS } from "../../src/shared/template.ts";

const FIELDS = {
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
    assert.deepEqual(fillJsonTemplate(template, FIELDS), filled);
  });
});
