import assert from "node:assert/strict";
import { describePath } from "../../src/config/problem.ts";
import { findDependencyProblems } from "../../src/config/named_references.ts";
import { testCheck } from "../support/checks.ts";
import { campaign } from "../../testing/seed.ts";

/** Returns the problems of a chain of checks, each of which depends on the next one, and the last one on `last`. */
function problemsOf(length: number, last: readonly string[]): readonly string[] {
  const checks = Array.from({ length }, (_, index) =>
    testCheck("ok", {
      name: `c${index}`,
      dependsOn: index === length - 1 ? last : [`c${index + 1}`],
    }));
  return findDependencyProblems(checks).map(({ path, message }) => `${describePath(path)}: ${message}`);
}

Deno.test("findDependencyProblems() walks chains of very many checks, in time that grows with their number", () => {
  // Looking through the path at each step would take minutes.
  assert.deepEqual(problemsOf(campaign(200_000, 5_000), []), []);
  assert.deepEqual(problemsOf(1_000, ["c0"]), [
    'checks.c0.depends_on: is a cycle: "c0" depends on "c1" depends on "c2" depends on "c3" depends on "c4" depends on "c5" depends on ' +
    '… (993 more) … depends on "c999" depends on "c0"',
  ]);
});
