/**
 * Words that have a usual counterpart in the field, and no other use in this project. They fail as whole words in pages,
 * help, schema descriptions and the texts of the program; some of them also in identifiers.
 */
import assert from "node:assert/strict";
import { COMMANDS } from "../../src/cli/commands.ts";
import { commandHelp, programHelp } from "../../src/cli/help.ts";
import { PROJECT, readPages } from "./pages.ts";

/** The phrase, and what to write instead. */
const PHRASES: Readonly<Record<string, string>> = {
  "anybody|nobody|somebody|whoever|whom": "the user, the process, the server",
  "asked for again|later and later": "retried with exponential backoff",
  "badness|mildest": "severity, lowest severity",
  "baked": "locked-down build",
  "beside": "alongside, in addition to",
  "colour": "color",
  "folders?": "directory",
  "given up|gives? up|giving up": "dropped, drops",
  "held back|holds? back|holding back": "suppressed",
  "licen[c]es?": "license",
  "line ends?": "newline",
  "mend|mends|mended|mending": "fix",
  "mistakes?": "error",
  "settled|settles": "confirmed",
  "sign of life|signs of life": "heartbeat",
  "stands? alone": "cannot be combined",
  "standstill|undisturbed": "stall, stall-safe",
  "time limit": "timeout",
  "times of the calendar": "cron schedule",
  "told|tells": "sent, prints",
  "tried again|try again later": "retried",
  "truthfully": "nothing",
  "twins?": "duplicate",
  "under way": "in progress",
  "wrong usage": "usage error",
};

const FORBIDDEN = Object.entries(PHRASES).map(([pattern, instead]) => ({
  pattern: new RegExp(`\\b(?:${pattern})\\b`, "gi"),
  instead,
}));

Deno.test("no page has a word that the field says otherwise", () => {
  assert.deepEqual(readPages().flatMap(({ path, prose }) => findingsIn(path, prose)), []);
});

Deno.test("no help text has a word that the field says otherwise", () => {
  const texts = [
    ["monitor", programHelp(COMMANDS)],
    ...COMMANDS.map((command) => [command.name, commandHelp(command)]),
  ];
  assert.deepEqual(texts.flatMap(([name = "", text = ""]) => findingsIn(name, text)), []);
});

Deno.test("no description in the schema has a word that the field says otherwise", () => {
  const schema = Deno.readTextFileSync(`${PROJECT}schemas/source.json`);
  const descriptions = [...schema.matchAll(/"description": ("(?:[^"\\]|\\.)*")/g)].map(([, text = ""]) =>
    text
  );
  assert.ok(descriptions.length > 100);
  assert.deepEqual(findingsIn("schemas/source.json", descriptions.join("\n")), []);
});

Deno.test("no text of the program has a word that the field says otherwise", () => {
  const findings = sourceFiles(`${PROJECT}src`).flatMap((path) =>
    findingsIn(path.slice(PROJECT.length), literalsOf(Deno.readTextFileSync(path)))
  );
  assert.deepEqual(findings, []);
});

Deno.test("a word that the field says otherwise is found", () => {
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

Deno.test("no message of the program is longer than 100 characters, quoted values aside", () => {
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
  /src\/cli\/(?:commands\/\w+|command_definition|starter_config)\.ts$|src\/(?:outputs\/html_report\/\w+|state\/(?:tables|\w*statements|postgres\/postgres_\w+))\.ts$/;

function findingsIn(where: string, text: string): readonly string[] {
  return FORBIDDEN.flatMap(({ pattern, instead }) =>
    [...text.matchAll(pattern)].map(([word]) => `${where}: "${word}": write ${instead}`)
  ).sort();
}

/** String literals with a blank in them, without comments: texts rather than keys. */
function literalsOf(source: string): string {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/(^|[^:])\/\/.*$/gm, "$1");
  return [...code.matchAll(/"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|'(?:[^'\\\n]|\\.)*'/g)]
    .map(([literal]) => literal).filter((literal) => literal.includes(" ")).join("\n");
}

function sourceFiles(directory: string): readonly string[] {
  return [...Deno.readDirSync(directory)].flatMap(({ name, isDirectory }) => {
    const path = `${directory}/${name}`;
    if (isDirectory) return name === "generated" ? [] : sourceFiles(path);
    return name.endsWith(".ts") ? [path] : [];
  });
}
