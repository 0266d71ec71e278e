import assert from "node:assert/strict";
import type { Source } from "../../src/config/problem.ts";
import { renderProblems } from "../../src/cli/diagnostics.ts";
import { testRows } from "../support/rows.ts";

function render(text: string, needle: string, label = "monitor.json"): string {
  const offset = text.indexOf(needle);
  const lineStart = text.lastIndexOf("\n", offset) + 1;
  const source: Source = { label, path: null, directory: "/", text, mode: null };
  const line = text.slice(0, offset).split("\n").length;
  const problem = {
    path: "a.b",
    message: "is wrong",
    hint: null,
    line,
    column: offset - lineStart + 1,
    offset,
  };
  return renderProblems(source, [problem], { color: false, severity: "error" });
}

Deno.test("renderProblems() shows the line of a problem with a caret below it", async (t) => {
  const rows: Readonly<Record<string, readonly [text: string, place: string, shown: string, caret: number]>> =
    {
      "a short line": ['{\n    "kind": "x"\n}', "2:13", '2 | "kind": "x"', 9],
      "wide characters": ['{ "日本": "x" }', "1:9", '1 | { "日本": "x" }', 11],
      "a literal password": [
        '{ "password": "swordfish", "port": "x" }',
        "1:36",
        '1 | { "password": "*********", "port": "x" }',
        36,
      ],
      "a placeholder": [
        '{ "password": "${env:A}", "port": "x" }',
        "1:35",
        '1 | { "password": "${env:A}", "port": "x" }',
        35,
      ],
      "credentials in a URL": [
        '{ "target": "http://me:fish@h/?a=b&token=fish", "port": "x" }',
        "1:57",
        '1 | { "target": "http://*******@h/?a=b&token=****", "port": "x" }',
        57,
      ],
      "a header with a token": [
        '{ "Authorization": "Bearer \\"abc", "port": "x" }',
        "1:44",
        '1 | { "Authorization": "************", "port": "x" }',
        44,
      ],
    };
  await testRows(t, rows, ([text, place, shown, caret]) => {
    const expected = `monitor.json:${place}: a.b: is wrong\n  ${shown}\n    |${" ".repeat(caret)}^\n`;
    assert.equal(render(text, '"x"'), expected);
  });
});

Deno.test("renderProblems() escapes control characters in file names", () => {
  const text = render('{ "a": 1 }', "1", "conf.d/\u001b[2J\nforged.jsonc");
  assert.ok(text.startsWith("conf.d/\\x1b[2J\\nforged.jsonc:1:8: a.b: is wrong\n"), text);
});

Deno.test("renderProblems() hides text even behind the longest name of a secret", () => {
  const text = render(`{ "${"x".repeat(3000)}_password": "swordfish", "port": "x" }`, '"x"');
  assert.ok(text.includes("*********") && !text.includes("swordfish"), text);
});
