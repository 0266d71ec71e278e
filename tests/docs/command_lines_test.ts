/** Every command line of ours in the pages is valid: the command, its options and the number of names. */
import assert from "node:assert/strict";
import { parseInvocation, splitCommand } from "../../src/cli/command_definition.ts";
import { loadCommands } from "../../src/cli/command_loaders.ts";
import { type Page, readPages } from "./pages.ts";

const COMMANDS = await loadCommands();

const PAGES = readPages();

Deno.test("every command line of monitor in the pages is valid", () => {
  const lines = PAGES.flatMap((page) => commandLinesOf(page).map((words) => ({ path: page.path, words })));
  assert.ok(lines.length > 60);
  for (const { path, words } of lines) {
    assert.doesNotThrow(() => parse(words), `${path}: monitor ${words.join(" ")}`);
  }
});

Deno.test("every Deno task in the pages exists", () => {
  const { tasks } = JSON.parse(Deno.readTextFileSync(new URL("../../deno.json", import.meta.url)));
  for (const { path, text } of PAGES) {
    for (const [, task = ""] of text.matchAll(/deno(?:@[\d.]+)? task ([a-z]+)/g)) {
      assert.ok(task in tasks, `${path}: deno task ${task}`);
    }
  }
});

function parse(words: readonly string[]): void {
  if (["--version", "--help"].includes(words[0] ?? "")) return;
  const { name, rest } = splitCommand(words, COMMANDS);
  const command = COMMANDS.find((candidate) => candidate.name === name);
  assert.ok(command !== undefined, `no command "${name}"`);
  const invocation = parseInvocation(command, rest);
  assert.equal(invocation.usageError, undefined);
}

/** The words of every call of `monitor` in the blocks of code for a shell, and in the code within sentences. */
function commandLinesOf({ blocks, prose }: Page): readonly (readonly string[])[] {
  const typed = blocks.flatMap(({ language, text }) =>
    text.replaceAll(/\\\n\s*/g, "").split("\n").flatMap((line) => {
      if (language === "sh") return callsIn(line);
      if (language === "crontab") return callsIn(line.replace(/^(?:\S+ +){5}/, ""));
      return language === "console" && line.startsWith("$ ") ? callsIn(line.slice(2)) : [];
    })
  );
  const named = [...prose.matchAll(/`((?:\$ )?monitor [a-z][^`]*)`/g)].flatMap(([, code = ""]) =>
    // A call may end with a placeholder.
    callsIn(code.replaceAll(/\s+/g, " ").replace(/ --$/, " -- COMMAND"))
  );
  return [...typed, ...named];
}

/** Everything between the shell's own signs, in words; a comment ends the line. */
function callsIn(line: string): readonly (readonly string[])[] {
  const calls: string[][] = [[]];
  const pieces = /\s+#.*|^#.*|(\|\||&&|[|;])|(?:\d?>>?|<)\s*\S+|((?:'[^']*'|"[^"]*"|[^\s'"|;&<>])+)/g;
  for (const [, separator, word] of line.matchAll(pieces)) {
    if (separator !== undefined) calls.push([]);
    if (word !== undefined) {
      calls.at(-1)?.push(word.replaceAll(/'([^']*)'|"([^"]*)"/g, "$1$2").replaceAll(/\$(\w+)/g, "$1"));
    }
  }
  // Another command may call the program, with variables.
  const isBefore = (word: string): boolean => /^(?:sudo|podman|exec|monitor|\w+=.*)$/.test(word);
  return calls.flatMap((words) => {
    const program = words.findLastIndex((word, index) =>
      /^(?:\S*\/)?monitor$/.test(word) && words.slice(0, index).every(isBefore)
    );
    return program < 0 ? [] : [words.slice(program + 1)];
  });
}
