import assert from "node:assert/strict";
import { SpanQueue } from "../../../src/outputs/opentelemetry/span_queue.ts";
import type { RecordedRun, RunStep } from "../../../src/scheduler/trace/record_steps.ts";

function runOf(check: string, steps: number): RecordedRun {
  const step: RunStep = {
    ...{ spanId: "00000000000000ab", name: "GET x", isRequest: true, startMs: 0, endMs: 1 },
    ...{ attributes: {}, failure: null },
  };
  return {
    ...{ traceId: "ab".repeat(16), spanId: "ab".repeat(8), check, kind: "test", condition: "ok", output: "" },
    ...{ startedAtMs: 0, durationMs: 1, droppedSteps: 0 },
    steps: Array.from({ length: steps }, () => step),
  };
}

const names = (runs: readonly RecordedRun[]): string => runs.map(({ check }) => check).join("");

Deno.test("first() returns whole runs, and at least one", () => {
  const queue = new SpanQueue();
  for (const [name, steps] of [["a", 2], ["b", 0], ["c", 9], ["d", 0]] as const) {
    queue.receive(runOf(name, steps));
  }
  assert.equal(queue.spans, 15);
  assert.equal(names(queue.first(1)), "a");
  assert.equal(names(queue.first(4)), "ab");
  assert.equal(names(queue.first(15)), "abcd");
  queue.sent(queue.first(4));
  assert.deepEqual([queue.spans, names(queue.first(100))], [11, "cd"]);
});

Deno.test("a full queue drops the oldest runs, also those that are being sent, and counts their spans", () => {
  const queue = new SpanQueue();
  queue.receive(runOf("a", 1));
  const sending = queue.first(512);
  for (let index = 0; index < 4_200; index++) queue.receive(runOf("b", 1));
  assert.ok(queue.spans <= 8_192);
  assert.equal(queue.spans + queue.dropped, 8_402);
  const before = queue.spans;
  queue.sent(sending);
  assert.equal(queue.spans, before);
});
