import assert from "node:assert/strict";
import fc from "../support/property.ts";
import { parseSize } from "../../src/config/parse_size.ts";
import { describeSize, exactSize, roundedSize } from "../../src/domain/describe_size.ts";

Deno.test("parseSize() parses bytes and units of thousands and of 1024", () => {
  const rows: readonly (readonly [value: number | string, bytes: number])[] = [
    [0, 0],
    [4096, 4096],
    ["10 MB", 10_000_000],
    ["1.5GiB", 1_610_612_736],
    ["7 b", 7],
  ];
  for (const [value, bytes] of rows) assert.deepEqual(parseSize(value), { bytes }, `${value}`);
  const expected = 'expected whole bytes, or text such as "10 MB" or "1.5 GiB"';
  for (const value of ["", "10", "MB", "10 megabytes", "-1 MB", "1 ib", "1e3 B", "10 MB 5 kB"]) {
    assert.deepEqual(parseSize(value), { problem: `is not a size, ${expected}` }, value);
  }
  assert.deepEqual(parseSize("999999 PB"), { problem: `is too large, ${expected}` });
  assert.deepEqual(parseSize(1.5), { problem: `is not a whole number, ${expected}` });
});

Deno.test("describeSize() rounds down", () => {
  const rows: readonly (readonly [bytes: number, text: string])[] = [
    [0, "0 B"],
    [999, "999 B"],
    [1000, "1 kB"],
    [1999, "1.9 kB"],
    [123_999, "123 kB"],
    [2_000_000_000, "2 GB"],
    [3.4e18, "3400 PB"],
  ];
  for (const [bytes, text] of rows) assert.equal(describeSize(bytes), text);
});

Deno.test("roundedSize() rounds to the requested digits", () => {
  assert.deepEqual([123.4e9, 999, 0].map((bytes) => roundedSize(bytes, 3)), ["123 GB", "999 B", "0 B"]);
  assert.equal(roundedSize(9.9999e9, 5), "9.9999 GB");
});

Deno.test("exactSize() prints sizes that parseSize() parses", () => {
  assert.deepEqual([10e9, 10 * 2 ** 30, 1_234_567].map(exactSize), ["10 GB", "10 GiB", "1234.567 kB"]);
  fc.assert(fc.property(fc.nat({ max: 1e14 }), (bytes) => {
    assert.deepEqual(parseSize(exactSize(bytes)), { bytes });
  }));
});
