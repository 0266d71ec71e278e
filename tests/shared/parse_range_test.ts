import assert from "node:assert/strict";
import { describeRange, parseRange, violatesRange } from "../../src/shared/decimal.ts";

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
