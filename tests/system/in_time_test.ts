import { createRealClock } from "../../testing/real_clock.ts";
import assert from "node:assert/strict";
import { inTime } from "../../src/system/files.ts";

const clock = createRealClock();

Deno.test("inTime() rejects if there is no response within the timeout", async () => {
  const never = new Promise(() => {});
  await assert.rejects(inTime(never, clock, 20), (error) => {
    assert.ok(error instanceof Deno.errors.TimedOut);
    assert.equal(error.message, "the file system did not respond within 0.02 s");
    return true;
  });
});

Deno.test("inTime() keeps waiting if this process was stalled beyond the timeout", async () => {
  const response = new Promise((resolve) => setTimeout(() => resolve("there"), 30));
  const waiting = inTime(response, clock, 20);
  for (const end = performance.now() + 60; performance.now() < end;);
  assert.equal(await waiting, "there");
});

Deno.test("inTime() passes on a failure, and a timeout of any length", async () => {
  await assert.rejects(inTime(Promise.reject(new Deno.errors.NotFound("gone")), clock), Deno.errors.NotFound);
  assert.equal(await inTime(new Promise((resolve) => setTimeout(() => resolve(1), 5)), clock, 1e15), 1);
});
