import assert from "node:assert/strict";
import { createHost, lazyPart } from "../../src/system/deno_system.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import { inTime } from "../../src/system/files.ts";
import { createRawTimer } from "../../src/system/runtime.ts";

Deno.test("createHost() queries a file system once at a time, however many checks request it", async () => {
  const host = createHost();
  const first = host.fileSystem("/");
  assert.strictEqual(host.fileSystem("/"), first);
  assert.notStrictEqual(host.fileSystem("/tmp"), first);
  await Promise.all([first, host.fileSystem("/tmp")]);
  const missing = host.fileSystem("/does/not/exist");
  assert.strictEqual(host.fileSystem("/does/not/exist"), missing);
  await assert.rejects(missing, { code: "ENOENT" });
  const later = host.fileSystem("/");
  assert.notStrictEqual(later, first, "a later run asks again");
  await later;
});

Deno.test("lazyPart() loads a part once, and passes on every argument", async () => {
  let loads = 0;
  const part = lazyPart({ send: "async", explain: "sync" }, () => {
    loads++;
    return Promise.resolve({
      send: (path: string, line: string, options: object) => Promise.resolve({ path, line, options }),
      explain: (error: string, target: string) => `${target}: ${error}`,
    });
  });
  assert.throws(() => part.explain("refused", "example.org"), /never used/);
  const sent = { path: "/run/monitor.sock", line: "run", options: { timeoutMs: 3000 } };
  assert.deepEqual(await part.send(sent.path, sent.line, sent.options), sent);
  assert.deepEqual(await part.send(sent.path, sent.line, sent.options), sent);
  assert.equal(part.explain("refused", "example.org"), "example.org: refused");
  assert.equal(loads, 1);
});

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
