import assert from "node:assert/strict";
import { searchCapture, searchPattern } from "../../src/checks/body_pattern.ts";
import { START_LENGTH_MAX } from "../../src/checks/http/response_body.ts";
import { testRows } from "../support/rows.ts";

Deno.test("searchPattern() returns the matches of RE2", async (t) => {
  const rows = {
    "none": { pattern: "queue is \\d+ long", text: "the queue is empty", found: false },
    "across lines": { pattern: "one\\s+two", text: "one\n two", found: true },
    "a dot does not match a newline": { pattern: "one.two", text: "one\ntwo", found: false },
    "by default": { pattern: "(?s)one.two", text: "one\ntwo", found: true },
    "the start is the text's": { pattern: "^two", text: "one\ntwo", found: false },
    "or a line's with the m flag": { pattern: "(?m)^two$", text: "one\ntwo\n", found: true },
    "beyond the basic plane": { pattern: "^.\\p{So}$", text: "a🙂", found: true },
  };
  await testRows(t, rows, async ({ pattern, text, found }) => {
    assert.deepEqual(await searchPattern(text, { pattern, isWhole: true }), { found, searchedLength: null });
  });
});

// None of these would terminate with a backtracking engine.
Deno.test("searchPattern() terminates for any pattern and text", async (t) => {
  const length = START_LENGTH_MAX;
  const rows = [
    { pattern: "^(a+)+$", text: `${"a".repeat(length - 1)}!` },
    { pattern: "(?:a?){100}a{100}b", text: "a".repeat(length) },
    { pattern: "(\\w+\\s?)*[^\\w\\s]x", text: "word ".repeat(length / 5) },
  ];
  for (const { pattern, text } of rows) {
    await t.step(pattern, async () => {
      assert.equal((await searchPattern(text, { pattern, isWhole: true })).found, false);
    });
  }
});

Deno.test("searchPattern() searches less text the larger the pattern is, and returns the limit", async (t) => {
  const text = `${"b".repeat(START_LENGTH_MAX - 1)}a`;
  await t.step("a small one", async () => {
    const search = await searchPattern(text, { pattern: "a", isWhole: true });
    assert.deepEqual(search, { found: true, searchedLength: null });
  });
  await t.step("a large one", async () => {
    const { found, searchedLength } = await searchPattern(text, {
      pattern: "[ac](?:d{1,400})?",
      isWhole: true,
    });
    assert.equal(found, false);
    assert.ok(
      searchedLength !== null && searchedLength > 5_000 && searchedLength < 20_000,
      `${searchedLength}`,
    );
  });
});

Deno.test("searchPattern() does not treat a truncation as the end", async () => {
  assert.equal((await searchPattern("aaa", { pattern: "^a+$", isWhole: true })).found, true);
  assert.equal((await searchPattern("aaa", { pattern: "^a+$", isWhole: false })).found, false);
});

Deno.test("searchPattern() finds in a part of a text what is found however the text goes on", async (t) => {
  const rows: readonly (readonly [pattern: string, text: string, found: boolean])[] = [
    ["(?s)a.*", "aaa", true],
    ["[^a]", "aaa", false],
    ["\\x{FFFD}", "aaa", false],
    ["b*$", "aaa", false],
    ["(?m)^aa$", "aa\naa", true],
    ["(?m)^aa$", "ba\naa", false],
    ["err\\b", "err", false],
    ["err\\b", "err in", true],
    ["err\\B", "err", false],
  ];
  for (const [pattern, text, found] of rows) {
    await t.step(`${pattern} in ${JSON.stringify(text)}`, async () => {
      assert.equal((await searchPattern(text, { pattern, isWhole: false })).found, found);
    });
  }
});

Deno.test("searchCapture() captures nothing that the end of the searched part may have ended", async () => {
  const search = (text: string, isWhole: boolean) => searchCapture(text, { pattern: "\\d+", isWhole });
  assert.deepEqual(await search("queue: 12", true), { captured: "12", searchedLength: null });
  assert.deepEqual(await search("queue: 12", false), { captured: null, searchedLength: 9 });
  assert.deepEqual(await search("queue: 12 ", false), { captured: "12", searchedLength: 10 });
});
