import assert from "node:assert/strict";
import fc from "../support/property.ts";
import {
  formatPerformanceDatum,
  parsePerformanceData,
  type PerformanceDatum,
  plainNumber,
} from "../../src/shared/performance_data.ts";
import { HUGE_TEXTS } from "../cli/formats/hostile_records.ts";
import { anyText } from "../cli/formats/records.ts";
import { testTable } from "../support/rows.ts";

Deno.test("parsePerformanceData() parses the format of the guidelines", async (t) => {
  const table = `
    nothing           |                                    |
    a quoted label    | 'disk used'=5%                     | 'disk used'=5%
    units             | a=1s b=1ms c=1us d=1% e=1B f=1KB g=1c | 'a'=1s 'b'=1ms 'c'=1us 'd'=1% 'e'=1B 'f'=1KB 'g'=1c
    an unknown value  | a=U;1;2                            | 'a'=U;1;2
    ranges            | a=1;10:20;@~:5;0;99 b=1;:5;5:      | 'a'=1;10:20;@~:5;0;99 'b'=1;:5;5:
    many spaces and lines | a=1   b=2⏎c=3                  | 'a'=1 'b'=2 'c'=3
    check_disk        | /=2643MB;5948;5958;0;5968          | '/'=2643MB;5948;5958;0;5968`;
  await testTable(t, table, (_, text, expected) => {
    const data = parsePerformanceData(text.replace("⏎", "\n"));
    assert.equal(data.map(formatPerformanceDatum).join(" "), expected);
  });
  assert.deepEqual(parsePerformanceData("'a b'=1.5ms;2"), [datum("a b", "1.5", "ms", ["2"])]);
});

Deno.test("parsePerformanceData() skips only invalid values", async (t) => {
  const cases: readonly (readonly [name: string, item: string])[] = [
    ["no value", "x="],
    ["an equals sign in a label", "'a=b'=1"],
    ["a quote in a bare label", "it's=1"],
    ["a quote that does not close", "'x=1"],
    ["an exponent", "x=1e5"],
    ["too many limits", "x=1;2;3;4;5;6"],
    ["a minimum that is a range", "x=1;;;1:2"],
    ["a control character in a unit", "x=1\u0007"],
    ["an endless label", `${"x".repeat(300)}=1`],
  ];
  for (const [name, item] of cases) {
    await t.step(name, () => {
      assert.deepEqual(parsePerformanceData(`before=1 ${item} after=2`), [
        datum("before", "1"),
        datum("after", "2"),
      ]);
    });
  }
});

Deno.test("formatPerformanceDatum() quotes the label and writes the limits", () => {
  assert.equal(formatPerformanceDatum(datum("it's", "1.5", "ms", ["", "@1:2"])), "'it''s'=1.5ms;;@1:2");
  assert.equal(formatPerformanceDatum(datum("a", "U")), "'a'=U");
});

Deno.test("formatPerformanceDatum() prints values that parsePerformanceData() parses", () => {
  fc.assert(fc.property(anyText(), (text) => {
    const data = parsePerformanceData(text);
    assert.deepEqual(parsePerformanceData(data.map(formatPerformanceDatum).join(" ")), data);
  }));
  const label = anyText().filter((text) => text !== "" && text.length < 100 && !text.includes("="));
  fc.assert(fc.property(label, fc.double({ noNaN: true, noDefaultInfinity: true }), (text, value) => {
    const item = datum(text, plainNumber(value).slice(0, 40), "ms", ["1:2"]);
    assert.deepEqual(parsePerformanceData(formatPerformanceDatum(item)), [item]);
  }));
});

Deno.test("parsePerformanceData() is fast for huge texts", async (t) => {
  for (const [name, text] of HUGE_TEXTS) {
    await t.step(name, () => {
      const expected = name === "a huge text of equal labels" ? text.length / 4 : 0;
      assert.equal(parsePerformanceData(text).length, expected);
    });
  }
});

Deno.test("plainNumber() prints only digits, sign and point", async (t) => {
  const cases: readonly (readonly [value: number, expected: string])[] = [
    [0, "0"],
    [-0, "0"],
    [0.1 + 0.2, "0.3"],
    [1e-7, "0"],
    [-1e-7, "0"],
    [1e21, "1000000000000000000000"],
  ];
  for (const [value, expected] of cases) {
    await t.step(String(value), () => assert.equal(plainNumber(value), expected));
  }
  fc.assert(fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
    assert.match(plainNumber(value), /^-?\d+(\.\d+)?$/);
    assert.ok(Math.abs(Number(plainNumber(value)) - value) <= 5e-7 + Math.abs(value) * 1e-15);
  }));
});

function datum(label: string, value: string, unit = "", limits: readonly string[] = []): PerformanceDatum {
  return { label, value, unit, limits };
}
