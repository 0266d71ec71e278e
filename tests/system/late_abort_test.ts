import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { abortLate } from "../../src/system/late_abort.ts";
import { runArguments } from "../../testing/source.ts";
import { inTime } from "../life/in_time.ts";
import { runChild } from "../support/tools.ts";

Deno.test("abortLate() aborts for the reason of the signal that it follows, once all that is ready was handed over", async () => {
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  const first = new AbortController();
  const { signal } = abortLate(first.signal);
  signal.addEventListener("abort", () => resolve());
  first.abort("enough");
  assert.equal(signal.aborted, false);
  await inTime("the abort", aborted);
  assert.equal(signal.reason, "enough");
});

Deno.test("abortLate() has aborted already where the signal has", () => {
  const { signal } = abortLate(AbortSignal.abort("over"));
  assert.equal(signal.reason, "over");
});

Deno.test("abortLate() follows no longer than it is wanted", async () => {
  const first = new AbortController();
  const { signal, stop } = abortLate(first.signal);
  stop();
  first.abort();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(signal.aborted, false);
});

Deno.test("a time limit that falls together with what it waits for leaves nothing open", async () => {
  const program = new URL("../fixtures/meet_time_limits.ts", import.meta.url).pathname;
  const { success, stdout, stderr } = await runChild(Deno.execPath(), [...runArguments(), program]);
  assert.ok(success, stderr);
  const found = JSON.parse(stdout);
  assert.ok(found.answered > 0 && found.late > 0, `both happened: ${JSON.stringify(found)}`);
  assert.equal(found.sockets, found.socketsBefore, JSON.stringify(found));
});
