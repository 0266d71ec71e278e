import { createRealClock } from "../../testing/real_clock.ts";
import assert from "node:assert/strict";
import { FilePublisher, publishFile } from "../../src/outputs/file_publisher.ts";
import { StoreError } from "../../src/domain/store.ts";
import { createFiles } from "../../src/system/files.ts";
import { createFakeClock, type FakeClock } from "../../testing/fake_clock.ts";

Deno.test("changed() brings the next writing forward, and many changes bring one", async () => {
  const { clock, writtenMs, files } = start(60_000);
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
  const { clock, writtenMs, files } = start(60_000);
  for (let second = 0; second < 20; second++) {
    files.changed();
    await clock.advance(1_000);
  }
  assert.deepEqual(writtenMs, [0, 5_000, 10_000, 15_000, 20_000]);
});

Deno.test("changed() postpones no write, and does nothing after the end", async () => {
  const { clock, writtenMs, files } = start(1_000);
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
  const { clock, writtenMs, files, slow } = start(600_000);
  await clock.advance(10_000);
  const goOn = slow();
  files.changed();
  await clock.advance(3_000);
  files.changed();
  assert.deepEqual(writtenMs, [0], "it is under way");
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

Deno.test("publishFile() returns an error if the state cannot be read", async () => {
  const render = (): Promise<string> =>
    Promise.reject(new StoreError('cannot read state "s": it is busy', "busy"));
  assert.equal(
    await publishFile(
      { what: "the HTML report", path: "/p", intervalMs: 1, render },
      createFiles(createRealClock()),
    ),
    'cannot write the HTML report to "/p": cannot read state "s": it is busy',
  );
});

interface Harness {
  readonly clock: FakeClock;
  readonly files: FilePublisher;
  /** When a file was written, since the start. */
  readonly writtenMs: number[];
  /** Delays the next rendering until the returned function is called. */
  slow(): () => void;
}

function start(intervalMs: number): Harness {
  const clock = createFakeClock();
  const writtenMs: number[] = [];
  let held: Promise<void> = Promise.resolve();
  const replace = (): Promise<void> => {
    writtenMs.push(clock.monotonicMs());
    return Promise.resolve();
  };
  const render = async (): Promise<string> => {
    await held;
    held = Promise.resolve();
    return "";
  };
  const files = new FilePublisher([{ what: "the HTML report", path: "/p", intervalMs, render }], {
    system: { clock, files: { ...createFiles(createRealClock()), replace } },
    log: { warning: assert.fail, info: assert.fail },
    onBug: assert.fail,
  });
  return {
    clock,
    files,
    writtenMs,
    slow: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
  };
}
