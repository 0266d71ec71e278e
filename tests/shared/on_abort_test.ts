import assert from "node:assert/strict";
import { createAbort, onAbort } from "../../src/shared/deadline.ts";

Deno.test("onAbort() calls each remaining listener once, in order", () => {
  const abort = new AbortController();
  const called: string[] = [];
  onAbort(abort.signal, () => called.push("first"));
  const stop = onAbort(abort.signal, () => called.push("second"));
  onAbort(abort.signal, () => called.push("third"));
  stop();
  abort.abort();
  abort.abort();
  assert.deepEqual(called, ["first", "third"]);
});

Deno.test("onAbort() allows a listener to remove another", () => {
  const abort = new AbortController();
  const called: string[] = [];
  onAbort(abort.signal, () => {
    called.push("first");
    stop();
  });
  const stop = onAbort(abort.signal, () => called.push("second"));
  abort.abort();
  assert.deepEqual(called, ["first"]);
});

Deno.test("createAbort() calls all listeners once, with the reason in the signal", () => {
  const abort = createAbort();
  const called: unknown[] = [];
  onAbort(abort.signal, () => called.push(abort.signal.reason));
  onAbort(abort.signal, () => called.push("ended"))();
  abort.signal.addEventListener("abort", () => called.push("event"));
  abort.abort("late");
  abort.abort("later");
  assert.deepEqual(called, ["event", "late"]);
});
