import assert from "node:assert/strict";
import { checkResult, invertResult } from "../../src/domain/check.ts";
import { testRows } from "../support/rows.ts";

Deno.test("invertResult() expects a failure of the target, and nothing from a name that does not resolve", async (t) => {
  const rows = {
    "ok": ["ok", "connected", "critical: connected, expected a failure"],
    "ok without an output": ["ok", "", "critical: expected a failure"],
    "a failure": ["critical", "connection refused", "ok: failed as expected: connection refused"],
    "a warning": ["warning", "status is 500", "ok: failed as expected: status is 500"],
    "unknown": ["unknown", "no permission", "unknown: no permission"],
    "a mistyped host": [
      "critical",
      "resolving nosuch.invalid failed: name does not resolve",
      "unknown: resolving nosuch.invalid failed: name does not resolve",
    ],
    "a mistyped host of ping": [
      "critical",
      "/usr/bin/ping: nosuch.invalid: Name or service not known",
      "unknown: /usr/bin/ping: nosuch.invalid: Name or service not known",
    ],
    "a mistyped host of BusyBox": [
      "critical",
      "ping: bad address 'nosuch.invalid'",
      "unknown: ping: bad address 'nosuch.invalid'",
    ],
  } as const;
  await testRows(t, rows, ([condition, output, expected]) => {
    const inverted = invertResult(checkResult(condition, output));
    assert.equal(`${inverted.condition}: ${inverted.output}`, expected);
  });
});
