import assert from "node:assert/strict";
import { describePath, joinProblems, quoteValue } from "../../src/config/problem.ts";

Deno.test("describePath() writes a path as people do", async (t) => {
  const rows: readonly (readonly [path: readonly (string | number)[], text: string])[] = [
    [[], ""],
    [["checks", "web", "parameters"], "checks.web.parameters"],
    [["checks", "my site", "notifications", 0, "kind"], 'checks["my site"].notifications[0].kind'],
    [["checks", "X-Frame-Options"], "checks.X-Frame-Options"],
    [["checks", ""], 'checks[""]'],
    [["checks", "8080"], 'checks["8080"]'],
    [["checks", 'a"b'], 'checks["a\\"b"]'],
    [["checks", "\ud800"], 'checks["\ufffd"]'],
    [["checks", "x".repeat(200)], `checks["${"x".repeat(79)}…"]`],
  ];
  for (const [path, text] of rows) {
    await t.step(text.slice(0, 60), () => {
      assert.equal(describePath(path), text);
    });
  }
});

Deno.test("quote() shows a value on one line, shortened, with no half of a character", () => {
  assert.equal(quoteValue("a\nb"), '"a\\nb"');
  assert.equal(quoteValue(`${"x".repeat(78)}\u{1f600}x`), `"${"x".repeat(78)}…"`);
  assert.equal(quoteValue("\udc00"), '"\ufffd"');
  assert.deepEqual([null, true, 1.5, [1], { a: 1 }, undefined].map(quoteValue), [
    "null",
    "true",
    "1.5",
    "a list",
    "an object",
    "undefined",
  ]);
});

Deno.test("joinProblems() drops later problems of a value that an earlier step rejected", () => {
  const first = [{ path: ["a"], message: "first" }, { path: ["a"], message: "first too" }];
  const second = [
    { path: ["a"], message: "consequence" },
    { path: ["a", "b"], message: "of another place" },
    { path: ["c"], at: "name", message: "of a name" } as const,
  ];
  const third = [{ path: ["a", "b"], message: "consequence" }, { path: ["c"], message: "of the value" }];
  assert.deepEqual(joinProblems([first, second, third]).map((problem) => problem.message), [
    "first",
    "first too",
    "of another place",
    "of a name",
    "of the value",
  ]);
  assert.deepEqual(joinProblems([]), []);
});
