import assert from "node:assert/strict";
import { type CachedCode, encodeProgram, readRecord, toScripts } from "../../scripts/make_program.ts";
import { tempDirectory } from "../../testing/builders.ts";
import { type ChildEnd, runChild } from "../../testing/tools.ts";
import { type Rows, testRows } from "../support/rows.ts";

const LOADER = new URL("../../scripts/program/load_program.ts", import.meta.url).href;
const RECORDER = new URL("../../scripts/program/record.ts", import.meta.url).href;

/** Starts a program, and prints of each script with cached code whether the engine rejects that. */
const STARTER = `
import { loadProgram } from "${LOADER}";
const onScript = (name, { cachedDataRejected }) => console.error(name, cachedDataRejected ? "rejected" : "accepted");
await loadProgram(Deno.openSync("program.bin"), onScript);
`;

/** Modules of all sorts that a bundle has; the last lines of the output are of the first one. */
const MODULES: Readonly<Record<string, string>> = {
  "main.js": `
    import { count, increase } from "./counter.js";
    import * as all from "./counter.js";
    import named, { sep as separator } from "node:path";
    import "./waits.js";
    import { waited } from "./waits.js";
    console.log("main", count, all.default, waited, named.sep === separator);
    increase();
    console.log(count, all.count, Object.keys(all).toSorted().join());
    const [one, other] = await Promise.all([import("./later.js"), import("./later.js")]);
    console.log(one.default, one.sum(), one.default === other.default, (await import("node:os")).EOL);
    for (const _ of [1, 2]) {
      await import("./fails.js").catch((error) => console.log("caught", error.message));
    }
    await import("./imports_fails.js").catch((error) => console.log("caught", error.message));
  `,
  "counter.js": `
    export let count = 1;
    export const increase = () => { count++; };
    export default "counter";
    console.log("counter");
  `,
  "waits.js": `
    export let waited = false;
    console.log("before waiting");
    await new Promise((resolve) => queueMicrotask(resolve));
    waited = true;
    console.log("after waiting");
  `,
  "later.js": `
    import { count } from "./counter.js";
    export * from "./counter.js";
    export default { count };
    export const sum = () => count + count;
    console.log("later");
  `,
  "fails.js": `throw new Error("it fails");`,
  "imports_fails.js": `
    import "./fails.js";
    console.log("not reached");
  `,
};

Deno.test("loadProgram() evaluates the modules of a bundle as the runtime does", () =>
  withProgram(async ({ directory, run, start }) => {
    const { stdout } = await run([`${directory}/main.js`]);
    assert.match(stdout, /^counter\n.*\ncaught it fails\n$/s);
    const started = await start(new Map());
    assert.deepStrictEqual([started.code, started.stdout], [0, stdout]);
  }));

Deno.test("toScripts() rejects modules that import each other in a circle", () =>
  withProgram(async ({ directory }) => {
    await Deno.writeTextFile(
      `${directory}/later.js`,
      'import "./fails.js"; export let sum; export default sum;',
    );
    await Deno.writeTextFile(`${directory}/fails.js`, 'import "./later.js";');
    await assert.rejects(() => toScripts(`${directory}/main.js`), /Circular dependency: \S*later\.js/);
  }));

Deno.test("cached code that the engine rejects changes nothing but time", (t) =>
  withProgram(async ({ directory, run, start }) => {
    const { stdout } = await start(new Map());
    await run(["--allow-write", RECORDER]);
    const recorded = await readRecord(directory);
    assert.deepStrictEqual([...recorded.keys()].toSorted(), Object.keys(MODULES).toSorted());
    const changes: Rows<[(code: Uint8Array) => Uint8Array, string]> = {
      "as it was recorded": [(code) => code, "accepted"],
      "of another engine": [(code) => code.with(5, code[5] === 0 ? 1 : 0), "rejected"],
      "cut off": [(code) => code.slice(0, -8), "rejected"],
    };
    await testRows(t, changes, async ([change, outcome]) => {
      const changed = new Map([...recorded].map(([module, code]) => [module, change(code)]));
      const end = await start(changed);
      assert.strictEqual(end.stdout, stdout);
      const expected = Object.keys(MODULES).map((module) => `${module} ${outcome}`);
      assert.deepStrictEqual(end.stderr.trim().split("\n").toSorted(), expected.toSorted());
      assert.strictEqual(end.code, 0);
    });
  }));

interface ProgramHarness {
  readonly directory: string;
  /** Runs a module with the runtime. */
  run(args: readonly string[]): Promise<ChildEnd>;
  /** Starts the program with the cached code. */
  start(code: CachedCode): Promise<ChildEnd>;
}

async function withProgram(use: (harness: ProgramHarness) => Promise<void>): Promise<void> {
  await using temporary = await tempDirectory();
  const directory = temporary.path;
  for (const [name, text] of Object.entries({ ...MODULES, "starter.js": STARTER })) {
    await Deno.writeTextFile(`${directory}/${name}`, text);
  }
  const scripts = await toScripts(`${directory}/main.js`);
  const run = (args: readonly string[]): Promise<ChildEnd> =>
    runChild(Deno.execPath(), ["run", "--quiet", "--no-config", "--allow-read", ...args], { cwd: directory });
  const start = async (code: CachedCode): Promise<ChildEnd> => {
    await Deno.writeFile(`${directory}/program.bin`, encodeProgram(scripts, code));
    return await run([`${directory}/starter.js`]);
  };
  await use({ directory, run, start });
}
