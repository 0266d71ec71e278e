import assert from "node:assert/strict";
import { findFormatProblem } from "../../src/config/formats.ts";
import { TEMPLATE_FIELDS } from "../../src/domain/template.ts";

const EXPECTED = `expected one of ${TEMPLATE_FIELDS.join(", ")}`;

const ROWS: readonly (readonly [name: string, template: string, message: string | null, hint?: string])[] = [
  ["no field", "{}", null],
  ["known fields", '{"text": "{{summary}} {{ detail }}"}', null],
  [
    "a misspelt field",
    "{{id}} {{sumary}} {{x}}",
    `a report has no field "{{sumary}}", ${EXPECTED}`,
    'did you mean "{{summary}}"?',
  ],
  ["a field like no other", "{{zzzzzzzz}}", `a report has no field "{{zzzzzzzz}}", ${EXPECTED}`],
  ["an empty name", "{{}}", `a report has no field "{{}}", ${EXPECTED}`],
];

Deno.test("findFormatProblem() holds templates to the fields of a report", async (t) => {
  for (const [name, value, message, hint] of ROWS) {
    await t.step(name, () => {
      const problem = findFormatProblem({ path: ["body"], format: "template", value, written: value });
      const expected = message && { path: ["body"], message, ...(hint !== undefined && { hint }) };
      assert.deepEqual(problem, expected);
    });
  }
});

Deno.test("findFormatProblem() quotes nothing of a template that comes from elsewhere", () => {
  const item = { path: ["body"], format: "template", value: "{{planted}}", written: "${file:body.json}" };
  assert.deepEqual(findFormatProblem(item), {
    path: ["body"],
    message: `the template names a field that a report does not have, ${EXPECTED}`,
  });
});
