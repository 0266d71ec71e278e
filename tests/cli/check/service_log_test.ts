import assert from "node:assert/strict";
import { describeOutboxEvent, logSchedulerEvent } from "../../../src/cli/check/service_log.ts";
import type { SchedulerEvent } from "../../../src/scheduler/scheduler.ts";
import { RecordCache } from "../../../src/state/record_cache.ts";
import { decide } from "../../../src/engine/decide.ts";
import { WITHOUT_CHANNELS } from "../../../src/engine/engine.ts";
import { createFakeClock } from "../../../testing/fake_clock.ts";
import { testCheck } from "../../support/checks.ts";
import { newQueued } from "../../../src/engine/queued_notifications.ts";
import { makeNotification } from "../../support/channel_delivery.ts";
import { createLog, createPrettyOutput } from "../../../src/cli/check/service_output.ts";
import type { Condition } from "../../../src/domain/condition.ts";
import { createMemorySink } from "../../../testing/memory_system.ts";
import { createSteadySink } from "../../../src/cli/terminal.ts";

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

const CHANNEL = { channelKey: "k", channelName: "webhook a", sequence: 1, nowMs: 0 };

Deno.test("describeOutboxEvent() warns that older problems are only counted", () => {
  assert.deepEqual(
    describeOutboxEvent({
      event: "summarized",
      notifications: [newQueued(makeNotification({ check: "web" }), CHANNEL)],
    }, "retrying"),
    {
      level: "warning",
      message: "too many recovered problems are pending for webhook a: the older ones are only counted",
    },
  );
});

const FACTS = { config: "monitor.jsonc", checks: 2, inactive: 1 };
const STARTED = /^monitor [\d.]+ started: 2 checks \(1 inactive\) from monitor\.jsonc, no state\n/;

function printed(columns: number | null, address: string | null, waits: readonly number[] = []): string {
  const stdout = createMemorySink(columns);
  const output = createPrettyOutput({ stdout }, { color: false, address, hint: (text) => text });
  output.started(FACTS, { statePath: null, waitsMs: () => waits });
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
  const recent = [600_000, 261_000, 300_000];
  assert.ok(printed(80, "127.0.0.1:9797", recent).includes(`(Ctrl-C ends the service)\n${line}OK  `));
  assert.equal(printed(null, "127.0.0.1:9797", recent), "");
});

Deno.test("createPrettyOutput() names the option for a page, if there is none", () => {
  assert.match(printed(80, null), /^no live page, start it with: --listen 127\.0\.0\.1:9797 /);
  assert.match(printed(80, "127.0.0.1:0"), /^live page at the address above /);
});

function harness() {
  const written: string[] = [];
  const troubles: (string | null)[] = [];
  const state = { isFull: false, isLeft: false };
  let closed = false;
  const sink = createSteadySink({
    write: (text) => {
      if (state.isFull) throw new Error("No space left on device");
      if (state.isLeft) closed = true;
      else written.push(text);
    },
    get closed() {
      return closed;
    },
    isTerminal: false,
    columns: () => 80,
  }, (reason) => void troubles.push(reason));
  return { sink, written, troubles, state };
}

Deno.test("createSteadySink() drops lines that cannot be written, and logs the first and the last failure", () => {
  const { sink, written, troubles, state } = harness();
  for (const line of ["one\n", "two\n", "three\n", "four\n", "five\n"]) {
    state.isFull = ["two\n", "three\n"].includes(line);
    sink.write(line);
  }
  assert.deepEqual(troubles, ["No space left on device", null]);
  // The second one may have been written in part.
  assert.deepEqual(written, ["one\n", "\nfour\n", "five\n"]);
});

Deno.test("createSteadySink() logs once that the reader has disconnected", () => {
  const { sink, written, troubles, state } = harness();
  sink.write("one\n");
  state.isLeft = true;
  for (const line of ["two\n", "three\n"]) sink.write(line);
  assert.ok(sink.closed);
  assert.deepEqual([written, troubles], [["one\n"], ["its reader closed it"]]);
});
