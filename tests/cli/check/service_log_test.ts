import assert from "node:assert/strict";
import { logSchedulerEvent } from "../../../src/cli/check/service_log.ts";
import { createLog } from "../../../src/cli/create_log.ts";
import type { SchedulerEvent } from "../../../src/scheduler/scheduler.ts";
import { createFakeClock } from "../../../testing/fake_clock.ts";

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
      let text = "";
      const sink = { write: (part: string) => void (text += part), isTerminal: false };
      const log = createLog({ sink: sink as never, clock: createFakeClock(), level: "info", format: "text" });
      logSchedulerEvent(event, log);
      assert.match(text.trimEnd(), line);
    });
  }
});
