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
import { testRows, testTable } from "../support/rows.ts";
import {
  compareDecimals,
  describeRange,
  isDecimal,
  isExactNumber,
  parseRange,
  violatesRange,
} from "../../src/shared/decimal.ts";

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

Deno.test("parseRange() parses the ranges of Monitoring Plugins", async (t) => {
  const rows: readonly (readonly [text: string, fine: readonly string[], problems: readonly string[]])[] = [
    ["10", ["0", "5", "10", "1e1", "10.", "+10", "-0"], ["-1", "11", "10.000000000000000001", "1e2"]],
    ["10:", ["10", "1e9"], ["9", "-1e999"]],
    ["~:10", ["10", "-1e9"], ["11"]],
    ["10:20", ["10", "20"], ["9.99", "20.01"]],
    ["-5:-1.5", ["-5", "-1.5"], ["-6", "0"]],
    ["@10:20", ["9", "21"], ["10", "20"]],
    ["@5", ["-1", "6"], ["0", "5"]],
    [":7", ["0", "7", ".5"], ["-1", "8"]],
    [".5:5.", [".5", "5"], [".49", "5.1"]],
    ["9007199254740992", ["9007199254740992"], ["9007199254740993", "9007199254740992.5"]],
    ["~:-9007199254740993", ["-9007199254740993"], ["-9007199254740992"]],
  ];
  for (const [text, fine, problems] of rows) {
    await t.step(text, () => {
      const range = parseRange(text);
      assert.ok(range !== null);
      for (const value of fine) assert.equal(violatesRange(value, range), false, `${value}`);
      for (const value of problems) assert.equal(violatesRange(value, range), true, `${value}`);
      assert.match(describeRange(range), text.startsWith("@") ? /^within [^@]/ : /^outside /);
    });
  }
  for (
    const text of [
      "",
      "@",
      "ten",
      "20:10",
      "9007199254740993:9007199254740992",
      "1:2:3",
      "~",
      "1 2",
      "1e3",
      " 5",
    ]
  ) {
    await t.step(`not ${JSON.stringify(text)}`, () => assert.equal(parseRange(text), null));
  }
});

Deno.test("isExactNumber() returns whether the runtime keeps every digit", async (t) => {
  const rows: Readonly<Record<string, boolean>> = {
    "0.1": true,
    "1.50": true,
    "0e999999999999": true,
    "0.30000000000000004": true,
    "9007199254740992": true,
    "9007199254740993": false,
    "0.1000000000000000055": false,
    "1e400": false,
  };
  await testRows(t, rows, (isExact, written) => assert.equal(isExactNumber(written), isExact));
  fc.assert(fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
    assert.equal(isExactNumber(String(number)), true);
  }));
});

Deno.test("compareDecimals() rejects texts that are no numbers", async (t) => {
  for (const text of ["", "U", ".", "-", "1e", "1.2.3", "0x1"]) {
    await t.step(text, () => {
      assert.throws(() => compareDecimals(text, "1"), RangeError);
      assert.throws(() => compareDecimals("0", text), RangeError);
      assert.equal(isDecimal(text), false);
    });
  }
  assert.deepEqual(["+1", "1.", ".5", "-1E+2"].map(isDecimal), [true, true, true, true]);
});

Deno.test("compareDecimals() orders as the numbers do", () => {
  const decimal = fc.tuple(fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }), fc.nat(20));
  const write = ([digits, places]: readonly [bigint, number]): string => {
    const text = String(digits < 0n ? -digits : digits).padStart(places + 1, "0");
    const point = text.length - places;
    const fraction = places === 0 ? "" : `.${text.slice(point)}`;
    return `${digits < 0n ? "-" : ""}${text.slice(0, point)}${fraction}`;
  };
  fc.assert(fc.property(decimal, decimal, (one, other) => {
    const [first, second] = [one[0] * 10n ** BigInt(other[1]), other[0] * 10n ** BigInt(one[1])];
    const expected = first < second ? -1 : first > second ? 1 : 0;
    assert.equal(Math.sign(compareDecimals(write(one), write(other))), expected);
    assert.equal(Math.sign(compareDecimals(`${write(one)}e400`, `${write(other)}E+400`)), expected);
  }));
});
