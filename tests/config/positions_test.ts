import assert from "node:assert/strict";
import fc from "../support/property.ts";
import { createPlacer, positionOf } from "../../src/config/positions.ts";
import type { ConfigPath } from "../../src/config/problem.ts";
import { type JsonValue, parseText } from "../../src/config/syntax.ts";
import { campaign } from "../../testing/seed.ts";

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
