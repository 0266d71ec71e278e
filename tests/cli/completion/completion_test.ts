/** Real shells on a real terminal: the arguments that they pass to the program after Tab was pressed. */
import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import { concurrentTests, provided } from "../../support/concurrent_tests.ts";
import { makePipe } from "../../support/make_pipe.ts";
import { runHere } from "../../support/run_here.ts";
import { monitorCommand, sourceEnvironment } from "../../../testing/source.ts";
import { requiresTools, runChild, tool } from "../../../testing/tools.ts";
import { tempDirectory } from "../../../testing/builders.ts";
import { loadCommands } from "../../../src/cli/command_loaders.ts";
import {
  type BashLine,
  complete,
  quoteForBash,
  readBashLine,
  type Shell,
  SHELL_ENTRIES,
  SHELLS,
} from "../../../src/cli/commands/completions.ts";

const COMMANDS = await loadCommands();

const test = provided(withHome, concurrentTests("monitor completions"));

const PROMPT = "READY>";
const TERMINAL = fileURLToPath(new URL("../../support/terminal.py", import.meta.url));

const ODD = 'it\'s "odd" $HOME `id`';
const SIGNS = "wow! (a) <b>;&|*?[x]{y}~#\\";
const NAMES = ["web", ODD, "disk: /var log", "disk: größe ü", SIGNS, "two\nlines"];

/** The typed text, with `\t` for Tab, and the arguments of the program. */
const LINES: readonly (readonly [typed: string, expected: readonly string[]])[] = [
  ["monitor che\t--onc\twe\t", ["check", "--once", "web"]],
  ["monitor explain 'it\t", ["explain", ODD]],
  ["monitor explain disk\tg\t", ["explain", "disk: größe ü"]],
  ['monitor explain "disk: g\t', ["explain", "disk: größe ü"]],
  ["monitor explain wo\t", ["explain", SIGNS]],
  ["monitor explain 'wo\t", ["explain", SIGNS]],
  ["monitor check --format=ju\t", ["check", "--format=junit"]],
  ["monitor explain -c home\\ dir/oth\tels\t", ["explain", "-c", "home dir/other doc.json", "elsewhere one"]],
  ["monitor explain -c ~/monitor.json we\t", ["explain", "-c", "[HOME]/monitor.json", "web"]],
  ["monitor explain -c broken.json we\t", ["explain", "-c", "broken.json", "we"]],
  ["monitor notify --channel pa\t", ["notify", "--channel", "pager: night"]],
  ["monitor explain web di\tgr\two\t", ["explain", "web", "disk: größe ü", SIGNS]],
];

/** The flags of each shell to start without a user's configuration, and its first input. */
const STARTS: Readonly<Record<Shell, { readonly flags: readonly string[]; readonly first: string }>> = {
  bash: { flags: ["--norc", "--noprofile", "-i"], first: ". ./bash.completion" },
  zsh: { flags: ["-f", "-i"], first: "fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D" },
  fish: {
    flags: ["-i", "-C", `function fish_prompt; echo -n '${PROMPT}'; end`],
    first: "source ./fish.completion",
  },
};

async function withHome(use: (home: string) => Promise<void>): Promise<void> {
  await using temporary = await tempDirectory();
  const home = temporary.path;
  await Deno.mkdir(`${home}/bin`);
  await Deno.mkdir(`${home}/home dir`);
  // Without it fish leaves a process behind that reads the manual pages of the whole machine.
  await Deno.mkdir(`${home}/.local/share/fish/generated_completions`, { recursive: true });
  await writeProgram(`${home}/bin/monitor`);
  await Deno.writeTextFile(`${home}/monitor.json`, configOf(NAMES));
  await Deno.writeTextFile(`${home}/home dir/other doc.json`, configOf(["elsewhere one"]));
  await Deno.writeTextFile(`${home}/broken.json`, `{ "checks": { "web": 1 } }`);
  for (const shell of SHELLS) {
    await Deno.writeTextFile(`${home}/${shell}.completion`, SHELL_ENTRIES[shell].script);
  }
  await Deno.rename(`${home}/zsh.completion`, `${home}/_monitor`);
  for (const pipe of ["asked", "ready"]) await makePipe(`${home}/${pipe}`);
  await use(home);
}

function configOf(names: readonly string[]): string {
  const check = { kind: "test", tags: ["production"], parameters: { condition: "ok" } };
  const channels = { "pager: night": { kind: "console", parameters: {} } };
  return JSON.stringify({
    channels,
    defaults: {},
    checks: Object.fromEntries(names.map((name) => [name, check])),
  });
}

/** The last word that is asked for. */
const END = "the end";
const EXECUTABLE = Deno.env.get("MONITOR_PROGRAM");

/**
 * The program for completions; otherwise it prints its arguments, which the test compares. The first completion of a
 * shell is that of a process, and the others are this process's, unless an executable is tested.
 */
async function writeProgram(path: string): Promise<void> {
  const variables = Object.entries(sourceEnvironment()).map(([name, value]) => `${name}='${value}'`);
  const command = monitorCommand().map((word) => `'${word}'`);
  const program = ["env", ...EXECUTABLE === undefined ? variables : [], ...command].join(" ");
  const isReal = EXECUTABLE === undefined ? "[ ! -e begun ] && : > begun" : "true";
  await Deno.writeTextFile(
    path,
    `#!/bin/sh
if [ "$1" = __complete ]; then
  if ${isReal}; then exec ${program} "$@"; fi
  printf '%s\\0' "$@" '${END}' > asked
  read -r _ < ready
  exec cat response
fi
printf 'ARGUMENTS'
printf '<%s>' "$@"
echo
`,
    { mode: 0o755 },
  );
}

/** Completes what the command of `writeProgram()` asks for while something runs. */
async function responding<T>(home: string, run: () => Promise<T>): Promise<T> {
  // A pipe that is open in both directions does not wait for the command to open its end.
  using asked = await Deno.open(`${home}/asked`, { read: true, write: true });
  using ready = await Deno.open(`${home}/ready`, { read: true, write: true });
  const respond = async (): Promise<void> => {
    for (;;) {
      const args = await readArguments(asked);
      if (args.length === 0) return;
      const { stdout } = await runHere(args, { directory: home, environment: { HOME: home } });
      await Deno.writeTextFile(`${home}/response`, stdout);
      await ready.write(new TextEncoder().encode("\n"));
    }
  };
  const responded = respond();
  const end = await run();
  // By itself: operations of one file wait for each other.
  await Deno.writeTextFile(`${home}/asked`, `${END}\0`);
  await responded;
  return end;
}

/** Reads up to the next end. */
async function readArguments(pipe: Deno.FsFile): Promise<readonly string[]> {
  const piece = new Uint8Array(65_536);
  const bytes: number[] = [];
  for (;;) {
    bytes.push(...piece.subarray(0, await pipe.read(piece) ?? 0));
    const words = new TextDecoder().decode(new Uint8Array(bytes)).split("\0");
    if (words.at(-2) === END) return words.slice(0, -2);
  }
}

for (const shell of SHELLS) {
  const { flags, first } = STARTS[shell];
  test(`completions ${shell}: the program gets what Tab completed`, async (home) => {
    const typed = [first, ...LINES.map(([line]) => line), "exit"].map((line) => `${line}\r`);
    const { stdout, stderr } = await responding(home, () =>
      runChild(
        tool("python3"),
        [TERMINAL, PROMPT, tool(shell), ...flags],
        {
          cwd: home,
          clearEnv: true,
          env: {
            PATH: `${home}/bin:/usr/bin:/bin`,
            HOME: home,
            LC_ALL: "C.UTF-8",
            TERM: "xterm",
            PS1: PROMPT,
          },
          stdin: JSON.stringify(typed),
        },
      ));
    const seen = [...stdout.matchAll(/ARGUMENTS(<.*>)\r/g)].map(([, text]) => text);
    const expected = LINES.map(([, words]) =>
      words.map((word) => `<${word.replace("[HOME]", home)}>`).join("")
    );
    assert.deepStrictEqual(seen, expected, `${stdout}\n${stderr}`);
  }, requiresTools("python3", ...shell === "bash" ? [] : [shell]));
}

const BREAKS = " \t\n\"'@><=;|&(:";

const BASH_LINES: readonly (readonly [name: string, line: string, expected: BashLine])[] = [
  ["a word that is not begun", "monitor ", { words: ["monitor", ""], keptLength: 0, quote: "" }],
  ["a backslash", "m web\\ o", { words: ["m", "web o"], keptLength: 0, quote: "" }],
  ["a backslash at the end", "m web\\", { words: ["m", "web"], keptLength: 0, quote: "" }],
  ["a colon", "m a:b", { words: ["m", "a:b"], keptLength: 2, quote: "" }],
  ["a colon behind a backslash", "m a\\:b", { words: ["m", "a:b"], keptLength: 0, quote: "" }],
  ["an open double quote", 'm "a: b', { words: ["m", "a: b"], keptLength: 0, quote: '"' }],
  ["an open quote within a word", "m --x='a", { words: ["m", "--x=a"], keptLength: 4, quote: "'" }],
  ["a closed quote", 'm "a: b"c', { words: ["m", "a: bc"], keptLength: 0, quote: "" }],
  ["an escaped quote in a quote", 'm "a\\"b\\c', { words: ["m", 'a"b\\c'], keptLength: 0, quote: '"' }],
];

Deno.test("readBashLine() splits a line as bash and readline do", async (t) => {
  for (const [name, line, expected] of BASH_LINES) {
    await t.step(name, () => assert.deepStrictEqual(readBashLine(line, BREAKS), expected));
  }
});

Deno.test("quoteForBash() returns text that readBashLine() restores, in every quote", () => {
  const texts = [
    "web",
    "a b",
    "it's",
    'say "hi" for $5 `now`',
    "back\\slash",
    "größe: ü",
    "!~#*?[]{}()<>;&|",
  ];
  for (const text of texts) {
    for (const quote of ["", '"', "'"] as const) {
      const line = `m ${quote}${quoteForBash(text, quote)}${quote}`;
      assert.strictEqual(readBashLine(line, BREAKS).words[1], text, line);
    }
  }
});

Deno.test("complete() completes the operands of every command that are names or paths", async () => {
  const namesIn = () => Promise.resolve([{ value: "web", description: "" }]);
  for (const { name, operands = "" } of COMMANDS) {
    const words = [name, ...name === "maintenance" ? ["start"] : [], ""];
    const completion = await complete(words, { commands: COMMANDS, namesIn });
    const offered = completion === "files" ? null : completion.map(({ value }) => value);
    if (operands.includes("NAME")) assert.ok(offered?.includes("web"), name);
    if (operands.includes("PATH")) assert.strictEqual(offered, null, name);
  }
});
