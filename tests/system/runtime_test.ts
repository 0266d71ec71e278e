import assert from "node:assert/strict";
import { createRawTimer } from "../../src/system/runtime.ts";

Deno.test("createRawTimer() has one call, that which was set last", async () => {
  const timer = createRawTimer();
  const called = await new Promise((resolve) => {
    timer.set(0, () => resolve("first"));
    timer.set(1, () => resolve("second"));
  });
  assert.equal(called, "second");
});

Deno.test("createRawTimer() does not call at once for a delay beyond the runtime's range", async () => {
  const timer = createRawTimer();
  for (const delayMs of [2 ** 31, 1e15, Infinity]) {
    timer.set(delayMs, () => assert.fail(`fired for ${delayMs} ms`));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  timer.clear();
});
