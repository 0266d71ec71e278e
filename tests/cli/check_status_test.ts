import assert from "node:assert/strict";
import { describeStatus, statusOf } from "../../src/cli/check_status.ts";
import type { Condition } from "../../src/domain/condition.ts";
import { recordOf, resultOf } from "../storage/records.ts";
import { testCheck } from "../support/checks.ts";

const NOW = Date.UTC(2026, 0, 31, 10);
const MINUTE = 60_000;

interface Seen {
  readonly last: Condition;
  readonly settled: Condition;
  readonly reported: Condition;
  readonly output: string;
  readonly nextRunAtMs?: number;
}

function described({ last, settled, reported, output, nextRunAtMs = NOW + MINUTE }: Seen): string {
  const base = recordOf("web");
  const record = {
    ...base,
    condition: { ...base.condition, settled, reported, observed: last, observedAtMs: NOW - MINUTE },
    last: resultOf({ condition: last, output, startedAtMs: NOW - MINUTE }),
    nextRunAtMs,
  };
  return describeStatus(statusOf(testCheck("ok", { name: "web" }), record, NOW), NOW);
}

Deno.test("describeStatus() says the output, and why that alone would mislead", async (t) => {
  const fine = { last: "ok", settled: "ok", reported: "ok" } as const;
  const rows: readonly (readonly [string, Seen, string | RegExp])[] = [
    ["the output", { ...fine, output: "well" }, "well"],
    ["an output that ends with a colon", { ...fine, output: "these failed:" }, "these failed:"],
    ["no output", { ...fine, output: "" }, ""],
    ["not told", { ...fine, settled: "critical", last: "critical", output: "down" }, "down [not reported]"],
    ["not told, no output", { ...fine, settled: "critical", last: "critical", output: "" }, "[not reported]"],
    ["not settled yet", { ...fine, last: "critical", output: "down" }, /^last critical \(\d of 1\): down$/],
    ["not settled yet, no output", { ...fine, last: "critical", output: "" }, /^last critical \(\d of 1\)$/],
    [
      "overdue, no output",
      { ...fine, output: "", nextRunAtMs: NOW - 60 * MINUTE },
      "not run for 1 min, was ok",
    ],
  ];
  for (const [name, seen, expected] of rows) {
    await t.step(name, () => {
      if (typeof expected === "string") assert.strictEqual(described(seen), expected);
      else assert.match(described(seen), expected);
    });
  }
});
