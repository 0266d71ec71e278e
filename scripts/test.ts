/**
 * Runs the tests, terminates those that hang, and lists the missing tools.
 *
 *     deno task test                        # tests of a missing tool are ignored
 *     deno task test:all                    # a missing tool is a failure
 *     deno task test tests/cli --filter=x   # paths and options of `deno test`
 *     deno task test --packages             # prints the Debian packages of all tools
 *     deno task test --paths                # prints the paths of the tools on this machine
 *
 * The runtime has no timeout for a test. So each test module notes the test that runs and its pending operation
 * (testing/test_notes.ts), and this process terminates `deno test` with all its children when a note stays for longer
 * than a minute. A few tests that take that long are part of all tests alone.
 */
import { type FailedTest, NOTES_DIRECTORY, type TestNote } from "../testing/test_notes.ts";
import { BUNDLE } from "../testing/source.ts";
import { CI_PACKAGES, missingTools, packagesOf, tool, type ToolName, TOOLS } from "../testing/tools.ts";

import { bundle } from "./bundle.ts";

import { stripVTControlCharacters } from "node:util";

const PROJECT = new URL("..", import.meta.url);
const LIMIT_MS = 60_000;
/** Tests that take a minute are part of all tests alone. They run after the others, since they measure times. */
const SLOW: Suite = {
  args: ["tests/life/members_faults_test.ts"],
  variables: { MEMBER_FAULTS_SECONDS: "60" },
  limitMs: 10 * LIMIT_MS,
};
/** For the time between two tests: loading modules, or a hook. */
const PAUSE_LIMIT_MS = 2 * LIMIT_MS;
const POLL_MS = 500;
/** The runtime's place of a test whose registration is wrapped. */
const WRAPPER_PLACE = /\.\/tests\/support\/(?:preload|concurrent_tests)\.ts:\d+:\d+/;

/** The tests of one `deno test`. */
interface Suite {
  readonly args: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  /** For each test, and for each step of one. */
  readonly limitMs: number;
}

/** How many tests ended how. */
interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

const isAll = Deno.args[0] === "--all";
const args = isAll ? Deno.args.slice(1) : Deno.args;
if (args[0] === "--packages") {
  const names = Object.keys(TOOLS) as ToolName[];
  console.log([...packagesOf(names), ...CI_PACKAGES].sort().join("\n"));
} else if (args[0] === "--paths") {
  const missing = missingTools();
  const names = (Object.keys(TOOLS) as ToolName[]).filter((name) => !missing.includes(name));
  console.log([...new Set(names.map(tool))].join("\n"));
} else {
  Deno.exitCode = await runTests();
}

async function runTests(): Promise<number> {
  const missing = missingTools();
  if (isAll && missing.length > 0) {
    for (const name of missing) console.log(`Missing tool: ${name}`);
    printInstall(missing);
    printCounts({ passed: 0, failed: missing.length, skipped: 0 });
    return 1;
  }
  const hasPath = args.some((arg) => !arg.startsWith("-"));
  const suite: Suite = {
    args: ["--parallel", ...args, ...hasPath ? [] : ["--ignore=tests/executable", "tests/"]],
    variables: {},
    limitMs: LIMIT_MS,
  };
  const results = [await runSuite(suite)];
  if (isAll && !hasPath) results.push(await runSuite(SLOW));
  const total = (name: keyof Counts): number => sum(results.map(({ counts }) => counts[name]));
  printCounts({ passed: total("passed"), failed: total("failed"), skipped: total("skipped") });
  return Math.max(...results.map(({ code }) => code));
}

async function runSuite(suite: Suite): Promise<{ readonly code: number; readonly counts: Counts }> {
  const directory = await Deno.makeTempDir({ prefix: "monitor_test_notes_" });
  try {
    return await runInDirectory(suite, directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

async function runInDirectory(
  { args, variables, limitMs }: Suite,
  directory: string,
): Promise<{ readonly code: number; readonly counts: Counts }> {
  const bundled = await bundle(`${directory}/bundle`);
  const child = new Deno.Command(Deno.execPath(), {
    args: ["test", "--quiet", "--allow-all", "--preload=tests/support/preload.ts", ...args],
    cwd: PROJECT,
    env: { [NOTES_DIRECTORY]: directory, [BUNDLE]: bundled.main, ...variables },
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const printed = printAll(child.stdout, directory);
  const ended = child.status.then(({ code }) => code);
  const hanging = await findHanging(directory, { ended, limitMs });
  if (hanging !== null) killWithDescendants(child.pid);
  const [code, text] = [await ended, await printed];
  const ignored = readIgnored(directory);
  if (hanging !== null) {
    console.log(`\nFAILED: ${describe(hanging, limitMs)}`);
    const notes = readNotes(directory);
    const passed = sum(notes.map(({ passed }) => passed));
    const failed = sum(notes.map(({ failed }) => failed)) + 1;
    return { code: 1, counts: { passed, failed, skipped: ignored.length } };
  }
  if (ignored.length > 0) printIgnored(ignored);
  // Ignored cases of a test are steps.
  const count = (what: string): number => {
    const pattern = new RegExp(
      `\\| (?:.*?)(\\d+) ${what}${what === "ignored" ? "(?: \\((\\d+) step)?" : ""}`,
    );
    const [, tests = 0, steps = 0] = pattern.exec(lastSummary(text)) ?? [];
    return Number(tests) + Number(steps);
  };
  return {
    code,
    counts: { passed: count("passed"), failed: count("failed"), skipped: count("ignored") },
  };
}

/** Passes the output through, without the steps that passed and with the place of each failure; returns its end. */
async function printAll(pipe: ReadableStream<Uint8Array>, directory: string): Promise<string> {
  const encoder = new TextEncoder();
  let rest = "";
  let end = "";
  const print = async (text: string): Promise<void> => {
    const lines = text.split("\n").filter((line) => !isPassedStep(line));
    const failed = lines.some((line) => WRAPPER_PLACE.test(line)) ? readLines(`${directory}/failed`) : [];
    const failures = failed.map((line) => JSON.parse(line) as FailedTest);
    const shown = lines.map((line) => withPlace(line, failures)).join("\n");
    await write(encoder.encode(shown));
    end = (end + shown).slice(-10_000);
  };
  for await (const chunk of pipe.pipeThrough(new TextDecoderStream())) {
    rest += chunk;
    const newlineAt = rest.lastIndexOf("\n") + 1;
    if (newlineAt > 0) await print(rest.slice(0, newlineAt));
    rest = rest.slice(newlineAt);
  }
  await print(rest);
  return end;
}

/** `file => test ... step ... ok (1ms)`, in whatever color. */
function isPassedStep(line: string): boolean {
  return / \.\.\. .* \.\.\. .*\bok\b/.test(line);
}

function withPlace(line: string, failures: readonly FailedTest[]): string {
  const failure = failures.find(({ test }) => line.startsWith(test));
  return failure === undefined ? line : line.replace(WRAPPER_PLACE, failure.place);
}

async function write(chunk: Uint8Array): Promise<void> {
  for (let rest = chunk; rest.length > 0;) rest = rest.subarray(await Deno.stdout.write(rest));
}

/** Waits until the tests have ended (`null`), or until one of them hangs. */
async function findHanging(
  directory: string,
  { ended, limitMs }: { readonly ended: Promise<number>; readonly limitMs: number },
): Promise<TestNote | null> {
  for (;;) {
    let timer = 0;
    const pause = new Promise<"poll">((resolve) => timer = setTimeout(resolve, POLL_MS, "poll"));
    const first = await Promise.race([ended, pause]);
    clearTimeout(timer);
    if (first !== "poll") return null;
    const now = Date.now();
    const notes = readNotes(directory);
    const late = notes.find(({ test, sinceMs }) => test !== null && now - sinceMs > limitMs);
    if (late !== undefined) return late;
    const newest = notes.toSorted((one, other) => other.sinceMs - one.sinceMs)[0];
    if (
      newest !== undefined && notes.every(({ test }) => test === null) &&
      now - newest.sinceMs > PAUSE_LIMIT_MS
    ) {
      return newest;
    }
  }
}

function describe({ test, waits }: TestNote, limitMs: number): string {
  if (test === null) return `no test ran for ${PAUSE_LIMIT_MS / 1000} s, and the tests have not ended`;
  const waited = waits.length === 0
    ? "it waited for nothing that is noted"
    : `it waited for ${waits.join(", ")}`;
  return `"${test}" ended no step for ${limitMs / 1000} s; ${waited}`;
}

/** Kills a process and its descendants, including those that left its group and session. */
function killWithDescendants(root: number): void {
  for (const pid of [root, ...descendantsOf(root)]) {
    try {
      Deno.kill(pid, "SIGKILL");
    } catch {
      // It has ended.
    }
  }
}

function descendantsOf(root: number): readonly number[] {
  const childrenOf = new Map<number, number[]>();
  for (const { name } of Deno.build.os === "linux" ? Deno.readDirSync("/proc") : []) {
    if (!/^\d+$/.test(name)) continue;
    const parent = parentOf(name);
    if (parent !== null) childrenOf.set(parent, [...childrenOf.get(parent) ?? [], Number(name)]);
  }
  const below = (pid: number): readonly number[] =>
    (childrenOf.get(pid) ?? []).flatMap((child) => [child, ...below(child)]);
  return below(root);
}

function parentOf(pid: string): number | null {
  try {
    // The command's name is in parentheses and may contain any character.
    const parent = /^.*\) \S (\d+)/s.exec(Deno.readTextFileSync(`/proc/${pid}/stat`))?.[1];
    return parent === undefined ? null : Number(parent);
  } catch {
    return null;
  }
}

function readNotes(directory: string): readonly TestNote[] {
  const notes: TestNote[] = [];
  for (const { name } of Deno.readDirSync(directory)) {
    if (!name.endsWith(".json")) continue;
    try {
      notes.push(JSON.parse(Deno.readTextFileSync(`${directory}/${name}`)) as TestNote);
    } catch {
      // It is being written.
    }
  }
  return notes;
}

/** The missing tools of each ignored test. */
function readIgnored(directory: string): readonly (readonly string[])[] {
  return readLines(`${directory}/ignored`).map((line) => line.split(" "));
}

function readLines(path: string): readonly string[] {
  try {
    return Deno.readTextFileSync(path).trimEnd().split("\n");
  } catch {
    return [];
  }
}

function printIgnored(ignored: readonly (readonly string[])[]): void {
  const counts = new Map<string, number>();
  for (const name of ignored.flat()) counts.set(name, (counts.get(name) ?? 0) + 1);
  const rows = [...counts].sort(([one], [other]) => one < other ? -1 : 1);
  const width = Math.max(...rows.map(([name]) => name.length));
  console.log("\nIgnored tests by missing tool:");
  for (const [name, count] of rows) console.log(`  ${name.padEnd(width)}  ${count}`);
  printInstall(rows.map(([name]) => name).filter((name): name is ToolName => Object.hasOwn(TOOLS, name)));
}

function printInstall(names: readonly ToolName[]): void {
  if (names.length > 0) console.log(`\nInstall them: sudo apt-get install ${packagesOf(names).join(" ")}`);
}

function printCounts({ passed, failed, skipped }: Counts): void {
  console.log(`\n${passed} passed, ${failed} failed, ${skipped} skipped`);
}

function lastSummary(text: string): string {
  return stripVTControlCharacters(text).split("\n").findLast((line) => /^(ok|FAILED) \| /.test(line)) ?? "";
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
