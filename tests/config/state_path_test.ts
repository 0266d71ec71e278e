import assert from "node:assert/strict";
import { findStatePath } from "../../src/config/positions.ts";
import { testRows } from "../support/rows.ts";

Deno.test("findStatePath() finds the state of a config despite errors in its text", async (t) => {
  const rows: Readonly<Record<string, readonly [text: string, path: string | null]>> = {
    "a valid config": ['{ "defaults": {}, "state": "a.sqlite", "checks": {} }', "a.sqlite"],
    "comments": ['{ // "state": "no"\n /* "state": "no" */ "state": "a.sqlite" }', "a.sqlite"],
    "none": ['{ "defaults": {} }', null],
    "another type": ['{ "state": 1, "defaults": {} }', null],
    "a text that contains one": ['{ "title": "{ \\"state\\": \\"no\\" }" }', null],
    "one at the top, after one deeper": ['{ "checks": { "state": "no" }, "state": "a.sqlite" }', "a.sqlite"],
    "a comma that is missing": ['{ "defaults": {} "state": "a.sqlite" }', "a.sqlite"],
    "a text that breaks off": ['{ "state": "a.sqlite", "checks": { "web": {', "a.sqlite"],
    "a brace that is missing": ['{ "defaults": { "state": "a.sqlite" }', "a.sqlite"],
    "a string without its end": ['{ "state": "a.sqlite', null],
    "no JSON": ["state: a.sqlite", null],
  };
  await testRows(t, rows, ([text, path]) => assert.equal(findStatePath(text), path));
});
