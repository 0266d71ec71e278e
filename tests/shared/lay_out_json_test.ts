import assert from "node:assert/strict";
import { layOutJson } from "../../src/shared/text.ts";

const OPTIONS = { indent: "  ", margin: "", column: 0, newline: "\n" };

Deno.test("layOutJson() wraps long values, level by level", () => {
  const long = "x".repeat(60);
  assert.equal(
    layOutJson({ a: { b: long, c: long }, d: [1] }, { ...OPTIONS, margin: "  ", newline: "\r\n" }),
    `{\r\n    "a": {\r\n      "b": "${long}",\r\n      "c": "${long}"\r\n    },\r\n    "d": [1]\r\n  }`,
  );
});

Deno.test("layOutJson() writes control characters of a text as escapes", () => {
  assert.equal(layOutJson(["\u009b\n"], OPTIONS), '["\\u009b\\n"]');
});
