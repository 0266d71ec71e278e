/**
 * No page, help text, schema description or text of the program contains a word of `words.ts`, and no identifier or file
 * name, where `timeLimit` counts as `time limit`. Comments and the names of tests: `code_prose_test.ts`.
 */
import assert from "node:assert/strict";
import { COMMANDS } from "../../src/cli/commands.ts";
import { commandHelp, programHelp } from "../../src/cli/help.ts";
import { PROJECT, readPages } from "./pages.ts";
import { NO_CODE, sourceFiles } from "./source_files.ts";
import { CODE_WORDS, findingsIn, forbid, PHRASES, TEST_WORDS } from "./words.ts";

const IN_CODE = forbid({ ...PHRASES, ...CODE_WORDS });
const IN_TESTS = forbid({ ...PHRASES, ...CODE_WORDS, ...TEST_WORDS });

Deno.test("no page contains a forbidden word", () => {
  assert.deepEqual(readPages().flatMap(({ path, prose }) => findingsIn(path, prose)), []);
});

Deno.test("no help text contains a forbidden word", () => {
  const texts = [
    ["monitor", programHelp(COMMANDS)],
    ...COMMANDS.map((command) => [command.name, commandHelp(command)]),
  ];
  assert.deepEqual(texts.flatMap(([name = "", text = ""]) => findingsIn(name, text)), []);
});

Deno.test("no description in the schema contains a forbidden word", () => {
  const schema = Deno.readTextFileSync(`${PROJECT}schemas/source.json`);
  const descriptions = [...schema.matchAll(/"description": ("(?:[^"\\]|\\.)*")/g)].map(([, text = ""]) =>
    text
  );
  assert.ok(descriptions.length > 100);
  assert.deepEqual(findingsIn("schemas/source.json", descriptions.join("\n")), []);
});

Deno.test("no example file contains a forbidden word", () => {
  const files = filesBelow(`${PROJECT}examples`).filter((path) => !/\.(?:png|gz)$/.test(path));
  assert.ok(files.length > 10);
  const findings = files.flatMap((path) =>
    findingsIn(path.slice(PROJECT.length), Deno.readTextFileSync(path))
  );
  assert.deepEqual(findings, []);
});

Deno.test("no text of the program contains a forbidden word", () => {
  const findings = sourceFiles(`${PROJECT}src`).flatMap((path) =>
    findingsIn(path.slice(PROJECT.length), literalsOf(Deno.readTextFileSync(path)))
  );
  assert.deepEqual(findings, []);
});

Deno.test("no identifier and no file name contains a forbidden word", () => {
  const findings = ["main.ts", "src", "scripts", "bench", "testing", "tests"].flatMap((part) => {
    const forbidden = part.startsWith("test") ? IN_TESTS : IN_CODE;
    const files = part.endsWith(".ts") ? [PROJECT + part] : sourceFiles(PROJECT + part);
    return files.flatMap((path) =>
      findingsIn(path.slice(PROJECT.length), identifiersOf(path, Deno.readTextFileSync(path)), forbidden)
    );
  });
  assert.deepEqual(findings, []);
});

Deno.test("a forbidden word is found", () => {
  assert.deepEqual(
    findingsIn("x", "mend it, whom it concerns"),
    [
      'x: "mend": write fix',
      'x: "whom": write the user, the process, the server',
    ].sort(),
  );
});

/** One line of a terminal, and a little more. */
const MESSAGE_LENGTH_MAX = 100;

Deno.test("no message of the program is longer than 100 characters, except quoted values", () => {
  const findings = sourceFiles(`${PROJECT}src`).filter((path) => !HELP.test(path)).flatMap((path) =>
    literalsOf(Deno.readTextFileSync(path).replaceAll(/(["'`]) \+\s+["'`]/g, "")).split("\n")
      .map((literal) => literal.slice(1, -1).replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, ""))
      .filter((text) => text.length > MESSAGE_LENGTH_MAX && /^[^<>{[%]*$/.test(text))
      .map((text) => `${path.slice(PROJECT.length)}: ${text}`)
  );
  assert.deepEqual(findings, []);
});

/** Help has paragraphs; HTML and SQL are no messages. */
const HELP =
  /src\/cli\/(?:commands\/\w+|command_definition|starter_config)\.ts$|src\/(?:outputs\/html_report\/\w+|state\/(?:tables|sqlite\/\w*statements|postgres\/postgres_\w+))\.ts$/;

/** The words of each identifier in code and of the file's own name, a line each: `timeLimit` is `time limit`. */
function identifiersOf(path: string, source: string): string {
  const code = source.replaceAll(NO_CODE, " ");
  const names = new Set([path.slice(path.lastIndexOf("/")), ...code.match(/[A-Za-z]\w+/g) ?? []]);
  for (const foreign of FOREIGN) names.delete(foreign);
  return [...names].map((name) => name.replaceAll(/(?<=[a-z\d])(?=[A-Z])|[_/.]+/g, " ")).join("\n");
}

/** Names of libraries. */
const FOREIGN: readonly string[] = ["allSettled", "watchFs", "withFragments"];

/** String literals with a blank in them, without comments: texts rather than keys. */
function literalsOf(source: string): string {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/(^|[^:])\/\/.*$/gm, "$1");
  return [...code.matchAll(/"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|'(?:[^'\\\n]|\\.)*'/g)]
    .map(([literal]) => literal).filter((literal) => literal.includes(" ")).join("\n");
}

function filesBelow(directory: string): readonly string[] {
  return [...Deno.readDirSync(directory)].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesBelow(`${directory}/${name}`) : [`${directory}/${name}`]
  );
}
