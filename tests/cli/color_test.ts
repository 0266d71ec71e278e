import assert from "node:assert/strict";
import { stripVTControlCharacters } from "node:util";
import { type Colors, createColors } from "../../src/cli/color.ts";

const NAMES: readonly (keyof Colors)[] = ["bold", "dim", "red", "green", "yellow"];

Deno.test("createColors() returns texts unchanged without color", () => {
  const colors = createColors(false);
  for (const name of NAMES) assert.equal(colors[name]("text"), "text");
});

Deno.test("createColors() formats each text in its own way and resets afterwards", () => {
  const colors = createColors(true);
  const painted = NAMES.map((name) => colors[name]("text"));
  assert.equal(new Set(painted).size, NAMES.length);
  for (const text of painted) assert.equal(stripVTControlCharacters(text), "text");
  assert.equal(colors.red("text"), "\u001b[31mtext\u001b[39m");
});

Deno.test("createColors() writes no sequence for an empty text", () => {
  assert.equal(createColors(true).bold(""), "");
});
