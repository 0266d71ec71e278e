import assert from "node:assert/strict";
import { LIMIT_FORMS, type LimitFormat, parseLimit } from "../../src/config/parse_limit.ts";

Deno.test("parseLimit() parses numbers, sizes and percentages", async (t) => {
  const accepted: readonly (readonly [LimitFormat, number | string, unknown])[] = [
    ["size_or_percentage", 0, 0],
    ["size_or_percentage", "10 GB", 10e9],
    ["size_or_percentage", " 1.5 gib ", 1.5 * 2 ** 30],
    ["size_or_percentage", "5%", { percent: 5 }],
    ["size_or_percentage", "0.5 %", { percent: 0.5 }],
    ["size_or_percentage", "100%", { percent: 100 }],
    ["count_or_percentage", 10_000, 10_000],
  ];
  for (const [format, value, limit] of accepted) {
    await t.step(`${format} ${value}`, () => assert.deepEqual(parseLimit(value, format), { limit }));
  }
  const rejected: readonly (readonly [LimitFormat, string, string])[] = [
    ["size_or_percentage", "101%", "is more than 100%"],
    ["size_or_percentage", "10G", "is not a limit"],
    ["size_or_percentage", `${"9".repeat(100_000)}%`, "is not a limit"],
    ["count_or_percentage", "10 GB", "is not a limit"],
    ["count_or_percentage", "10", "is not a limit"],
  ];
  for (const [format, value, problem] of rejected) {
    await t.step(`${format} ${value.slice(0, 20)} is rejected`, () => {
      assert.deepEqual(parseLimit(value, format), { problem: `${problem}, expected ${LIMIT_FORMS[format]}` });
    });
  }
});
