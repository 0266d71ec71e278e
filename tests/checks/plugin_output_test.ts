import assert from "node:assert/strict";
import { readPlainOutput, readPluginOutput } from "../../src/checks/script.ts";
import { testRows } from "../support/rows.ts";

Deno.test("readPluginOutput() separates output, detail and performance data", async (t) => {
  const rows = [
    { name: "blank lines only", text: " \n\n", expected: ["", "", ""] },
    { name: "one line", text: "OK: all well\n", expected: ["OK: all well", "", ""] },
    { name: "blank lines before", text: "\n \nOK\nmore", expected: ["OK", "more", ""] },
    { name: "performance data", text: "OK | a=1s;2;3 b=2\n", expected: ["OK", "", "a=1s;2;3 b=2"] },
    { name: "performance data without output", text: "|a=1\n", expected: ["", "", "a=1"] },
    { name: "any text after the first bar", text: "a | b | c\n", expected: ["a", "", "b | c"] },
    { name: "nothing after the bar", text: "OK |\n", expected: ["OK", "", ""] },
    { name: "later lines", text: "OK\none\n  two\n\nthree\n\n", expected: ["OK", "one\n  two\n\nthree", ""] },
    {
      name: "Windows newlines (CRLF)",
      text: "OK |a=1\r\none\r\ntwo\r\n",
      expected: ["OK", "one\ntwo", "a=1"],
    },
    {
      name: "further performance data",
      text: "OK | a=1\none\ntwo | b=2\nc=3 d=4\n",
      expected: ["OK", "one\ntwo", "a=1 b=2 c=3 d=4"],
    },
    {
      name: "quoted labels",
      text: "OK\n| 'C: it''s'=5% 'a=b'=U\n",
      expected: ["OK", "", "'C: it''s'=5% 'a=b'=U"],
    },
    {
      name: "negative and fractional",
      text: "OK\n|a=-1.5;;;0 b=.5 c=+1e3\n",
      expected: ["OK", "", "a=-1.5;;;0 b=.5 c=+1e3"],
    },
    {
      name: "a table is no performance data",
      text: "OK\n| a | b |\n| 1 | 2 |\n",
      expected: ["OK", "| a | b |\n| 1 | 2 |", ""],
    },
    {
      name: "a pipe in a sentence",
      text: "OK\nrun x | grep y=z\n",
      expected: ["OK", "run x | grep y=z", ""],
    },
    {
      name: "text after performance data",
      text: "OK\nx | a=1\nthe end\n",
      expected: ["OK", "x | a=1\nthe end", ""],
    },
  ];
  for (const { name, text, expected: [output, detail, performanceData] } of rows) {
    await t.step(name, () => assert.deepEqual(readPluginOutput(text), { output, detail, performanceData }));
  }
});

Deno.test("readPluginOutput() parses hostile text in linear time", async (t) => {
  // In quadratic time it would take many minutes.
  const long = 1024 * 1024;
  const rows = {
    "carriage returns": { text: `OK\n${"\r".repeat(long)}x` },
    "a long value": { text: `OK\n|a=${"1".repeat(long)}|` },
    "a long label": { text: `OK\n|${"a".repeat(long)}` },
    "a long quoted label": { text: `OK\n|'${"''".repeat(long / 2)}` },
    "much white space": { text: `OK\n|a=1${" ".repeat(long)}b=1${" ".repeat(long)}|` },
  };
  await testRows(t, rows, ({ text }) => {
    const startMs = performance.now();
    readPluginOutput(text);
    assert.ok(performance.now() - startMs < 120_000);
  });
});

Deno.test("readPlainOutput() keeps vertical bars", () => {
  assert.deepEqual(readPlainOutput("\na | b=1\r\nc | d=1\n\n"), {
    output: "a | b=1",
    detail: "c | d=1",
    performanceData: "",
  });
  assert.deepEqual(readPlainOutput(""), { output: "", detail: "", performanceData: "" });
});
