/**
 * The whole program, as its users call it. Each directory alongside this file is a case: `spec.json` has the
 * arguments and exit codes, `stdout.txt` and `stderr.txt` the output (a missing one: nothing), the other files are
 * those in its working directory.
 *
 * In the expected texts `[ANY]` matches anything within a line, `[LINES]` any lines, `[FOLDER]` the working directory, and `[HOME]` the
 * home, which is empty at first.
 *
 * The program under test runs in the test's own process, but for the few steps that need one of their own. With
 * `MONITOR_PROGRAM`, which names an executable, all steps run that. `TEST_CASE=silence` runs only the
 * cases with that text in their name.
 */
import assert from "node:assert/strict";
import { monitorCommand, sourceEnvironment } from "../../testing/source.ts";
import { runChild } from "../../testing/tools.ts";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { type HereEnd, runHere } from "../support/run_here.ts";

/** Whether all steps are processes. */
const HAS_PROGRAM = Deno.env.get("MONITOR_PROGRAM") !== undefined;
const test = concurrentTests("monitor: end-to-end tests");

interface Spec {
  /** One after another, in one working directory; their output is expected in one piece. */
  readonly steps: readonly Step[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Whether the program writes in its working directory; if not, only its owner could. */
  readonly writes_here?: boolean;
}

interface Step {
  readonly args: readonly string[];
  readonly exit_code: number;
  readonly stdin?: string;
  /** Whether it needs a process: what it starts inherits the standard streams. */
  readonly process?: boolean;
}

const SPECS = new URL(".", import.meta.url);

for (const entry of [...Deno.readDirSync(SPECS)].sort((one, other) => one.name < other.name ? -1 : 1)) {
  if (entry.isDirectory) test(`monitor: ${entry.name.replaceAll("_", " ")}`, () => runSpec(entry.name));
}

async function runSpec(name: string): Promise<void> {
  const source = new URL(`${name}/`, SPECS);
  const spec = JSON.parse(await Deno.readTextFile(new URL("spec.json", source))) as Spec;
  const directory = await Deno.makeTempDir({ prefix: "monitor_spec_" });
  const home = await Deno.makeTempDir({ prefix: "monitor_spec_home_" });
  try {
    await copyFiles(source, directory);
    await Deno.chmod(directory, spec.writes_here === true ? 0o777 : 0o755);
    const seen = { codes: [] as number[], stdout: "", stderr: "" };
    for (const step of spec.steps) {
      const place: Place = {
        directory,
        environment: { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: home, TZ: "UTC", ...spec.environment },
      };
      const { code, stdout, stderr } = HAS_PROGRAM || step.process === true
        ? await runProgram(step, place)
        : await runHere(step.args, { ...place, stdin: step.stdin ?? "" });
      seen.codes.push(code);
      seen.stdout += stdout;
      seen.stderr += stderr;
    }
    assertMatches(seen.stderr, await readExpected(source, "stderr.txt", { directory, home }), "stderr");
    assertMatches(seen.stdout, await readExpected(source, "stdout.txt", { directory, home }), "stdout");
    assert.deepStrictEqual(seen.codes, spec.steps.map((step) => step.exit_code), seen.stderr);
  } finally {
    await Deno.remove(directory, { recursive: true });
    await Deno.remove(home, { recursive: true });
  }
}

const EXPECTATIONS = ["spec.json", "stdout.txt", "stderr.txt"];

async function copyFiles(source: URL, directory: string): Promise<void> {
  for await (const file of Deno.readDir(source)) {
    if (file.isFile && !EXPECTATIONS.includes(file.name)) {
      await Deno.copyFile(new URL(file.name, source), `${directory}/${file.name}`);
    }
    if (file.isDirectory) {
      await Deno.mkdir(`${directory}/${file.name}`);
      await copyFiles(new URL(`${file.name}/`, source), `${directory}/${file.name}`);
    }
  }
}

/** The placeholders in expected texts. */
interface Places {
  readonly directory: string;
  readonly home: string;
}

interface Place {
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
}

function runProgram(step: Step, { directory, environment }: Place): Promise<HereEnd> {
  const executable = Deno.env.get("MONITOR_PROGRAM");
  const [program = "", ...before] = monitorCommand();
  return runChild(program, [...before, ...step.args], {
    cwd: directory,
    clearEnv: true,
    env: { ...(executable === undefined && sourceEnvironment()), ...environment },
    stdin: step.stdin ?? "",
  });
}

async function readExpected(source: URL, name: string, { directory, home }: Places): Promise<string> {
  const text = await Deno.readTextFile(new URL(name, source)).catch(() => "");
  return text.replaceAll("[FOLDER]", directory).replaceAll("[HOME]", home);
}

function assertMatches(seen: string, expected: string, what: string): void {
  const lines = expected.split("[LINES]").map((part) => part.split("[ANY]").map(escapePattern).join("[^\\n]*"));
  const pattern = lines.join("[^]*?");
  if (!new RegExp(`^${pattern}$`).test(seen)) assert.strictEqual(seen, expected, what);
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
