/** Rules for the tree as a whole, which no lint rule can check: it reads one file at a time. */
import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import { withFault } from "../../scripts/mutants/fault.ts";
import { MUTANTS } from "../../scripts/mutants/list.ts";
import { type EntryEnd, runEntry } from "../../scripts/test/run_entry.ts";
import { tempDirectory } from "../../testing/builders.ts";

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));
const FILES = filesBelow("src").filter((path) => path.endsWith(".ts"));

Deno.test("no two files of different layers have the same basename", () => {
  const byName = Map.groupBy(FILES, (path) => path.slice(path.lastIndexOf("/") + 1));
  const shared = [...byName].filter(([name, paths]) =>
    name !== "mod.ts" && name !== "registry.ts" && !areNamedAlikeOnPurpose(paths)
  );
  assert.deepEqual(shared, []);
});

/** An interface and its implementation, or files that are named for a kind, a channel or a command. */
function areNamedAlikeOnPurpose(paths: readonly string[]): boolean {
  const others = paths.filter((path) => !/^src\/(checks|channels|cli\/commands)\//.test(path));
  const inSystem = others.filter((path) => path.startsWith("src/system/"));
  return others.length <= 1 || others.length === 2 && inSystem.length === 1;
}

Deno.test("unescapedConstant() makes only the style sheet and the script of a page", () => {
  const uses = FILES.filter((path) => path !== "src/outputs/markup.ts").flatMap((path) =>
    Deno.readTextFileSync(`${PROJECT}${path}`).replaceAll(/^import (?:(?! as )[^;])*;$/gm, "")
      .match(/^.*unescapedConstant.*$/gm) ?? []
  );
  // Lines that begin a declaration, so they are outside of functions.
  assert.deepEqual(uses.toSorted(), [
    "export const FILE_SCRIPT: Markup = unescapedConstant(FILE_CODE);",
    "export const STYLE: Markup = unescapedConstant(`",
  ]);
});

Deno.test("attributes without quotes contain only constants and numbers", () => {
  const values = FILES.filter((path) => path.startsWith("src/outputs/")).flatMap((path) =>
    [...Deno.readTextFileSync(`${PROJECT}${path}`).matchAll(/[\w-]+=#?\$\{([^}]*)\}/g)].map(([, value]) =>
      value
    )
  );
  assert.equal(
    [...new Set(values)].toSorted().join(" "),
    "OLD_CLASS STROKE_CLASSES[condition] classOf(group) classOf(service) id kind nowMs root seconds strokeClass " +
      "untilMs validUntilMs(snapshot)",
  );
});

Deno.test("runtime.ts alone uses the runtime's timers", () => {
  const users = FILES.filter((path) =>
    /\bset(?:Timeout|Interval)\(/.test(Deno.readTextFileSync(`${PROJECT}${path}`))
  );
  // The page scripts run in browsers.
  assert.deepEqual(users, [
    "src/outputs/html_report/page_assets.ts",
    "src/system/runtime.ts",
  ]);
});

Deno.test("no modules of src import each other in a cycle", () => {
  const imports = new Map(FILES.map((path) => [path, importsOf(path)]));
  const done = new Set<string>();
  const visit = (path: string, way: readonly string[]): void => {
    const start = way.indexOf(path);
    if (start !== -1) assert.fail(`a circle: ${[...way.slice(start), path].join(" -> ")}`);
    if (done.has(path)) return;
    for (const target of imports.get(path) ?? []) visit(target, [...way, path]);
    done.add(path);
  };
  for (const path of FILES) visit(path, []);
});

/** Modules that only a shared state requires. */
const OF_SHARED_STATE =
  /^src\/(?:state\/postgres\/|state\/record_writer|members\/|config\/open_postgres|cli\/check\/take_part|cli\/commands\/members|cli\/shared_control|cli\/active_hosts)/;

Deno.test("with SQLite, no module of a shared state is loaded", () => {
  const isShared = (path: string): boolean => OF_SHARED_STATE.test(path);
  const loaded = FILES.filter((path) => !isShared(path)).flatMap((path) =>
    loadedWith(path).filter(isShared).map((target) => `${path} imports ${target}`)
  );
  assert.deepEqual(loaded, []);
  const lazy = FILES.filter((path) => !isShared(path)).flatMap(importsOf).filter(isShared);
  assert.ok(lazy.length > 5, "others import them lazily");
});

Deno.test("the stores in SQLite and in PostgreSQL share state/sql, and import nothing of each other", () => {
  const [sqlite, postgres] = ["src/state/sqlite/", "src/state/postgres/"];
  const crossing = FILES.flatMap((path) => importsOf(path).map((target) => `${path} imports ${target}`))
    .filter((line) => line.includes(sqlite) && line.includes(postgres));
  assert.deepEqual(crossing, []);
});

/** Returns the static imports of a module of `src`, without types and dynamic imports. */
function loadedWith(path: string): readonly string[] {
  const text = Deno.readTextFileSync(`${PROJECT}${path}`);
  const statements = text.matchAll(/^(?:import|export) (?!type)([^;]*?)from "(\.[^"]+)";/gm);
  return [...statements].flatMap(([, names = "", specifier = ""]) =>
    names.replaceAll(/\btype \w+/g, "").search(/\w/) === -1
      ? []
      : [new URL(specifier, `file:///${path}`).pathname.slice(1)]
  );
}

function importsOf(path: string): readonly string[] {
  const text = Deno.readTextFileSync(`${PROJECT}${path}`);
  return [...text.matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)]
    .map(([, specifier = ""]) => new URL(specifier, `file:///${path}`).pathname.slice(1))
    .filter((target) => target.startsWith("src/") && target.endsWith(".ts"));
}

function filesBelow(path: string): readonly string[] {
  return [...Deno.readDirSync(`${PROJECT}${path}`)].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesBelow(`${path}/${name}`) : [`${path}/${name}`]
  );
}

const PROJECT_URL = new URL("../../", import.meta.url);

Deno.test("each fault of deno task mutants changes one line of its file", () => {
  const wrong = MUTANTS.filter((mutant) => {
    const source = exists(mutant.file) ? Deno.readTextFileSync(new URL(mutant.file, PROJECT_URL)) : "";
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
    Deno.statSync(new URL(path, PROJECT_URL));
    return true;
  } catch {
    return false;
  }
}

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
