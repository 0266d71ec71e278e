import assert from "node:assert/strict";
import { startHeartbeat } from "../../src/outputs/heartbeat.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";

Deno.test("startHeartbeat() calls onBug with an unexpected error, from its timer and after a reload", async () => {
  const clock = createFakeClock();
  const bugs: unknown[] = [];
  let isBroken = false;
  const { fail } = assert;
  const system = createMemorySystem();
  const touch = (): Promise<void> => Promise.resolve();
  const config = {
    heartbeat: { intervalMs: 60_000, method: "GET" as const, path: "/alive" },
    redact: String,
  };
  const schedule = startHeartbeat({
    system: { ...system, clock, files: { ...system.files, touch } },
    log: { error: fail, warning: fail, info: fail, debug: fail, notification: fail },
    isWell: () => {
      if (isBroken) throw new TypeError("a bug");
      return true;
    },
    config,
    onBug: (error) => void bugs.push(error),
  });
  await clock.advance(0);
  isBroken = true;
  await clock.advance(60_000);
  assert.equal(bugs.length, 1);
  schedule.adopt(config);
  await clock.advance(0);
  assert.equal(bugs.length, 2);
  schedule.end();
  assert.equal(clock.timers, 0);
});
