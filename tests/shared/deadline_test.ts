import assert from "node:assert/strict";
import {
  createAbort,
  endsWithin,
  onAbort,
  sleep,
  startDeadline,
  unlessAborted,
} from "../../src/shared/deadline.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";

Deno.test("startDeadline() aborts when time is up, with the given reason", async () => {
  const clock = createFakeClock();
  const late = new Error("late");
  using deadline = startDeadline(clock, 100, new AbortController().signal, late);
  await clock.advance(99);
  assert.equal(deadline.signal.aborted, false);
  await clock.advance(1);
  assert.deepEqual([deadline.signal.reason, deadline.isTimeUp], [late, true]);
});

Deno.test("startDeadline() aborts with the other signal, also if that has aborted before", async () => {
  for (const isBefore of [false, true]) {
    const clock = createFakeClock();
    const outer = new AbortController();
    if (isBefore) outer.abort("reason");
    using deadline = startDeadline(clock, 100, outer.signal);
    if (!isBefore) outer.abort("reason");
    await clock.advance(100);
    assert.deepEqual([deadline.signal.reason, deadline.isTimeUp], ["reason", false]);
  }
});

Deno.test("startDeadline() neither aborts nor keeps a timer after its block", async () => {
  const clock = createFakeClock();
  const outer = new AbortController();
  const deadline = startDeadline(clock, 100, outer.signal);
  deadline[Symbol.dispose]();
  await clock.advance(100);
  outer.abort();
  assert.equal(deadline.signal.aborted, false);
});

Deno.test("sleep() resolves after its delay, or rejects with the signal's reason", async () => {
  const clock = createFakeClock();
  const end = new AbortController();
  const slept = sleep(clock, 100, end.signal);
  await clock.advance(100);
  await slept;
  const aborted = assert.rejects(sleep(clock, 100, end.signal), /reason/);
  end.abort(new Error("reason"));
  await aborted;
  await assert.rejects(sleep(clock, 100, end.signal), /reason/);
});

Deno.test("unlessAborted() resolves or rejects like the promise, or rejects with the signal's reason", async () => {
  const end = new AbortController();
  assert.equal(await unlessAborted(Promise.resolve(1), end.signal), 1);
  await assert.rejects(unlessAborted(Promise.reject(new Error("work")), end.signal), /work/);
  const aborted = assert.rejects(unlessAborted(new Promise(() => {}), end.signal), /reason/);
  end.abort(new Error("reason"));
  await aborted;
});

Deno.test("endsWithin() resolves to whether the promise completed in time, and rejects as it does", async () => {
  const clock = createFakeClock();
  assert.equal(await endsWithin(clock, 100, Promise.resolve()), true);
  await assert.rejects(endsWithin(clock, 100, Promise.reject(new Error("work"))), /work/);
  const { promise, reject } = Promise.withResolvers<void>();
  const late = endsWithin(clock, 100, promise);
  await clock.advance(100);
  assert.equal(await late, false);
  reject(new Error("too late to be of interest"));
});

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
