import assert from "node:assert/strict";
import fc from "../support/property.ts";
import { compareDecimals, isDecimal, isExactNumber } from "../../src/shared/decimal.ts";
import { testRows } from "../support/rows.ts";

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
