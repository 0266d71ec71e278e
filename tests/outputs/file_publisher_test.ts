import { createRealClock } from "../../testing/real_clock.ts";
import assert from "node:assert/strict";
import { FilePublisher, type PublishedFile, publishFile } from "../../src/outputs/file_publisher.ts";
import { StoreError } from "../../src/domain/store.ts";
import { createFiles } from "../../src/system/files.ts";
import { tempDirectory } from "../../testing/builders.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";

/** A publisher with a fake clock; `broken` are paths that cannot be written. */
function createDesk() {
  const clock = createFakeClock();
  const written: string[] = [];
  const writtenMs: number[] = [];
  const said: string[] = [];
  const broken = new Set<string>();
  const replace = (path: string, text: string): Promise<void> => {
    if (broken.has(path)) return Promise.reject(new Error("No space left on device (os error 28), open 'x'"));
    written.push(`${path}: ${text}`);
    writtenMs.push(clock.monotonicMs());
    return Promise.resolve();
  };
  const start = (files: readonly PublishedFile[]) =>
    new FilePublisher(files, {
      system: { clock, files: { ...createFiles(createRealClock()), replace } },
      log: { warning: (text) => void said.push(text), info: (text) => void said.push(text) },
      onBug: (error) => void said.push(`bug: ${error}`),
    });
  return { clock, written, writtenMs, said, broken, start };
}

function fileOf(path: string, intervalMs: number): PublishedFile {
  let count = 0;
  return { what: "the metrics", path, intervalMs, render: () => `${++count}` };
}

Deno.test("FilePublisher writes each file at once and at its interval, until it is stopped", async () => {
  const { clock, written, start } = createDesk();
  const files = start([fileOf("a", 1000), fileOf("b", 2500)]);
  await clock.advance(0);
  assert.deepEqual(written, ["a: 1", "b: 1"]);
  await clock.advance(2600);
  assert.deepEqual(written.slice(2), ["a: 2", "a: 3", "b: 2"]);
  files.end();
  await clock.advance(10_000);
  assert.equal(written.length, 5);
  assert.equal(clock.timers, 0);
});

Deno.test("FilePublisher logs a failure once, and its end, over a reload too", async () => {
  const { clock, written, said, broken, start } = createDesk();
  broken.add("a");
  const files = start([fileOf("a", 1000)]);
  await clock.advance(3500);
  const words = ['cannot write the metrics to "a": no space left on device'];
  assert.deepEqual(said, words);
  files.adopt([fileOf("a", 1000), fileOf("b", 1000)]);
  await clock.advance(1500);
  assert.deepEqual(said, words);
  broken.clear();
  await clock.advance(1000);
  assert.deepEqual(said, [...words, "writing the metrics succeeds again"]);
  assert.ok(written.includes("a: 3") && written.includes("b: 3"));
  files.end();
});

Deno.test("FilePublisher logs a delay, and skips missed writes", async () => {
  const { clock, written, start } = createDesk();
  const files = start([{ ...fileOf("a", 1000), render: (lateMs) => `${lateMs} ms late` }]);
  await clock.advance(1000);
  clock.freeze(5400);
  await clock.advance(2000);
  assert.deepEqual(written.slice(0, 4), ["a: 0 ms late", "a: 0 ms late", "a: 4400 ms late", "a: 0 ms late"]);
  files.end();
});

Deno.test("FilePublisher reports bugs", async () => {
  const { clock, said, start } = createDesk();
  start([{ ...fileOf("a", 1000), render: () => Promise.reject(new TypeError("broken")) }]);
  await clock.advance(100);
  assert.deepEqual(said, ["bug: TypeError: broken"]);
});

Deno.test("FilePublisher writes one file after another, also during a reload", async () => {
  const { clock, written, start } = createDesk();
  const gate = Promise.withResolvers<string>();
  const files = start([{ ...fileOf("a", 1000), render: () => gate.promise }]);
  await clock.advance(0);
  files.adopt([fileOf("a", 1000)]);
  await clock.advance(0);
  assert.deepEqual(written, []);
  gate.resolve("old");
  await clock.advance(0);
  assert.deepEqual(written, ["a: old", "a: 1"]);
  files.end();
});

Deno.test("publishFile() returns the reason why a file cannot be written, or its state cannot be read", async () => {
  await using directory = await tempDirectory();
  const path = `${directory.path}/a`;
  const write = (path: string, render: PublishedFile["render"] = () => "text"): Promise<string | null> =>
    publishFile({ ...fileOf(path, 1), render }, createFiles(createRealClock()));
  assert.equal(await write(path), null);
  const failed = 'cannot write the metrics to "';
  assert.equal(await write(`${path}s/a`), `${failed}${path}s/a": its directory does not exist`);
  const unreadable = () => Promise.reject(new StoreError('cannot read state "s": it is busy', "busy"));
  assert.equal(await write(path, unreadable), `${failed}${path}": cannot read state "s": it is busy`);
});

Deno.test("changed() brings the next writing forward, and many changes bring one", async () => {
  const { clock, writtenMs, start } = createDesk();
  const files = start([fileOf("a", 60_000)]);
  await clock.advance(10_000);
  files.changed();
  await clock.advance(1_000);
  files.changed();
  await clock.advance(1_500);
  assert.deepEqual(writtenMs, [0, 12_000]);
  await clock.advance(120_000);
  assert.deepEqual(writtenMs, [0, 12_000, 72_000, 132_000], "the interval counts from there");
});

Deno.test("changed() delays the next write, however many changes there are", async () => {
  const { clock, writtenMs, start } = createDesk();
  const files = start([fileOf("a", 60_000)]);
  for (let second = 0; second < 20; second++) {
    files.changed();
    await clock.advance(1_000);
  }
  assert.deepEqual(writtenMs, [0, 5_000, 10_000, 15_000, 20_000]);
});

Deno.test("changed() postpones no write, and does nothing after the end", async () => {
  const { clock, writtenMs, start } = createDesk();
  const files = start([fileOf("a", 1_000)]);
  await clock.advance(500);
  files.changed();
  await clock.advance(1_000);
  assert.deepEqual(writtenMs, [0, 1_000]);
  files.end();
  files.changed();
  await clock.advance(100_000);
  assert.deepEqual(writtenMs, [0, 1_000]);
  assert.equal(clock.timers, 0);
});

Deno.test("changed() during a write causes another one, not delayed by one slow write", async () => {
  const { clock, writtenMs, start } = createDesk();
  let held = Promise.withResolvers<string>();
  held.resolve("");
  const files = start([{ ...fileOf("a", 600_000), render: () => held.promise }]);
  await clock.advance(10_000);
  const slow = (): () => void => {
    held = Promise.withResolvers();
    return () => held.resolve("");
  };
  const goOn = slow();
  files.changed();
  await clock.advance(3_000);
  files.changed();
  assert.deepEqual(writtenMs, [0], "it is being written");
  goOn();
  await clock.advance(4_000);
  assert.deepEqual(writtenMs, [0, 13_000]);
  const goOnAgain = slow();
  await clock.advance(2_000);
  files.changed();
  goOnAgain();
  await clock.advance(19_000);
  assert.deepEqual(writtenMs, [0, 13_000, 19_000]);
  await clock.advance(2_000);
  assert.deepEqual(writtenMs, [0, 13_000, 19_000, 39_000], "20 times the second that each of two took");
});
