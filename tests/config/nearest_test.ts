import assert from "node:assert/strict";
import { nearest } from "../../src/config/nearest.ts";

Deno.test("nearest() finds the intended word for a misspelled one", async (t) => {
  const keys = ["title", "active", "threshold", "recovery_threshold", "reminders", "schedule", "status_code"];
  const parameters = ["path", "arguments", "environment", "condition_on_timeout"];
  const kinds = ["test", "script", "file_timestamp", "http_request"];
  const rows: readonly (readonly [word: string, candidates: readonly string[], found: string | undefined])[] =
    [
      ["titel", keys, "title"],
      ["treshold", keys, "threshold"],
      ["recoveryThreshold", keys, "recovery_threshold"],
      ["status", keys, "status_code"],
      ["reminder", keys, "reminders"],
      ["args", parameters, "arguments"],
      ["pth", parameters, "path"],
      ["http", kinds, "http_request"],
      ["tset", kinds, "test"],
      ["knid", ["unit", "kind"], "kind"],
      ["ping", kinds, undefined],
      ["x", keys, undefined],
      ["anything", [], undefined],
      ["a".repeat(101), ["a".repeat(102)], undefined],
      ["get", ["GET", "POST"], "GET"],
    ];
  for (const [word, candidates, found] of rows) {
    await t.step(`${word} → ${found}`, () => {
      assert.equal(nearest(word, candidates), found);
    });
  }
});

Deno.test("nearest() prefers the nearest, and of equals the first", () => {
  assert.equal(nearest("webb", ["web1", "web", "webbs"]), "web1");
  assert.equal(nearest("chek", ["checks", "check"]), "check");
});
