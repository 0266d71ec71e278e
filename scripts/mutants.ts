/**
 * Puts small faults into a copy of the source, one at a time, and runs the tests of their layer: each must be found.
 *
 *     deno task mutants                             # all, at most one for each core at a time
 *     deno task mutants --only silence              # those whose name, file or layer has this text
 *     deno task mutants --write docs/development/mutants.md
 *     deno task mutants --seed 7                    # other random values in the tests
 *     deno task mutants --check                     # checks the types of the sources with faults, runs no test
 *
 * The exit code is 1 if a fault survives, if its text is not in its file once, or if the test that found it fails
 * without the fault, too.
 */
import { parseArgs, stripVTControlCharacters } from "node:util";
import { SEED } from "../testing/seed.ts";
import { SOURCE_FLAGS } from "../testing/source.ts";
import { type Mutant, withFault } from "./mutants/fault.ts";
import { MUTANTS } from "./mutants/list.ts";

const PROJECT = new URL("../", import.meta.url);
/** A test module that takes more processor time is in an endless loop. */
const MODULE_SECONDS_MAX = 60;
/** The same for a directory of them. */
const DIRECTORY_SECONDS_MAX = 600;
/** Tests that take longer wait for something that never comes. */
const WAIT_MS_MAX = 20 * 60_000;

/** The result of a fault. */
type Outcome =
  | { readonly kind: "killed"; readonly by: string }
  | { readonly kind: "survived" }
  /** An error of the list, or of a test. */
  | { readonly kind: "error"; readonly reason: string };

/** The result of some tests. */
type Tested =
  | { readonly passed: true }
  /** `file`: the module of the test that failed first; `null`: unknown. */
  | { readonly passed: false; readonly file: string | null; readonly test: string };

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      only: { type: "string", default: "" },
      jobs: { type: "string", default: `${navigator.hardwareConcurrency}` },
      seed: { type: "string" },
      write: { type: "string" },
      check: { type: "boolean", default: false },
    },
  });
  const mutants = MUTANTS.filter(({ name, file, layer }) =>
    `${layer}: ${name} (${file})`.includes(values.only)
  );
  if (mutants.length === 0) {
    console.error(`error: no fault, file or layer has "${values.only}" in its name`);
    return 1;
  }
  const outcomes = values.check ? await checkTypes(mutants) : await runAll(mutants, values);
  if (values.write !== undefined) await writeTable(values.write, outcomes);
  const failed = [...outcomes].filter(([, { kind }]) => kind !== "killed");
  for (const [{ name, file }, outcome] of failed) console.log(`${describe(outcome)}: ${name} (${file})`);
  const count = `${outcomes.size - failed.length} of ${outcomes.size} faults`;
  console.log(values.check ? `${count} have no error of types` : `${count} are found`);
  return failed.length > 0 ? 1 : 0;
}

function describe(outcome: Outcome): string {
  if (outcome.kind === "killed") return `found by ${outcome.by}`;
  return outcome.kind === "survived" ? "SURVIVED" : `ERROR: ${outcome.reason}`;
}

async function runAll(
  mutants: readonly Mutant[],
  { jobs, seed }: { readonly jobs: string; readonly seed?: string | undefined },
): Promise<ReadonlyMap<Mutant, Outcome>> {
  const outcomes = new Map<Mutant, Outcome>();
  const waiting = mutants.values();
  await Promise.all(Array.from({ length: Number(jobs) }, async () => {
    await using tree = await copyTree();
    const runner = new Runner(tree.directory, seed);
    for (const mutant of waiting) {
      const outcome = await runner.run(mutant);
      outcomes.set(mutant, outcome);
      const progress = `${outcomes.size}/${mutants.length} ${mutant.layer}`;
      console.log(`${progress}: ${mutant.name}: ${describe(outcome)}`);
    }
  }));
  return new Map(mutants.flatMap((mutant) => {
    const outcome = outcomes.get(mutant);
    return outcome === undefined ? [] : [[mutant, outcome]];
  }));
}

/** Tries faults in one copy of the source. */
class Runner {
  readonly #directory: string;
  readonly #seed: string | undefined;
  /** By test module, whether it passes without a fault. */
  readonly #clean = new Map<string, boolean>();

  constructor(directory: string, seed: string | undefined) {
    this.#directory = directory;
    this.#seed = seed;
  }

  async run(mutant: Mutant): Promise<Outcome> {
    const path = `${this.#directory}/${mutant.file}`;
    const source = await Deno.readTextFile(path).catch(() => "");
    const faulty = withFault(source, mutant);
    if (faulty === null) return { kind: "error", reason: `${JSON.stringify(mutant.find)} is not there once` };
    const stages = mutant.tests.filter((test) => exists(`${this.#directory}/${test}`));
    if (stages.length === 0) return { kind: "error", reason: "none of its tests exists" };
    for (const stage of stages) {
      await Deno.writeTextFile(path, faulty);
      const tested = await this.#test(stage);
      await Deno.writeTextFile(path, source);
      if (tested.passed) continue;
      const { file, test } = tested;
      const isClean = await this.#isClean(file ?? stage);
      if (!isClean) return { kind: "error", reason: `${file ?? stage} fails without the fault, too` };
      return { kind: "killed", by: `${file ?? stage}: ${test}` };
    }
    return { kind: "survived" };
  }

  async #isClean(path: string): Promise<boolean> {
    const known = this.#clean.get(path);
    if (known !== undefined) return known;
    const { passed } = await this.#test(path);
    this.#clean.set(path, passed);
    return passed;
  }

  async #test(path: string): Promise<Tested> {
    const args = [
      "test",
      "--quiet",
      "--no-check",
      "--allow-all",
      "--fail-fast",
      "--lock=deno.lock",
      "--frozen",
      path,
    ];
    const secondsMax = path.endsWith(".ts") ? MODULE_SECONDS_MAX : DIRECTORY_SECONDS_MAX;
    const child = new Deno.Command("sh", {
      args: ["-c", `ulimit -t ${secondsMax}; exec "$@"`, "sh", Deno.execPath(), ...args],
      cwd: this.#directory,
      env: { NO_COLOR: "1", ...this.#seed !== undefined && { [SEED]: this.#seed } },
      stdin: "null",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      child.kill("SIGKILL");
    }, WAIT_MS_MAX);
    const printed = stripVTControlCharacters(await new Response(child.stdout).text());
    const { success, signal } = await child.status;
    clearTimeout(timer);
    if (success) return { passed: true };
    const file = /^running \d+ tests? from \.\/(\S+)$/gm;
    const last = [...printed.matchAll(file)].at(-1)?.[1] ?? null;
    const broken = /^\.\/(\S+) \(uncaught error\)$/m.exec(printed)?.[1];
    const failed = /^(.+) => \.\/\S+$/m.exec(printed)?.[1];
    const reason = isLate ? "it waits for ever" : signal !== null ? "endless loop" : "the module fails";
    return { passed: false, file: broken ?? last, test: failed ?? reason };
  }
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Copies the files that Git does not ignore, as they are now; the copy is removed in the end. */
async function copyTree(): Promise<AsyncDisposable & { readonly directory: string }> {
  const directory = await Deno.makeTempDir({ prefix: "monitor_mutants_" });
  const { stdout } = await new Deno.Command("git", {
    args: ["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
    cwd: PROJECT,
  }).output();
  const paths = new TextDecoder().decode(stdout).split("\0").filter((path) => path !== "");
  for (const path of paths) {
    const target = `${directory}/${path}`;
    await Deno.mkdir(target.slice(0, target.lastIndexOf("/")), { recursive: true });
    // A file may have been removed, and not committed yet.
    await Deno.copyFile(new URL(encodeURI(path), PROJECT), target).catch(() => {});
  }
  return { directory, [Symbol.asyncDispose]: () => Deno.remove(directory, { recursive: true }) };
}

/** Checks the types: the first fault of each file at the same time, then the second ones, and so on. */
async function checkTypes(mutants: readonly Mutant[]): Promise<ReadonlyMap<Mutant, Outcome>> {
  await using tree = await copyTree();
  const { directory } = tree;
  const outcomes = new Map<Mutant, Outcome>();
  const byFile = [...Map.groupBy(mutants, ({ file }) => file).values()];
  for (let round = 0; outcomes.size < mutants.length; round++) {
    const some = byFile.flatMap((own) => own.slice(round, round + 1));
    const sources = some.map(({ file }) => Deno.readTextFileSync(`${directory}/${file}`));
    for (const [index, mutant] of some.entries()) {
      Deno.writeTextFileSync(`${directory}/${mutant.file}`, withFault(sources[index] ?? "", mutant) ?? "!");
    }
    const args = ["check", ...SOURCE_FLAGS.slice(1), "main.ts"];
    const { stderr } = await new Deno.Command(Deno.execPath(), {
      args: args.map((arg) => arg.startsWith("--lock=") ? "--lock=deno.lock" : arg),
      cwd: directory,
      env: { NO_COLOR: "1" },
    }).output();
    const printed = stripVTControlCharacters(new TextDecoder().decode(stderr));
    for (const [index, mutant] of some.entries()) {
      const pattern = `TS\\d+ .*(?=(?:\\n(?!TS\\d).*)*?\\n +at file://${directory}/${mutant.file}:)`;
      const found = new RegExp(pattern).exec(printed)?.[0];
      outcomes.set(
        mutant,
        found === undefined ? { kind: "killed", by: "types" } : { kind: "error", reason: found },
      );
      Deno.writeTextFileSync(`${directory}/${mutant.file}`, sources[index] ?? "");
    }
    console.log(`round ${round + 1}: ${some.length} files`);
  }
  return outcomes;
}

/** Writes the outcomes of all faults; those that were not run keep their row. */
async function writeTable(path: string, outcomes: ReadonlyMap<Mutant, Outcome>): Promise<void> {
  const before = await Deno.readTextFile(path).catch(() => "");
  const known = new Map(
    [...before.matchAll(/^\| (.*?) +\| `.*?` +\| (.*?) +\|$/gm)].map(([, name, by]) => [name, by]),
  );
  const rows = MUTANTS.map((mutant) => {
    const outcome = outcomes.get(mutant);
    const shown = outcome === undefined
      ? known.get(escapeCell(mutant.name)) ?? "not run"
      : outcome.kind === "killed"
      ? `\`${outcome.by.replace(/: .*/s, "")}\``
      : `**${outcome.kind}**`;
    return { ...mutant, shown };
  });
  const notRun = rows.filter(({ shown }) => shown === "not run").length;
  const survived = rows.filter(({ shown }) => shown.startsWith("**")).length;
  const killed = rows.length - notRun - survived;
  const layers = [...Map.groupBy(rows, ({ layer }) => layer)].flatMap(([layer, some]) => [
    `\n## ${layer[0]?.toUpperCase()}${layer.slice(1)}\n`,
    "| Fault | File | Found by |",
    "| --- | --- | --- |",
    ...some.map(({ name, file, shown }) => `| ${escapeCell(name)} | \`${file}\` | ${shown} |`),
  ]);
  await Deno.writeTextFile(
    path,
    `${HEAD}\n${killed} are found, ${survived} survive, ${notRun} were not run.\n${layers.join("\n")}\n`,
  );
  await new Deno.Command(Deno.execPath(), { args: ["fmt", "--quiet", path] }).output();
}

const HEAD = `# Faults that the tests find

For contributors: the small faults of \`deno task mutants\`, each with the test module that found it first.

At commit cf9b299b, before the tests were reworked, 352 of 409 were found. Now, with all external tools:
`;

function escapeCell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}

Deno.exitCode = await main();
