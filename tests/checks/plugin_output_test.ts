import assert from "node:assert/strict";
import { readPlainOutput, readPluginOutput } from "../../src/checks/script.ts";
import { testRows } from "../support/rows.ts";

Deno.test("readPluginOutput() separates output, detail and performance data", async (t) => {
  // Line breaks are slashes.
  const table = `
    blank lines only              ¦  / ¦¦¦
    one line                      ¦ OK: all well/ ¦ OK: all well ¦¦
    blank lines before            ¦ / /OK/more ¦ OK ¦ more ¦
    performance data              ¦ OK | a=1s;2;3 b=2/ ¦ OK ¦¦ a=1s;2;3 b=2
    without output                ¦ |a=1/ ¦¦¦ a=1
    any text after the first bar  ¦ a | b | c/ ¦ a ¦¦ b | c
    nothing after the bar         ¦ OK |/ ¦ OK ¦¦
    later lines                   ¦ OK/one/  two//three// ¦ OK ¦ one/  two//three ¦
    Windows newlines (CRLF)       ¦ OK |a=1\\r/one\\r/two\\r/ ¦ OK ¦ one/two ¦ a=1
    further performance data      ¦ OK | a=1/one/two | b=2/c=3 d=4/ ¦ OK ¦ one/two ¦ a=1 b=2 c=3 d=4
    quoted labels                 ¦ OK/| 'C: it''s'=5% 'a=b'=U/ ¦ OK ¦¦ 'C: it''s'=5% 'a=b'=U
    negative and fractional       ¦ OK/|a=-1.5;;;0 b=.5 c=+1e3/ ¦ OK ¦¦ a=-1.5;;;0 b=.5 c=+1e3
    a table is none               ¦ OK/| a | b |/| 1 | 2 |/ ¦ OK ¦ | a | b |/| 1 | 2 | ¦
    a pipe in a sentence is none  ¦ OK/run x | grep y=z/ ¦ OK ¦ run x | grep y=z ¦
    text after performance data   ¦ OK/x | a=1/the end/ ¦ OK ¦ x | a=1/the end ¦`;
  for (const line of table.trim().split("\n")) {
    const [name = "", text = "", ...expected] = line.split("¦").map((cell) =>
      cell.trim().replaceAll("/", "\n").replaceAll("\\r", "\r")
    );
    const [output, detail, performanceData] = expected;
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
