/**
 * Every command line of ours in the pages is valid: the command, its options and the number of names. Whole lines are
 * run, with a config that has the checks of the pages.
 */
import assert from "node:assert/strict";
import { parseBeforeCommand, parseInvocation, splitCommand, splitTrailing } from "../../src/cli/arguments.ts";
import { COMMANDS } from "../../src/cli/commands.ts";
import { withHarness } from "../life/program.ts";
import { readPages } from "./pages.ts";
import { type CommandLine, commandLinesOf } from "./command_lines.ts";
import { requiresTools } from "../../testing/tools.ts";
import { concurrentSteps } from "../support/concurrent_tests.ts";

const LINES: readonly CommandLine[] = readPages().flatMap(commandLinesOf);

Deno.test("every command line of monitor in the pages is valid", () => {
  assert.ok(LINES.length > 60);
  for (const line of LINES) assert.doesNotThrow(() => parse(line.words), nameOf(line));
});

Deno.test("every Deno task in the pages exists", () => {
  const { tasks } = JSON.parse(Deno.readTextFileSync(new URL("../../deno.json", import.meta.url)));
  for (const { path, text } of readPages()) {
    for (const [, task = ""] of text.matchAll(/deno(?:@[\d.]+)? task ([a-z]+)/g)) {
      assert.ok(task in tasks, `${path}: deno task ${task}`);
    }
  }
});

Deno.test("the commands in the tutorials run", async (t) => {
  await using steps = concurrentSteps(t);
  const typed = [
    ...new Map(
      // A server of that name is not here.
      LINES.filter(({ isWhole, words }) =>
        isWhole && !words.some((word) => word.startsWith("postgres:")) &&
        !OF_THE_READER.includes(words[0] ?? "")
      )
        .map((
          line,
        ) => [line.words.join(" "), line]),
    ).values(),
  ];
  assert.ok(typed.length > 20);
  for (const line of typed) {
    steps.add(nameOf(line), () =>
      withHarness(async ({ directory, run, runHere, startHere, writeScript }) => {
        const environment = { MONITOR_CONFIG: `${directory}/monitor.jsonc` };
        writeScript("backup", "exit 0");
        if (!WRITING.includes(line.words[0] ?? "")) {
          Deno.writeTextFileSync(`${directory}/monitor.jsonc`, configFor(line));
        }
        if (line.words[0] === "import") copyForeignConfig(line.words, directory);
        if (READING.includes(line.words[0] ?? "")) await runHere(["check", "--once"]);
        if (CONTROLLING.includes(line.words[0] ?? "")) {
          const service = startHere(["check", "--log-level", "debug"], { environment });
          await service.stderr.next(/debug: control socket at/);
        }
        const args = line.words.map((word) => here(word, directory));
        if (!runsOn(line.words)) {
          // What it starts would print into the output of the tests.
          const { code, stderr } = await (line.words[0] === "beat" ? run : runHere)(args);
          return assert.equal(code, 0, stderr);
        }
        const program = startHere(args, { environment });
        await program.stdout.next("monitor.jsonc");
        program.signal("SIGTERM");
        const { code, stderr } = await program.end();
        assert.equal(code, 0, stderr);
      }), line.words[0] === "beat" ? requiresTools("time") : {});
  }
});

/** Checks by the names that the pages use; all are well. */
function configFor({ words }: CommandLine): string {
  const well = {
    kind: "test",
    // The specification profiles have no tags.
    ...!words.includes("--shape") && { tags: ["web", "mail", "production"] },
    parameters: { condition: "ok" },
  };
  // Without a state there is no record of a job.
  const backup = words[0] === "beat" ? { kind: "job", parameters: { expected_every: "1 day" } } : well;
  // A warning would report that no check uses it.
  const channels = words[0] === "notify" ? { pager: { kind: "console", parameters: {} } } : undefined;
  const checks = { web: well, website: well, mail: well, shop: well, page: well, backup };
  const summary = { cron: "@daily", notifications: [{ kind: "console", parameters: {} }] };
  return JSON.stringify({ defaults: {}, channels, checks, ...words.includes("--send") && { summary } });
}

/** Returns whether it runs until it is stopped. */
function runsOn(words: readonly string[]): boolean {
  return words[0] === "check" && !words.includes("--once");
}

/** Commands that examine the reader's machine. The tutorial's test runs them. */
const OF_THE_READER = ["try", "add", "discover"];

/** Commands that write a config. */
const WRITING = ["init", "import"];

/** Puts a config of the tool where the line reads it. */
function copyForeignConfig([, tool = "", file = ""]: readonly string[], directory: string): void {
  const fixtures = new URL(`../import/testdata/${tool}/`, import.meta.url);
  const source = [...Deno.readDirSync(fixtures)].find(({ name, isFile }) =>
    isFile && !name.endsWith(".jsonc")
  );
  Deno.copyFileSync(
    new URL(source?.name ?? "", fixtures),
    new URL(here(file, directory), `file://${directory}/`),
  );
}

/** Commands that connect to a running service. */
const CONTROLLING = ["reload", "run"];

/** Commands that read the state. */
const READING = ["status", "history", "report"];

/** A path of the page in this directory, with its config for the page's one; and any port for one of the page. */
function here(word: string, directory: string): string {
  if (/^127\.0\.0\.1:\d+$/.test(word)) return "127.0.0.1:0";
  if (/(^|\/)[\w.-]+\.jsonc?$/.test(word)) return `${directory}/monitor.jsonc`;
  return word.startsWith("/") ? `${directory}/${word.split("/").at(-1)}` : word;
}

function parse(words: readonly string[]): void {
  if (["--version", "--help"].includes(words[0] ?? "")) return;
  const { name, rest } = splitCommand(words, COMMANDS);
  const command = COMMANDS.find((candidate) => candidate.name === name);
  assert.ok(command !== undefined, `no command "${name}"`);
  const { own, trailing } = splitTrailing(command, rest);
  const invocation = trailing === null
    ? parseInvocation(command, own)
    : parseBeforeCommand(command, own, trailing);
  assert.equal(invocation.usageError, undefined);
}

function nameOf({ path, words }: CommandLine): string {
  return `${path}: monitor ${words.join(" ")}`;
}
