import assert from "node:assert/strict";
import { type CachedCode, encodeProgram, readRecord, toScripts } from "../../scripts/make_program.ts";
import { tempDirectory } from "../../testing/builders.ts";
import { type ChildEnd, runChild, testWith } from "../../testing/tools.ts";
import { type Rows, testRows } from "../support/rows.ts";
import { bundle } from "../../scripts/bundle.ts";
import { keptLicenses, readLicenses } from "../../scripts/licenses.ts";
import { Invocation } from "../../src/cli/command_definition.ts";
import {
  compileAll,
  GENERAL_PERMISSIONS,
  readTargets,
  refuseComputedImports,
  TARGETS,
} from "../../scripts/compile.ts";
import { openNewChecks, readAllOperands } from "../../src/cli/new_checks/read_operands.ts";
import { openSchema } from "../../src/config/schemas.ts";
import { requiredPermissionsOf } from "../../src/permissions/required_permissions.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { provided } from "../support/concurrent_tests.ts";

const test = provided(withProgram, Deno.test);

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

test("loadProgram() evaluates the modules of a bundle as the runtime does", async ({ directory, run, start }) => {
  const { stdout } = await run([`${directory}/main.js`]);
  assert.match(stdout, /^counter\n.*\ncaught it fails\n$/s);
  const started = await start(new Map());
  assert.deepStrictEqual([started.code, started.stdout], [0, stdout]);
});

test("toScripts() rejects modules that import each other in a circle", async ({ directory }) => {
  await Deno.writeTextFile(
    `${directory}/later.js`,
    'import "./fails.js"; export let sum; export default sum;',
  );
  await Deno.writeTextFile(`${directory}/fails.js`, 'import "./later.js";');
  await assert.rejects(() => toScripts(`${directory}/main.js`), /Circular dependency: \S*later\.js/);
});

Deno.test("cached code that the engine rejects changes nothing but time", (t) =>
  withProgram(async ({ directory, run, start }) => {
    const { stdout } = await start(new Map());
    await run(["--allow-write", RECORDER]);
    const recorded = await readRecord(directory);
    assert.deepStrictEqual([...recorded.keys()].toSorted(), Object.keys(MODULES).toSorted());
    // Those without cached code are compressed then.
    const withOne = await start(new Map([...recorded].slice(0, 1)));
    assert.deepStrictEqual([withOne.code, withOne.stdout], [0, stdout], withOne.stderr);
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

testWith("time")(
  "bundle() does not depend on its directory, and the licenses are those of the bundled packages",
  async () => {
    await using directory = await tempDirectory();
    const { sources } = await bundle(`${directory.path}/one`);
    for (const { name } of Deno.readDirSync(`${directory.path}/one`)) {
      const path = `${directory.path}/one/${name}`;
      assert.doesNotMatch(name, /-[0-9A-Z]{8}\.js$/, "a hash that hangs on where the packages lie");
      assert.ok(!(await Deno.readTextFile(path)).includes(directory.path), `${name} names the directory`);
      assert.strictEqual((await Deno.stat(path)).mtime?.getTime(), 0);
    }
    const licenses = await readLicenses(sources);
    assert.deepStrictEqual(await keptLicenses(), licenses, 'they are out of date: run "deno task licenses"');
    const names = licenses.packages.map(({ name }) => name);
    assert.ok(names.includes("jsonc-parser") && names.includes("nodemailer"));
    assert.ok(names.includes("iregexp-check"), "json-p3 has it in its only file");
    assert.ok(!names.includes("fast-check"), "what only tests use is not in it");
    for (const { name, text } of licenses.packages) assert.match(text, /copyright/i, name);
  },
);

const OWN_TARGET = TARGETS.find((target) => target === Deno.build.target) ?? TARGETS[0];
const FOREIGN_TARGET = TARGETS.find((target) => target !== OWN_TARGET) ?? TARGETS[1] ?? TARGETS[0];

Deno.test("readTargets() accepts nothing for this machine, names, and all", () => {
  assert.deepStrictEqual(readTargets([], undefined), [null]);
  assert.deepStrictEqual(readTargets(["--target", FOREIGN_TARGET], undefined), [FOREIGN_TARGET]);
  assert.deepStrictEqual(readTargets(["--all"], undefined), TARGETS);
  assert.deepStrictEqual(readTargets(["--target", OWN_TARGET], "/base"), [OWN_TARGET]);
  assert.throws(
    () => readTargets(["--target", "sparc"], undefined),
    /--target is "sparc", expected one of x86_64/,
  );
});

Deno.test("readTargets() rejects a base executable for another machine's target, and skips that in all", () => {
  assert.throws(
    () => readTargets(["--target", FOREIGN_TARGET], "/base"),
    /^Error: DENORT_BIN is "\/base", which Deno would use for "/,
  );
  assert.deepStrictEqual(readTargets(["--all"], "/base"), [Deno.build.target]);
});

Deno.test("compileAll() skips the targets whose base executable cannot be downloaded, with a warning", async () => {
  const made: unknown[] = [];
  const warnings = await compileAll(TARGETS, (target) => {
    if (target !== Deno.build.target) return Promise.reject(new Error("no such file on the server"));
    made.push(target);
    return Promise.resolve();
  });
  assert.deepStrictEqual(made, [Deno.build.target]);
  assert.strictEqual(warnings.length, TARGETS.length - 1);
  assert.match(warnings[0] ?? "", /^skipped [\w-]+: its base executable cannot be downloaded$/);
  await assert.rejects(
    () => compileAll(TARGETS, () => Promise.reject(new Error("no network"))),
    /^Error: Cannot build: no base executable can be downloaded$/,
  );
});

Deno.test("refuseComputedImports() accepts modules of the bundle and of Node, and rejects any other import", async (t) => {
  const plain =
    `const { a } = await import("./chunk.js");\nimport('./b.js');\nimport("node:fs");\nimport.meta.url;`;
  const rows: Readonly<Record<string, string>> = {
    "a variable": "await import(name);",
    "a template": "import(`./${name}.js`);",
    "a sum that begins like a module of the bundle": 'import("./" + name);',
    "an address": 'import("https://example.org/a.js");',
    "a package": 'import("npm:ajv");',
  };
  await testRows(t, rows, async (text) => {
    await using directory = await tempDirectory({ "main.js": plain });
    await refuseComputedImports(directory.path);
    await Deno.writeTextFile(`${directory.path}/other.js`, `${plain}\n${text}\n`);
    await assert.rejects(
      refuseComputedImports(directory.path),
      (error: Error) =>
        error.message.startsWith("Cannot build: other.js imports by a computed name: import(") &&
        text.includes(error.message.slice(error.message.indexOf("import("))),
    );
  });
});

/** A check of each kind, as `monitor add` reads them; that of a rehearsal needs a channel of the config. */
const OF_EACH_KIND =
  "test script /bin/true file_timestamp /x file /x log /x http_request https://localhost/ tcp_connect localhost:1 "
    .concat(
      "tls_certificate localhost disk_space / memory load network_interface x process x systemd_unit x dns_lookup x ping x domain_expiry x.org container x websocket ws://x/ ntp x grpc_health x:1 postgres_query postgres://h redis_command redis://h mysql_query mysql://h",
    )
    .split(" ")
    .concat("job", "1 d", "group", "test");

Deno.test("the general executable grants every system permission that a kind requires", async () => {
  const system = createMemorySystem();
  const read = await readAllOperands(OF_EACH_KIND, system);
  const { reader } = await openSchema("monitor");
  const all = reader.at({ checks: { x: {} } }, ["checks", "x", "kind"])?.enum ?? [];
  // They need channels or an agent, and nothing here.
  const kinds = all.filter((kind) => kind !== "rehearsal" && kind !== "reported");
  assert.deepStrictEqual(read.map(({ kind }) => kind).sort(), [...kinds].sort());
  const named = read.map((check, index) => ({ ...check, name: index === 0 ? "test" : `check ${index}` }));
  const invocation = new Invocation({});
  const { checks } = await openNewChecks(named, { invocation, system });
  const required = await requiredPermissionsOf({ checks, heartbeat: null, notifies: false }, system);
  const facts = required.filter(({ permission }) => permission === "sys").map(({ value }) => value);
  assert.deepStrictEqual(facts.toSorted(), ["loadavg", "statfs", "systemMemoryInfo"]);
  const granted = GENERAL_PERMISSIONS.find((flag) => flag.startsWith("--allow-sys="))?.split(/[=,]/) ?? [];
  assert.deepStrictEqual(facts.filter((fact) => !granted.includes(fact)), []);
});
