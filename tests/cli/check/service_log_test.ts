import assert from "node:assert/strict";
import { logSchedulerEvent } from "../../../src/cli/check/service_log.ts";
import { createLog } from "../../../src/cli/check/service_output.ts";
import type { SchedulerEvent } from "../../../src/scheduler/scheduler.ts";
import { RecordCache } from "../../../src/state/record_cache.ts";
import { decide } from "../../../src/engine/decide.ts";
import { WITHOUT_CHANNELS } from "../../../src/engine/engine.ts";
import { createFakeClock } from "../../../testing/fake_clock.ts";
import { testCheck } from "../../support/checks.ts";

Deno.test("logSchedulerEvent() logs a failure of this machine in one line, however many checks it affects", async (t) => {
  const rows: readonly (readonly [event: SchedulerEvent, line: RegExp])[] = [
    [
      { event: "stalled", count: 1, highestMs: 2500, name: "web" },
      /warning: stall: discarding the result of "web", running it again for_ms=2500$/,
    ],
    [
      { event: "stalled", count: 300, highestMs: 31_000.4, name: "web" },
      /warning: stall: discarding results, running the checks again count=300 for_ms=31000$/,
    ],
    [
      { event: "late", count: 7, highestMs: 4100, name: "web" },
      /warning: checks started late count=7 lag_max_ms=4100 check=web$/,
    ],
    [
      { event: "clock_jumped", forMs: 60_000, discarded: 3 },
      /warning: system suspended or clock set: running interrupted checks again for_ms=60000 runs=3$/,
    ],
  ];
  for (const [event, line] of rows) {
    await t.step(event.event, () => {
      assert.match(logged([event]), line);
    });
  }
});

Deno.test("logSchedulerEvent() logs each change of a confirmed condition, and nothing of other results", () => {
  const check = testCheck("ok", { name: "web", threshold: 2, recoveryThreshold: 1 });
  let record = new RecordCache([]).get("web", 0);
  const events = (["ok", "critical", "critical", "critical", "ok", "ok"] as const).map((condition, index) => {
    const nowMs = 60_000 * (index + 1);
    const output = `${condition} ${index}\n${"x".repeat(300)}`;
    const result = {
      ...{ check, condition, output, detail: "", metrics: {}, performanceData: "" },
      ...{ startedAtMs: nowMs, durationMs: 0 },
    };
    const situation = { ...WITHOUT_CHANNELS, nowMs, newId: () => "id", hostName: "host" };
    const entry = decide(record, check, situation, {
      result,
      plan: () => ({ atMs: nowMs + 60_000, overdueAtMs: nowMs + 180_000, missed: 0 }),
    });
    record = entry.record;
    return { event: "result", result, entry, lateMs: 0 } as const;
  });
  const lines = logged(events).split("\n").map((line) => line.replace(/^\S+ /, ""));
  const rest = `${"x".repeat(200 - "critical 2 ".length - 1)}…`;
  const restOfOk = `${"x".repeat(200 - "ok 4 ".length - 1)}…`;
  assert.deepEqual(lines, [
    `info: condition changed check=web previous=ok condition=critical output="critical 2 ${rest}"`,
    `info: condition changed check=web previous=critical condition=ok output="ok 4 ${restOfOk}"`,
  ]);
});

function logged(events: readonly SchedulerEvent[]): string {
  let text = "";
  const sink = { write: (part: string) => void (text += part), isTerminal: false };
  const log = createLog({ sink: sink as never, clock: createFakeClock(), level: "info", format: "text" });
  for (const event of events) logSchedulerEvent(event, log);
  return text.trimEnd();
}
