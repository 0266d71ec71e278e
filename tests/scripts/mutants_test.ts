import assert from "node:assert/strict";
import { withFault } from "../../scripts/mutants/fault.ts";
import { MUTANTS } from "../../scripts/mutants/list.ts";

const PROJECT = new URL("../../", import.meta.url);

Deno.test("each fault of deno task mutants changes one line of its file", () => {
  const wrong = MUTANTS.filter((mutant) => {
    const source = exists(mutant.file) ? Deno.readTextFileSync(new URL(mutant.file, PROJECT)) : "";
    const faulty = withFault(source, mutant);
    if (faulty === null) return true;
    const [before, after] = [source.split("\n"), faulty.split("\n")];
    return before.length !== after.length ||
      before.filter((line, index) => line !== after[index]).length !== 1;
  });
  assert.deepEqual(wrong.map(({ name, file, find }) => ({ name, file, find })), []);
});

Deno.test("the faults of deno task mutants have different names, and tests", () => {
  assert.equal(new Set(MUTANTS.map(({ name }) => name)).size, MUTANTS.length);
  const untested = MUTANTS.filter(({ tests }) => !tests.some(exists));
  assert.deepEqual(untested.map(({ name }) => name), []);
});

function exists(path: string): boolean {
  try {
    Deno.statSync(new URL(path, PROJECT));
    return true;
  } catch {
    return false;
  }
}
