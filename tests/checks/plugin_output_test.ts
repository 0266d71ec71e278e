import assert from "node:assert/strict";
import { readPlainOutput, readPluginOutput } from "../../src/checks/script.ts";
import { fieldsOf, type Rows, testRows, testTable } from "../support/rows.ts";
import { evaluateMeasures, type Measure, thresholdWarnings } from "../../src/checks/thresholds.ts";
import type { Thresholds } from "../../src/domain/limits.ts";

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

Deno.test("judgeMeasures() compares a value with the thresholds of both sides", async (t) => {
  const limits: Thresholds = { criticalBelow: 1, warningBelow: 3, warningAbove: 10, criticalAbove: 20 };
  const table = `
    far below                   | 0  | critical: count 0, critical below 1
    at the critical limit below | 1  | warning: count 1, warning below 3
    at the warning limit below  | 3  | ok: count 3
    at the warning limit above  | 10 | ok: count 10
    at the critical limit above | 20 | warning: count 20, warning above 10
    far above                   | 21 | critical: count 21, critical above 20`;
  await testTable(t, table, (_, text, expected) => {
    const measure = { name: "count", value: Number(text), unit: "number", thresholds: limits } as const;
    const { condition, output } = evaluateMeasures([measure]);
    assert.equal(`${condition}: ${output}`, expected);
  });
});

Deno.test("judgeMeasures() writes values so that they differ from the limit that they cross", async (t) => {
  const table = `
    a percentage | value=49.999e9 thresholds.criticalBelow.percent=5 | free 4.9999% (49.999 GB of 1 TB), critical below 5%
    a size       | value=9.9999e9 thresholds.warningBelow=10e9 | free 1% (9.9999 GB of 1 TB), warning below 10 GB
    a size in binary units | value=1e9 thresholds.warningBelow=1073741824 | \
      free 0.1% (1 GB of 1 TB), warning below 1 GiB
    a total of nothing | value=0 total=0 thresholds={} | free 0% (0 B of 0 B)
    seconds      | name=age_max unit=seconds total=null value=90 thresholds.criticalAbove=60 | \
      age max 1 min 30 s, critical above 1 min`;
  await testTable(t, table, (_, fields, output) => {
    const measure = { name: "free", total: 1000e9, unit: "bytes", ...fieldsOf<object>(fields) } as Measure;
    const { total, ...rest } = measure;
    assert.equal(evaluateMeasures([total === null ? rest : measure]).output, output);
  });
});

Deno.test("judgeMeasures() returns the highest severity, and values and thresholds as metrics", () => {
  const { condition, metrics } = evaluateMeasures([
    {
      name: "free",
      value: 300,
      total: 1000,
      unit: "bytes",
      thresholds: { warningBelow: { percent: 40 }, criticalBelow: 200 },
    },
    { name: "age", value: 5, unit: "seconds", thresholds: { criticalAbove: 4 } },
    { name: "load1", value: 0.5, unit: "number", thresholds: {} },
  ]);
  assert.equal(condition, "critical");
  assert.deepEqual(metrics, {
    free_bytes: 300,
    free_percent: 30,
    free_bytes_critical_below: 200,
    free_percent_warning_below: 40,
    age_seconds: 5,
    age_seconds_critical_above: 4,
    load1: 0.5,
  });
});

Deno.test("thresholdWarnings() warns of a warning that is never reached", async (t) => {
  const rows: Rows<[Thresholds, count: number]> = {
    "both below": [{ warningBelow: 5, criticalBelow: 10 }, 1],
    "both above": [{ warningAbove: { percent: 90 }, criticalAbove: { percent: 80 } }, 1],
    "equal": [{ warningAbove: 5, criticalAbove: 5 }, 1],
    "in order": [{ warningBelow: 10, criticalBelow: 5, warningAbove: 20, criticalAbove: 30 }, 0],
    "in different units": [{ warningBelow: 5, criticalBelow: { percent: 10 } }, 0],
  };
  await testRows(t, rows, ([thresholds, count]) => {
    assert.equal([...thresholdWarnings({ free: thresholds })].length, count);
  });
  assert.deepEqual([...thresholdWarnings({ free: { warningBelow: 5, criticalBelow: 10 } })], [{
    path: ["free", "critical_below"],
    message: "critical_below makes the condition critical before warning_below is reached",
  }]);
});
