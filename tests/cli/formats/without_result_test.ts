import assert from "node:assert/strict";
import type { ShownCondition } from "../../../src/domain/condition.ts";
import { notDueReason } from "../../../src/cli/formats/format.ts";
import { type Rows, testRows } from "../../support/rows.ts";

function shown(name: string, condition: ShownCondition, output = "") {
  return { name, condition, output };
}

Deno.test("notDueReason() names the checks that are not ok, the most urgent first", async (t) => {
  const many = Array.from({ length: 7 }, (_, index) => shown(`c${index}`, "unknown", "never ran"));
  const rows: Rows<[Parameters<typeof notDueReason>[0], string]> = {
    "all ok": [[shown("a", "ok", "fine")], "no check is due"],
    "some": [
      [
        shown("a", "ok"),
        shown("b", "pending", "critical, 1 of 3"),
        shown("c", "unknown"),
        shown("d", "critical", "x\ny"),
      ],
      "no check is due; d is critical: x\\ny; c is unknown; b is pending: critical, 1 of 3",
    ],
    "many": [
      many,
      `no check is due; ${
        many.slice(0, 5).map(({ name }) => `${name} is unknown: never ran`).join("; ")
      }; 2 more are not ok`,
    ],
    "long ones": [
      [shown("n".repeat(500), "warning", "o".repeat(500))],
      `no check is due; ${"n".repeat(59)}… is warning: ${"o".repeat(99)}…`,
    ],
  };
  await testRows(t, rows, ([checks, expected]) => assert.equal(notDueReason(checks), expected));
});
