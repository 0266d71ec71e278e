import assert from "node:assert/strict";
import fc, { anyCharacter } from "../support/property.ts";
import { type JsonValue, NESTING_MAX, parseText } from "../../src/config/syntax.ts";
import { campaign } from "../../testing/seed.ts";
import { testRows } from "../support/rows.ts";
import { textDamages } from "./damages.ts";
import { createPlacer, positionOf } from "../../src/config/positions.ts";
import { type ConfigPath, describePath, joinProblems, quoteValue } from "../../src/config/problem.ts";

Deno.test("parseText() restores every value from its JSON text", () => {
  fc.assert(
    fc.property(jsonValue(), fc.constantFrom(0, 2, "\t"), (value, indent) => {
      const { value: parsed, problems } = parseText(JSON.stringify(value, null, indent));
      assert.deepEqual(problems, []);
      assert.equal(JSON.stringify(parsed), JSON.stringify(value));
    }),
    { numRuns: campaign(1000) },
  );
});

Deno.test("parseText() accepts of mutilated texts exactly those that JSON.parse() accepts", () => {
  fc.assert(
    fc.property(jsonValue(), textDamages(), (value, mutilate) => {
      const text = mutilate(JSON.stringify(value, null, 1));
      // JSONC adds comments and trailing commas to JSON.
      fc.pre(!/\/|,\s*[}\]]/.test(text));
      const { value: parsed, problems } = parseText(text);
      for (const { offset, message, hint = "a hint" } of problems) {
        assert.ok(offset !== undefined && offset >= 0 && offset <= text.length);
        assert.ok(message.length > 0 && message.length < 300 && hint.length > 0 && !message.endsWith("."));
      }
      const expected = tryParse(text);
      if (expected === undefined) {
        assert.equal(parsed, undefined);
        assert.ok(problems.length > 0);
      } else if (!problems.some(({ message }) => message.includes("too many digits"))) {
        assert.ok(parsed !== undefined, JSON.stringify(problems));
        const isNamedTwice = problems.length > 0;
        // V8 reads the name "\\"" as "\\\\" after it parsed that one before, so escapes are tested above.
        if (!isNamedTwice && !text.includes("\\")) {
          assert.equal(JSON.stringify(parsed), JSON.stringify(expected));
        }
      }
    }),
    { numRuns: campaign(1000) },
  );
});

Deno.test("parseText() ignores comments and trailing commas", () => {
  const trivia = fc.constantFrom(
    " ",
    "\n",
    "\r\n",
    "\t",
    '// a " comment\n',
    "/* } */",
    "/**/",
    "/* \n * a\n */",
    "//\r\n",
  );
  fc.assert(
    fc.property(
      jsonValue(),
      fc.infiniteStream(trivia),
      fc.infiniteStream(fc.boolean()),
      (value, spaces, commas) => {
        const text = JSON.stringify(value);
        const space = () => spaces.next().value;
        const spread = text.replace(/"(?:[^"\\]|\\.)*"|[^"\s{}[\],:]+|[{}[\],:]/g, (token, index: number) => {
          const isClosing = /[}\]]/.test(token) && !/[{[]/.test(text.charAt(index - 1));
          const comma = isClosing && commas.next().value ? `,${space()}` : "";
          return space() + comma + token;
        }) + space();
        const { value: parsed, problems } = parseText(spread);
        assert.deepEqual(problems, []);
        assert.equal(JSON.stringify(parsed), text);
      },
    ),
    { numRuns: campaign(1000) },
  );
});

Deno.test("parseText() returns the syntax error, its position, and the expected token", async (t) => {
  const VALUE =
    "is not a JSON value, expected a string in double quotes, a number, true, false, null, { or [";
  const NAME = "is not a key, expected one in double quotes";
  const QUOTES = 'JSON knows only the straight double quote: "';
  const SPACE = "replace it with a space";
  const YAML = [
    "the text looks like YAML, expected JSON or JSONC",
    "convert it, for example with: yq -o json",
  ] as const;
  const rows: Readonly<Record<string, readonly [offset: number, message: string, hint?: string]>> = {
    " \n\t": [0, "the config is empty, expected an object"],
    "{": [
      1,
      "unexpected end of the config, expected a key in double quotes or }",
      "the config is not closed",
    ],
    '{"a': [1, '"a is an unterminated string, expected " before the end of the line'],
    '{"a":': [5, "unexpected end of the config, expected a value"],
    '{"a":1}}': [7, 'unexpected "}" after the end of the config'],
    "[1,2}": [4, 'unexpected "}", expected a comma or ]'],
    "[1 2]": [3, 'unexpected "2", expected a comma', "put a comma after the value before it"],
    "{a: 1}": [1, `"a" ${NAME}`, 'write "a"'],
    "['a']": [1, `'a' ${VALUE}`, QUOTES],
    "[10s]": [1, `"10s" ${VALUE}`, 'a text needs double quotes: "10s"'],
    "[1.]": [1, '"1." is a number that breaks off, expected a digit after it'],
    "# comment\n{}": [0, `"#" ${VALUE}`, "a comment begins with //"],
    "defaults:\n  threshold: 3\n": [0, ...YAML],
    "# all checks\n\nchecks: # of web\r\n  a: 1\r\n": [0, ...YAML],
    "{} /* *": [3, "this comment is not terminated, expected */"],
    "{\u00a0}": [1, `character U+00A0 ${NAME}`, SPACE],
    "{}\0": [2, "unexpected character U+0000 after the end of the config"],
    '["a\tb"]': [3, "a tab is not allowed in a string, expected the escape \\t"],
    '["C:\\Users"]': [
      4,
      '\\U is not an escape, expected one of \\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX',
      "write \\\\ for a backslash",
    ],
    '["C:\\"]\n': [
      1,
      '"C:\\"] is an unterminated string, expected " before the end of the line',
      'a backslash makes the " after it part of the text: write \\\\ for a backslash',
    ],
    '["\\u00e"]': [2, "\\u00e is not an escape, expected \\u and four hexadecimal digits"],
    [`[${"x".repeat(60)}]`]: [1, `"${"x".repeat(39)}…" ${VALUE}`],
  };
  for (const [text, [offset, message, hint]] of Object.entries(rows)) {
    await t.step(JSON.stringify(text), () => {
      const expected = { path: [], offset, message, ...(hint !== undefined && { hint }) };
      assert.deepEqual(parseText(text), { value: undefined, problems: [expected] });
    });
  }
});

Deno.test("parseText() recovers from missing commas, up to a hundred of them", () => {
  const offsets = (text: string) => parseText(text).problems.map((problem) => problem.offset);
  assert.deepEqual(offsets('{"a":1 "b":[1 2] "c":3}'), [7, 14, 17]);
  assert.deepEqual(offsets('{"a":1 "b":2, c}'), [7, 14]);
  assert.equal(offsets(`[${"1 ".repeat(1000)}]`).length, 101);
});

Deno.test("parseText() returns each duplicate key, and keeps its first value", () => {
  const { value, problems } = parseText('{"a":1,"b":[{"c":1,"c":2}],"a":{"d":3,"d":4},"a":5}');
  assert.equal(JSON.stringify(value), '{"a":1,"b":[{"c":1}]}');
  assert.deepEqual(problems.map(({ path, offset }) => [path, offset]), [
    [["b", 0, "c"], 19],
    [["a"], 27],
    [["a", "d"], 38],
    [["a"], 45],
  ]);
  assert.deepEqual(problems[0], {
    path: ["b", 0, "c"],
    offset: 19,
    message: 'the name "c" is specified more than once in one object',
    hint: "rename or remove one of them",
  });
});

Deno.test("parseText() compares keys after unescaping", () => {
  assert.equal(parseText('{"a":1,"\\u0061":2}').problems.length, 1);
  assert.equal(parseText('{"a":1,"A":2}').problems.length, 0);
  assert.equal(parseText('{"\\u00e4":1,"a\\u0308":2}').problems.length, 0);
});

Deno.test("parseText() parses up to the maximum depth, and no deeper", () => {
  const nest = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  assert.notEqual(parseText(nest(NESTING_MAX)).value, undefined);
  assert.deepEqual(parseText(nest(NESTING_MAX + 1)), {
    value: undefined,
    problems: [{ path: [], offset: NESTING_MAX, message: "the config is nested more than 100 levels deep" }],
  });
});

Deno.test("parseText() rejects numbers that would become others", async (t) => {
  const rows: Readonly<Record<string, number>> = {
    "9007199254740993": 9007199254740992,
    "1e999": Infinity,
    "-1e-999": 0,
    "0.1000000000000000055": 0.1,
  };
  await testRows(t, rows, (read, written) => {
    const { value, problems } = parseText(`[1, ${written}]`);
    assert.equal(value, undefined);
    assert.deepEqual(problems.map(({ offset, message }) => [offset, message]), [
      [4, `"${written}" has too many digits for a number, it would be ${read}`],
    ]);
  });
});

function jsonValue(): fc.Arbitrary<JsonValue> {
  const text = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.constantFrom("", "a", "__proto__", "\ud800", '"', "\\", "\u2028"),
  );
  const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom(null, true, false, 0, -0, 1e300, 5e-324),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.integer(),
      text,
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(text, tie("value"), { maxKeys: 4 }),
    ),
  }));
  return value;
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

Deno.test("positionOf() counts lines that end with LF, CRLF or CR", () => {
  const text = "a\nbc\r\nd\re\n\nf";
  const places = [...text].map((_, offset) => positionOf(text, offset));
  assert.equal(
    places.map(({ line, column }) => `${line}:${column}`).join(" "),
    "1:1 1:2 2:1 2:2 2:3 2:4 3:1 3:2 4:1 4:2 5:1 6:1",
  );
  assert.deepEqual(
    positionOf("ä\u{1f600}x", 3),
    { line: 1, column: 4 },
    "in UTF-16 code units, as editors do",
  );
  assert.deepEqual(positionOf(text, text.length), { line: 6, column: 2 });
  assert.deepEqual(positionOf("", 0), { line: 1, column: 1 });
});

Deno.test("createPlacer() locates keys and values", async (t) => {
  const text = `// "a": 0
{
  "a": { "b": [10, /* , */ { "c": null }], "": "x" }, // "z"
  "\\u0064": true,
  "__proto__": [[]],
  "a": "the second one",
}`;
  const rows: readonly (readonly [path: ConfigPath, at: "name" | "value", found: string])[] = [
    [[], "value", "{\n"],
    [["a"], "name", '"a": {'],
    [["a"], "value", '{ "b"'],
    [["a", "b", 1], "value", '{ "c"'],
    [["a", "b", 1], "name", '{ "c"'],
    [["a", "b", 1, "c"], "value", "null"],
    [["d"], "name", '"\\u0064"'],
    [["__proto__", 0], "value", "[]"],
    [["missing"], "value", "{\n"],
    [["a", "missing", "deeper"], "value", '{ "b"'],
    [["a", "b", 7], "name", '"b": ['],
    [["d", "no object"], "value", "true"],
    [["a", "b", "0"], "value", "[10"],
  ];
  for (const [path, at, found] of rows) {
    await t.step(`${at} of ${JSON.stringify(path)}`, () => {
      const { offset, line, column } = createPlacer(text)({ path, at, message: "" });
      assert.ok(text.startsWith(found, offset), text.slice(offset, offset + 20));
      assert.deepEqual({ line, column }, positionOf(text, offset));
    });
  }
});

Deno.test("createPlacer() locates every value of any text", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 4 }), fc.constantFrom(0, 2), (json, indent) => {
      const { value, problems } = parseText(json);
      fc.pre(value !== undefined && problems.length === 0);
      const text = JSON.stringify(value, null, indent);
      const place = createPlacer(text);
      for (const [path, found] of valuesIn(value ?? null)) {
        const { offset } = place({ path, message: "" });
        const shown = JSON.stringify(found, null, indent);
        const isWhole = indent === 0 || typeof found !== "object" || found === null;
        assert.ok(text.startsWith(isWhole ? shown : shown.charAt(0), offset));
        const name = path.at(-1);
        if (typeof name !== "string") continue;
        assert.ok(text.startsWith(JSON.stringify(name), place({ path, at: "name", message: "" }).offset));
      }
    }),
    { numRuns: campaign(500) },
  );
});

Deno.test("createPlacer() uses the offset of a problem that has one, also in broken text", () => {
  const place = createPlacer("{\n  oops");
  assert.deepEqual(place({ path: [], offset: 4, message: "what", hint: "how" }), {
    path: "",
    message: "what",
    hint: "how",
    line: 2,
    column: 3,
    offset: 4,
  });
});

function* valuesIn(value: JsonValue, path: ConfigPath = []): Generator<readonly [ConfigPath, JsonValue]> {
  yield [path, value];
  if (typeof value !== "object" || value === null) return;
  const isList = Array.isArray(value);
  for (const [name, child] of Object.entries(value)) {
    yield* valuesIn(child, [...path, isList ? Number(name) : name]);
  }
}

Deno.test("describePath() writes a path as people do", async (t) => {
  const rows: readonly (readonly [path: readonly (string | number)[], text: string])[] = [
    [[], ""],
    [["checks", "web", "parameters"], "checks.web.parameters"],
    [["checks", "my site", "notifications", 0, "kind"], 'checks["my site"].notifications[0].kind'],
    [["checks", "X-Frame-Options"], "checks.X-Frame-Options"],
    [["checks", ""], 'checks[""]'],
    [["checks", "8080"], 'checks["8080"]'],
    [["checks", 'a"b'], 'checks["a\\"b"]'],
    [["checks", "\ud800"], 'checks["\ufffd"]'],
    [["checks", "x".repeat(200)], `checks["${"x".repeat(79)}…"]`],
  ];
  for (const [path, text] of rows) {
    await t.step(text.slice(0, 60), () => {
      assert.equal(describePath(path), text);
    });
  }
});

Deno.test("quote() shows a value on one line, shortened, with no half of a character", () => {
  assert.equal(quoteValue("a\nb"), '"a\\nb"');
  assert.equal(quoteValue(`${"x".repeat(78)}\u{1f600}x`), `"${"x".repeat(78)}…"`);
  assert.equal(quoteValue("\udc00"), '"\ufffd"');
  assert.deepEqual([null, true, 1.5, [1], { a: 1 }, undefined].map(quoteValue), [
    "null",
    "true",
    "1.5",
    "a list",
    "an object",
    "undefined",
  ]);
});

Deno.test("joinProblems() drops later problems of a value that an earlier step rejected", () => {
  const first = [{ path: ["a"], message: "first" }, { path: ["a"], message: "first too" }];
  const second = [
    { path: ["a"], message: "consequence" },
    { path: ["a", "b"], message: "of another place" },
    { path: ["c"], at: "name", message: "of a name" } as const,
  ];
  const third = [{ path: ["a", "b"], message: "consequence" }, { path: ["c"], message: "of the value" }];
  assert.deepEqual(joinProblems([first, second, third]).map((problem) => problem.message), [
    "first",
    "first too",
    "of another place",
    "of a name",
    "of the value",
  ]);
  assert.deepEqual(joinProblems([]), []);
});
