import assert from "node:assert/strict";
import { createPrettyOutput, type RecentRuns } from "../../../src/cli/check/service_output.ts";
import type { Condition } from "../../../src/domain/condition.ts";
import { createMemorySink } from "../../../testing/memory_system.ts";
import { testCheck } from "../../support/checks.ts";

const FACTS = { config: "monitor.jsonc", checks: 2, inactive: 1 };
const STARTED = /^monitor [\d.]+ started: 2 checks \(1 inactive\) from monitor\.jsonc, no state\n/;

function printed(columns: number | null, address: string | null, recent: RecentRuns | null = null): string {
  const stdout = createMemorySink(columns);
  const output = createPrettyOutput({ stdout }, { color: false, address, hint: (text) => text });
  output.started(FACTS, { statePath: null, recentRuns: () => recent });
  for (
    const [name, condition] of [["web", "ok"], ["disk", "critical"], ["web", "critical"]] as const satisfies (
      readonly (readonly [string, Condition])[]
    )
  ) {
    const check = testCheck("ok", { name });
    output.happened({
      event: "result",
      result: {
        ...{ check, condition, output: "line 1\u001b[2J", detail: "", metrics: {}, performanceData: "" },
        ...{ startedAtMs: 0, durationMs: 12 },
      },
      // The output of a result is the same whatever was decided.
      entry: null as never,
      lateMs: 0,
    });
  }
  assert.match(stdout.text(), STARTED);
  return stdout.text().replace(STARTED, "");
}

Deno.test("createPrettyOutput() prints the page and the first result of each check on a terminal", () => {
  assert.equal(
    printed(80, "127.0.0.1:9797"),
    "live page: http://127.0.0.1:9797/ (Ctrl-C ends the service)\n" +
      "OK        web  12 ms  line 1\\x1b[2J\n" +
      "CRITICAL  disk  12 ms  line 1\\x1b[2J\n",
  );
});

Deno.test("createPrettyOutput() says why checks that ran recently print nothing yet, on a terminal alone", () => {
  const line = "3 checks ran recently, next run in 4 min 21 s; see: monitor status\n";
  const recent = { checks: 3, nextMs: 261_000 };
  assert.ok(printed(80, "127.0.0.1:9797", recent).includes(`(Ctrl-C ends the service)\n${line}OK  `));
  assert.equal(printed(null, "127.0.0.1:9797", recent), "");
});

Deno.test("createPrettyOutput() names the option for a page, if there is none", () => {
  assert.match(printed(80, null), /^no live page, start it with: --listen 127\.0\.0\.1:9797 /);
  assert.match(printed(80, "127.0.0.1:0"), /^live page at the address above /);
});
