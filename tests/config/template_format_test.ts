import assert from "node:assert/strict";
import { findFormatProblem } from "../../src/config/formats.ts";
import type { FormattedValue } from "../../src/config/formatted_value.ts";
import type { JsonObject } from "../../src/config/syntax.ts";
import { TEMPLATE_FIELDS } from "../../src/shared/template.ts";
import { testRows } from "../support/rows.ts";

/** A body that is no JSON. */
const BODY = {
  path: ["body"],
  format: "template",
  mayHoldFields: true,
  parent: { headers: { "Content-Type": "text/plain" } },
} satisfies Partial<FormattedValue>;

const EXPECTED = `expected one of ${TEMPLATE_FIELDS.join(", ")}`;

Deno.test("findFormatProblem() does not print a template from a placeholder", () => {
  const item = { ...BODY, value: "{{planted}}", written: "${file:body.json}" };
  assert.deepEqual(findFormatProblem(item), {
    path: ["body"],
    message: `the template names a field that a notification does not have, ${EXPECTED}`,
  });
});

Deno.test("findFormatProblem() accepts fields in the path and query of a URL alone", async (t) => {
  const problem = (value: string) =>
    `${JSON.stringify(value)} has a field in its scheme, host or port, expected one in path or query`;
  const rows: Readonly<Record<string, string | null>> = {
    "https://h/{{check}}?a={{condition}}&{{id}}=b": null,
    "https://h:{{check}}/": problem("https://h:{{check}}/"),
    "https:///{{check}}/": problem("https:///{{check}}/"),
    "https:\\\\{{check}}\\": problem("https:\\\\{{check}}\\"),
  };
  await testRows(t, rows, (message, value) => {
    const item = { path: ["target"], format: "url", mayHoldFields: true, value, written: value };
    assert.equal(findFormatProblem(item)?.message ?? null, message);
  });
});

Deno.test("findFormatProblem() rejects a template that is no JSON with its fields filled", async (t) => {
  const QUOTE = 'put double quotes around fields: "{{summary}}"';
  const TYPE = 'for another type, set "Content-Type" in "headers"';
  const type = (type: string) => ({ headers: { "content-type": type } });
  const rows: readonly (readonly [name: string, body: string, parent: object, hint: string | null])[] = [
    ["JSON", '{"a": "{{summary}}", "n": {{occurrences}}, "t": {{test}}}', {}, null],
    ["a bare field", '{"a": {{summary}}}', {}, QUOTE],
    ["a trailing comma", '{"a": 1,}', {}, TYPE],
    ["text", "{{summary}}", {}, TYPE],
    ["text with another type", "{{summary}}", type("text/plain"), null],
    ["text with a type of JSON", "{{summary}}", type("application/problem+json; charset=utf-8"), TYPE],
    ["a type that is not known here", "a={{summary}}", type("${env:TYPE}"), null],
  ];
  for (const [name, value, parent, hint] of rows) {
    await t.step(name, () => {
      const item = { ...BODY, value, written: value, parent: { ...parent } };
      const problem = findFormatProblem(item);
      assert.equal(problem?.hint ?? null, hint);
      assert.ok(hint === null || problem?.message.startsWith("the body is not JSON with its fields filled"));
    });
  }
});

Deno.test("findFormatProblem() rejects unknown filters of a field", () => {
  const item = { ...BODY, value: "{{output | trunc: 5}}", written: "{{output | trunc: 5}}" };
  const expected = "of a field, expected truncate: LENGTH, html or no_mentions";
  assert.equal(findFormatProblem(item)?.message, `unknown filter "trunc: 5" ${expected}`);
  assert.equal(findFormatProblem({ ...item, written: "${env:BODY}" })?.message, `unknown filter ${expected}`);
  assert.equal(findFormatProblem({ ...item, value: "{{output | truncate: 5 | html}}" }), null);
});

Deno.test("findFormatProblem() rejects choices of a body that a field never has", async (t) => {
  const fields = "{{event}}, {{condition}}, {{previous}}, {{action}}, {{severity}}, {{flapping}}, {{test}}";
  const rows: Readonly<Record<string, readonly [key: string, parent: JsonObject, message: string | null]>> = {
    "a misspelt value": [
      "{{condition}}",
      { "{{condition}}": { crit: 5 } },
      '"{{condition}}" is never "crit", expected one of ok, unknown, warning, critical, *',
    ],
    "text around a field": [
      "is {{condition}}",
      { "is {{condition}}": {} },
      `the key "is {{condition}}" cannot choose a value, expected one of ${fields}`,
    ],
    "another key": [
      "{{event}}",
      { "{{event}}": {}, a: 1 },
      'the key "{{event}}" chooses a value, expected no other key in its object',
    ],
    "no values": [
      "{{event}}",
      { "{{event}}": "x" },
      'the key "{{event}}" has no values to choose from, expected an object such as {"problem":1,"*":2}',
    ],
  };
  await testRows(t, rows, ([value, parent, message]) => {
    const item = {
      path: ["body", value],
      format: "template_key",
      at: "name" as const,
      value,
      written: value,
    };
    assert.equal(findFormatProblem({ ...item, parent })?.message ?? null, message);
  });
});
