import assert from "node:assert/strict";
import type { Source } from "../../src/config/problem.ts";
import { renderProblems } from "../../src/cli/failure.ts";

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

Deno.test("renderProblems() escapes control characters in file names", () => {
  const text = render('{ "a": 1 }', "1", "conf.d/\u001b[2J\nforged.jsonc");
  assert.ok(text.startsWith("conf.d/\\x1b[2J\\nforged.jsonc:1:8: a.b: is wrong\n"), text);
});

Deno.test("renderProblems() hides the keys of check-ins and agents, and the path of a chat's URL", () => {
  for (
    const text of [
      '"ping_key": "swordfish"',
      '"nas": { "key": "swordfish" }',
      '"X-Functions-Key": "swordfish"',
      '"url": "https://chat.example.org/swordfish"',
    ]
  ) {
    const shown = render(`{ ${text}, "port": "x" }`, '"x"');
    assert.ok(shown.includes("*********") && !shown.includes("swordfish"), shown);
  }
});

Deno.test("renderProblems() hides text even behind the longest name of a secret", () => {
  const text = render(`{ "${"x".repeat(3000)}_password": "swordfish", "port": "x" }`, '"x"');
  assert.ok(text.includes("*********") && !text.includes("swordfish"), text);
});
