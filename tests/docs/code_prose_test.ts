/** Comments and the names of tests contain no word of `words.ts`, and docstrings begin with a verb or a noun. */
import assert from "node:assert/strict";
import { PROJECT } from "./pages.ts";
import { commentsOf, sourceFiles, testNamesOf } from "./source_files.ts";
import {
  CODE_WORDS,
  COMMENT_WORDS,
  findingsIn,
  forbid,
  NAME_WORDS,
  ONLY_IN_IDENTIFIERS,
  PHRASES,
  TEST_WORDS,
} from "./words.ts";

const IN_COMMENTS = forbid(Object.fromEntries(
  Object.entries({ ...PHRASES, ...CODE_WORDS, ...TEST_WORDS, ...COMMENT_WORDS })
    .filter(([pattern]) => !ONLY_IN_IDENTIFIERS.includes(pattern)),
));
const IN_NAMES = [...IN_COMMENTS, ...forbid(NAME_WORDS)];

/** Begins of a docstring whose subject is missing. */
const NO_SUBJECT = /^(?:What|Who|Whoever|Whom|Whatever|Nobody|Somebody|Anybody)\b/;

/** Files that contain the words, in order to forbid them. */
const WORD_LISTS = /\/docs\/(?:words|prose_test|code_prose_test)\.ts$/;

Deno.test("no comment contains a forbidden word", () => {
  assert.deepEqual(
    eachFile((path, source) => findingsIn(path, proseOf(commentsOf(source)), IN_COMMENTS)),
    [],
  );
});

Deno.test("every docstring begins with a verb or a noun", () => {
  const findings = eachFile((path, source) =>
    commentsOf(source).filter((text) => NO_SUBJECT.test(text)).map((text) => `${path}: ${text.slice(0, 60)}`)
  );
  assert.deepEqual(findings, []);
});

Deno.test("no test name contains a forbidden word", () => {
  assert.deepEqual(
    eachFile((path, source) =>
      path.startsWith("tests/") ? findingsIn(path, proseOf(testNamesOf(source)), IN_NAMES) : []
    ),
    [],
  );
});

Deno.test("no name of an end-to-end test contains a forbidden word", () => {
  const names = [...Deno.readDirSync(`${PROJECT}tests/specs`)].map(({ name }) => name.replaceAll("_", " "));
  assert.ok(names.length > 40);
  assert.deepEqual(findingsIn("tests/specs", names.join("\n"), IN_NAMES), []);
});

Deno.test("commentsOf() returns the texts of comments, but no string, template or regular expression", () => {
  const source = 'const a = "// b";\n// c\n/** d\n * e */\nconst f = `/* g */`;\nh(/\\/\\*i/); // j\n';
  assert.deepEqual(commentsOf(source), ["c", "d\ne", "j"]);
});

Deno.test("testNamesOf() returns the names of tests, steps and table rows", () => {
  const source =
    'Deno.test("a b", f);\nawait t.step(`c ${d}`, f);\nconst rows = [{ name: "e f" }, { name: "g" }];\n' +
    'Deno.test({ ...needs("h"), name: "i j", fn });\n';
  assert.deepEqual(testNamesOf(source), ["a b", "c ${d}", "e f", "i j"]);
});

function eachFile(findings: (path: string, source: string) => readonly string[]): readonly string[] {
  const files = ["src", "scripts", "bench", "testing", "tests"].flatMap((part) =>
    sourceFiles(PROJECT + part)
  );
  return [`${PROJECT}main.ts`, ...files].filter((path) => !WORD_LISTS.test(path)).flatMap((path) =>
    findings(path.slice(PROJECT.length), Deno.readTextFileSync(path))
  );
}

/** Removes code from texts: quoted in a comment, a link, or the name of a function. */
function proseOf(texts: readonly string[]): string {
  return texts.join("\n").replaceAll(/`[^`\n]*`|\{@\w+ [^}]*\}|\$\{[^}]*\}|\b\w+\(\)/g, "");
}
