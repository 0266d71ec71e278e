import assert from "node:assert/strict";
import type { Source } from "../../src/config/source_text.ts";
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
  const rows = {
    "a short line": {
      text: '{\n    "kind": "x"\n}',
      needle: '"x"',
      excerpt: '  2 | "kind": "x"\n    |         ^',
    },
    "wide characters": {
      text: '{ "日本": 1 }',
      needle: "1",
      excerpt: '  1 | { "日本": 1 }\n    |           ^',
    },
    "a literal password": {
      text: '{ "password": "swordfish", "port": "x" }',
      needle: '"x"',
      excerpt: '  1 | { "password": "*********", "port": "x" }\n    |                                    ^',
    },
    "a placeholder": {
      text: '{ "password": "${env:A}", "port": "x" }',
      needle: '"x"',
      excerpt: '  1 | { "password": "${env:A}", "port": "x" }\n    |                                   ^',
    },
    "credentials in a URL": {
      text: '{ "target": "http://me:fish@h/?a=b&token=fish", "port": "x" }',
      needle: '"x"',
      excerpt: '  1 | { "target": "http://*******@h/?a=b&token=****", "port": "x" }\n    |' + " ".repeat(57) +
        "^",
    },
    "a header with a token": {
      text: '{ "Authorization": "Bearer \\"abc", "port": "x" }',
      needle: '"x"',
      excerpt:
        '  1 | { "Authorization": "************", "port": "x" }\n    |                                            ^',
    },
  };
  await testRows(t, rows, ({ text, needle, excerpt }) => {
    assert.strictEqual(
      render(text, needle),
      `monitor.json:${text.slice(0, text.indexOf(needle)).split("\n").length}:${
        text.indexOf(needle) - text.lastIndexOf("\n", text.indexOf(needle))
      }: a.b: is wrong\n${excerpt}\n`,
    );
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
