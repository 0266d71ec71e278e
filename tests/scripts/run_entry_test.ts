import assert from "node:assert/strict";
import { type EntryEnd, runEntry } from "../../scripts/test/run_entry.ts";
import { tempDirectory } from "../../testing/builders.ts";

/** Runs test modules as one entry. */
async function runModules(modules: Readonly<Record<string, string>>): Promise<EntryEnd> {
  await using temporary = await tempDirectory();
  const directory = temporary.path;
  await Deno.mkdir(`${directory}/tests`);
  const files = Object.entries(modules).map(([name, text]) => {
    Deno.writeTextFileSync(`${directory}/tests/${name}`, text);
    return `${directory}/tests/${name}`;
  });
  return await runEntry({ name: "some", files, variables: {} }, {
    directory,
    bundle: "",
    options: [],
    variables: {},
    signal: new AbortController().signal,
  });
}

Deno.test("runEntry() shows each failure with its place, and runs the tests after it", async () => {
  const { counts, failures } = await runModules({
    "errors_test.ts": [
      'Deno.test("throws", () => { throw new Error("first"); });',
      'Deno.test("leaks", () => void setTimeout(() => {}, 1e6));',
      'Deno.test("rejects", async () => { Promise.reject(new Error("second")); await new Promise((r) => setTimeout(r, 9)); });',
      'Deno.test("in a step", async (t) => void await t.step("inner", () => { throw new Error("third"); }));',
    ].join("\n"),
    "no_import_test.ts": 'throw new Error("fourth");',
    "syntax_test.ts": "const = 1;",
    "well_test.ts": 'Deno.test("well", () => {});',
  });
  assert.deepEqual(counts, { passed: 1, failed: 6, skipped: 0 });
  for (
    const expected of [
      /^throws => \.\/tests\/errors_test\.ts:1:6\nerror: Error: first$/m,
      /^leaks => \.\/tests\/errors_test\.ts:2:6\nerror: Leaks detected:$/m,
      /^rejects => \.\/tests\/errors_test\.ts:3:6\nerror: Error: second$/m,
      /^in a step \.\.\. inner => \.\/tests\/errors_test\.ts:4:6\nerror: Error: third$/m,
      /^import of \S+tests\/no_import_test\.ts => .*\nerror: Error: fourth$/m,
      /^import of \S+tests\/syntax_test\.ts => .*\nerror: TypeError: .*could not be parsed/m,
    ]
  ) assert.match(failures, expected);
  assert.doesNotMatch(failures, /Stack backtrace|tests\/support\/preload/);
});
