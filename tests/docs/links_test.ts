import assert from "node:assert/strict";
import { anchorsOf, linksOf, type Page, PROJECT, readPages } from "./pages.ts";
import { loadCommands } from "../../src/cli/command_loaders.ts";
import { parseInvocation, splitCommand } from "../../src/cli/command_definition.ts";

const COMMANDS = await loadCommands();

const PAGES = readPages();

for (const page of PAGES) {
  Deno.test(`every link of ${page.path} leads somewhere`, () => {
    assert.deepEqual(linksOf(page).filter((link) => isBroken(page, link)), []);
  });
}

Deno.test("every file of the project that a page names exists", () => {
  const named = PAGES.flatMap(({ path, prose }) =>
    [...prose.matchAll(/`((?:src|scripts|tests|testing|schemas|examples|bench|docs)\/[\w/.-]+)`/g)]
      .map(([, file = ""]) => ({ path, file }))
  );
  assert.ok(named.length > 50);
  assert.deepEqual(named.filter(({ file }) => !exists(file)), []);
});

Deno.test("each file and symbol that ARCHITECTURE.md names exists", () => {
  const { prose } = PAGES.find(({ path }) => path === "ARCHITECTURE.md") ?? assert.fail();
  const files = ["src", "tests", "testing", "scripts"].flatMap(filesBelow).concat("main.ts", "program.ts");
  const filesAt = (named: string): readonly string[] =>
    files.filter((path) => `/${path}`.endsWith(`/${named}`));
  const named = [...prose.matchAll(/`([\w./-]+\.ts)`/g)].map(([, file = ""]) => file);
  assert.deepEqual(named.filter((file) => filesAt(file).length === 0), []);
  const symbols = [...prose.matchAll(/`(#?\w+)` in `([\w./-]+\.ts)`/g)];
  assert.ok(symbols.length > 25);
  const missing = symbols.filter(([, symbol = "", file = ""]) =>
    !filesAt(file).some((path) => Deno.readTextFileSync(`${PROJECT}${path}`).includes(symbol))
  );
  assert.deepEqual(missing.map(([text]) => text), []);
});

function filesBelow(path: string): readonly string[] {
  if (!Deno.lstatSync(`${PROJECT}${path}`).isDirectory) return [path];
  return [...Deno.readDirSync(`${PROJECT}${path}`)].flatMap(({ name }) => filesBelow(`${path}/${name}`));
}

Deno.test("README.md and docs/README.md link to every page", () => {
  const linked = new Set(
    PAGES.filter(({ path }) => path.endsWith("README.md")).flatMap((page) =>
      linksOf(page).map((link) => withoutDots(page.path.replace(/[^/]*$/, "") + link.replace(/#.*/, "")))
    ),
  );
  const pages = PAGES.map(({ path }) => path).filter((path) => path !== "README.md");
  assert.deepEqual(pages.filter((path) => !linked.has(path)), []);
});

/** URLs of the web are not requested: no test uses a network. */
function isBroken(page: Page, link: string): boolean {
  if (/^https?:/.test(link)) return false;
  const [file = "", anchor] = link.split("#");
  const path = file === "" ? page.path : withoutDots(`${page.path.replace(/[^/]*$/, "")}${file}`);
  const target = PAGES.find((candidate) => candidate.path === path);
  if (anchor !== undefined) return target === undefined || !anchorsOf(target).has(anchor);
  return target === undefined && !exists(path);
}

function withoutDots(path: string): string {
  return new URL(path, "file:///").pathname.slice(1);
}

function exists(path: string): boolean {
  try {
    Deno.statSync(PROJECT + path);
    return true;
  } catch {
    return false;
  }
}

// Every command line of ours in the pages is valid: the command, its options and the number of names.

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
