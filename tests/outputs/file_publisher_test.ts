import { createRealClock } from "../../testing/real_clock.ts";
import assert from "node:assert/strict";
import { FilePublisher, type PublishedFile, publishFile } from "../../src/outputs/file_publisher.ts";
import { createFiles } from "../../src/system/files.ts";
import { createFakeClock, type FakeClock } from "../../testing/fake_clock.ts";

interface Desk {
  readonly clock: FakeClock;
  /** The written files, as `PATH: TEXT`. */
  readonly written: string[];
  /** The logged lines. */
  readonly said: string[];
  /** Paths that cannot be written. */
  readonly broken: Set<string>;
  start(files: readonly PublishedFile[]): FilePublisher;
}

function createDesk(): Desk {
  const clock = createFakeClock();
  const written: string[] = [];
  const said: string[] = [];
  const broken = new Set<string>();
  const replace = (path: string, text: string): Promise<void> => {
    if (broken.has(path)) return Promise.reject(new Error("No space left on device (os error 28), open 'x'"));
    written.push(`${path}: ${text}`);
    return Promise.resolve();
  };
  return {
    clock,
    written,
    said,
    broken,
    start: (files) =>
      new FilePublisher(files, {
        system: { clock, files: { ...createFiles(createRealClock()), replace } },
        log: { warning: (text) => void said.push(text), info: (text) => void said.push(text) },
        onBug: (error) => void said.push(`bug: ${error}`),
      }),
  };
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
  const render = (): never => {
    throw new TypeError("broken");
  };
  start([{ ...fileOf("a", 1000), render }, fileOf("b", 1000)]).end;
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

Deno.test("publishFile() returns the reason why a file cannot be written", async () => {
  const directory = await Deno.makeTempDir({ prefix: "monitor_kept_" });
  try {
    const write = (path: string): Promise<string | null> =>
      publishFile({ ...fileOf(path, 1), render: () => "text" }, createFiles(createRealClock()));
    assert.equal(await write(`${directory}/a`), null);
    assert.equal(
      await write(`${directory}/none/a`),
      `cannot write the metrics to "${directory}/none/a": its directory does not exist`,
    );
    assert.equal(
      await write(`${directory}/a/b`),
      `cannot write the metrics to "${directory}/a/b": its path leads through something that is not a directory`,
    );
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
