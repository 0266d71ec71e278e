import assert from "node:assert/strict";
import { stripVTControlCharacters } from "node:util";
import { type Colours, createColours } from "../../src/cli/colour.ts";

const NAMES: readonly (keyof Colours)[] = ["bold", "dim", "red", "green", "yellow"];

Deno.test("createColours() leaves texts as they are without colour", () => {
  const colours = createColours(false);
  for (const name of NAMES) assert.equal(colours[name]("text"), "text");
});

Deno.test("createColours() sets each text off in its own way and ends it", () => {
  const colours = createColours(true);
  const painted = NAMES.map((name) => colours[name]("text"));
  assert.equal(new Set(painted).size, NAMES.length);
  for (const text of painted) assert.equal(stripVTControlCharacters(text), "text");
  assert.equal(colours.red("text"), "\u001b[31mtext\u001b[39m");
});

Deno.test("createColours() writes no sequence for an empty text", () => {
  assert.equal(createColours(true).bold(""), "");
});
