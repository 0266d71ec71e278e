import assert from "node:assert/strict";
import { durationViolation } from "../../../src/checks/http/exchange.ts";

Deno.test("durationViolation() permits a duration that is equal to its limit", () => {
  const expected = { statusCode: null, headers: {}, warningDurationMs: 1000, criticalDurationMs: 2000 };
  const verdictOf = (durationMs: number): boolean | null =>
    durationViolation(durationMs, expected)?.isWarning ?? null;
  assert.deepEqual([1000, 1000.1, 2000, 2000.1].map(verdictOf), [null, true, true, false]);
});
