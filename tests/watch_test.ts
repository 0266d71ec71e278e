import assert from "node:assert/strict";
import type { Check } from "../src/domain/check.ts";
import { type Store, StoreError } from "../src/domain/store.ts";
import { openLedger } from "../src/ledger.ts";
import { startWatch, type Watch, type WatchEvent } from "../src/watch.ts";
import { createMemoryStore } from "../src/storage/memory_store.ts";
import { requestCheck, testCheck } from "./support/checks.ts";
import { createFakeClock, type FakeClock } from "./support/fake_clock.ts";
import { createPlayedSystem, type PlayedAnswer } from "./support/played_targets.ts";

interface Stage {
  readonly clock: FakeClock;
  readonly events: WatchEvent[];
  readonly troubles: (StoreError | null)[];
  readonly watch: Watch;
  /** How often a check had a result. */
  runs(name: string): number;
  watched(checks: readonly Check[]): Parameters<Watch["reload"]>[0];
}

interface StageOptions {
  readonly play?: (target: string, nowMs: number) => PlayedAnswer | "hang";
  readonly store?: Store;
  readonly notifies?: boolean;
}

async function stage(checks: readonly Check[], options: StageOptions = {}): Promise<Stage> {
  const clock = createFakeClock();
  const events: WatchEvent[] = [];
  const troubles: (StoreError | null)[] = [];
  const store = options.store ?? createMemoryStore();
  const ledger = await openLedger({
    store,
    onTrouble: (error) => void troubles.push(error),
    reopen: () => Promise.resolve(createMemoryStore()),
  });
  const watched = (some: readonly Check[]): Parameters<Watch["reload"]>[0] => ({
    checks: some,
    folder: "/",
    redact: (text) => text,
  });
  const watch = startWatch(watched(checks), {
    system: createPlayedSystem(clock, options.play ?? (() => ({ status: 200, afterMs: 20 }))),
    ledger,
    limits: { process: 4, network: 60 },
    notifies: options.notifies ?? true,
    onEvent: (event) => void events.push(event),
    onBug: (error) => {
      throw error;
    },
  });
  const runs = (name: string): number =>
    events.filter((event) => event.event === "result" && event.result.check.name === name).length;
  return { clock, events, troubles, watch, runs, watched };
}

async function end(clock: FakeClock, watch: Watch): Promise<void> {
  const stopped = watch.stop(0);
  await clock.advance(1);
  await stopped;
  assert.strictEqual(clock.timers, 0);
}

const SECOND = 1000;
const MINUTE = 60_000;

Deno.test("startWatch() runs each of 1,000 checks once a second for a minute, never late", async () => {
  const checks = Array.from(
    { length: 1000 },
    (_, index) => testCheck("ok", { name: `check ${index}`, regularIntervalMs: SECOND }),
  );
  const { clock, events, watch } = await stage(checks);
  await clock.advance(MINUTE);
  const counts = new Map<string, number>();
  for (const event of events) {
    if (event.event !== "result") continue;
    counts.set(event.result.check.name, (counts.get(event.result.check.name) ?? 0) + 1);
    assert.ok(event.lateMs < 2, `${event.result.check.name} was ${event.lateMs} ms late`);
  }
  assert.strictEqual(counts.size, 1000);
  for (const [name, count] of counts) assert.ok(count >= 59 && count <= 61, `${name} ran ${count} times`);
  await end(clock, watch);
});

Deno.test("startWatch() never runs a check beside itself, and counts the beats it skips", async () => {
  const slow = requestCheck("http://slow/", { name: "slow", regularIntervalMs: SECOND });
  let running = 0;
  let most = 0;
  const clocked = await stage([slow], {
    play: () => {
      running++;
      most = Math.max(most, running);
      return { status: 200, afterMs: 3_300 };
    },
  });
  const { clock, events, watch } = clocked;
  // Each answer ends a run.
  const ended = (): number => clocked.runs("slow");
  await clock.advance(MINUTE);
  assert.ok(running - ended() <= 1);
  assert.ok(most - ended() <= 1);
  assert.ok(ended() >= 14 && ended() <= 16, `ran ${ended()} times`);
  const last = events.findLast((event) => event.event === "result");
  assert.ok(last?.event === "result" && last.entry.record.missedRuns >= 3 * (ended() - 1));
  await end(clock, watch);
});

Deno.test("startWatch() keeps other checks on time while 50 targets hang", async () => {
  const hanging = Array.from(
    { length: 50 },
    (_, index) => requestCheck("http://hang/", { name: `hanging ${index}`, regularIntervalMs: SECOND }),
  );
  const quick = Array.from(
    { length: 20 },
    (_, index) => requestCheck("http://quick/", { name: `quick ${index}`, regularIntervalMs: 5 * SECOND }),
  );
  const { clock, events, watch, runs } = await stage([...hanging, ...quick], {
    play: (target) => target === "http://hang/" ? "hang" : { status: 200, afterMs: 5 },
  });
  await clock.advance(2 * MINUTE);
  for (const check of quick) assert.ok(runs(check.name) >= 23, `${check.name} ran ${runs(check.name)} times`);
  for (const event of events) {
    if (event.event === "result" && event.result.check.name.startsWith("quick")) assert.ok(event.lateMs < 50);
  }
  await end(clock, watch);
});

Deno.test("startWatch() looks at a problem in the attentive interval, and again regularly when it is over", async () => {
  const check = requestCheck("http://flappy/", {
    regularIntervalMs: 5 * MINUTE,
    attentiveIntervalMs: 10 * SECOND,
    threshold: 3,
  });
  const { clock, events, watch } = await stage([check], {
    play: (_target, nowMs) => ({
      status: nowMs > 20 * MINUTE && nowMs < 30 * MINUTE ? 500 : 200,
      afterMs: 1,
    }),
  });
  await clock.advance(60 * MINUTE);
  const at = (from: number, to: number): number =>
    events.filter((event) =>
      event.event === "result" && event.result.startedAtMs - 1_800_000_000_000 >= from &&
      event.result.startedAtMs - 1_800_000_000_000 < to
    ).length;
  assert.ok(at(0, 20 * MINUTE) <= 6, `${at(0, 20 * MINUTE)} runs before`);
  assert.ok(at(25 * MINUTE, 30 * MINUTE) >= 29, `${at(25 * MINUTE, 30 * MINUTE)} runs during`);
  assert.ok(at(31 * MINUTE, 60 * MINUTE) <= 7, `${at(31 * MINUTE, 60 * MINUTE)} runs after`);
  const told = events.flatMap((event) => event.event === "report" ? [event.report.event] : []);
  assert.deepStrictEqual(told, ["problem", "recovery"]);
  await end(clock, watch);
});

Deno.test("startWatch() discards a run that was under way while the machine slept", async () => {
  const check = requestCheck("http://web/", { regularIntervalMs: MINUTE, timeoutMs: 10_000 });
  let hangs = true;
  const { clock, events, watch, runs } = await stage([check], {
    play: () => hangs ? "hang" : { status: 200, afterMs: 1 },
  });
  await clock.advance(6_500); // within the first tenth of the interval the check has begun, and it hangs
  clock.stepWall(60 * MINUTE);
  hangs = false;
  await clock.advance(30 * SECOND);
  assert.deepStrictEqual(
    events.flatMap((event) => event.event === "slept" ? [event.discarded] : []),
    [1],
  );
  assert.ok(runs("web") >= 1);
  assert.ok(events.every((event) => event.event !== "result" || event.result.condition === "ok"));
  await end(clock, watch);
});

Deno.test("startWatch() keeps the rhythm when the wall clock is set back", async () => {
  const check = testCheck("ok", { regularIntervalMs: 10 * SECOND });
  const { clock, watch, runs } = await stage([check]);
  await clock.advance(MINUTE);
  const before = runs("web");
  clock.stepWall(-60 * MINUTE);
  await clock.advance(MINUTE);
  assert.ok(Math.abs(runs("web") - before - 6) <= 1, `ran ${runs("web") - before} times`);
  await end(clock, watch);
});

Deno.test("reload() keeps what is unchanged, starts what is new and stops what is gone", async () => {
  const kept = testCheck("ok", { name: "kept", regularIntervalMs: 10 * SECOND });
  const gone = testCheck("ok", { name: "gone", regularIntervalMs: 10 * SECOND });
  const added = testCheck("critical", { name: "added", regularIntervalMs: 10 * SECOND });
  const stages = await stage([kept, gone]);
  const { clock, events, watch, runs, watched } = stages;
  await clock.advance(MINUTE);
  const starts = (name: string): number[] =>
    events.flatMap((event) =>
      event.event === "result" && event.result.check.name === name ? [event.result.startedAtMs] : []
    );
  const phase = (starts("kept").at(-1) ?? 0) % (10 * SECOND);
  const goneRuns = runs("gone");
  watch.reload(watched([{ ...kept }, added]));
  await clock.advance(MINUTE);
  assert.strictEqual((starts("kept").at(-1) ?? 0) % (10 * SECOND), phase);
  assert.ok(Math.abs(runs("kept") - 12) <= 1, `ran ${runs("kept")} times`);
  assert.strictEqual(runs("gone"), goneRuns);
  assert.ok(runs("added") >= 6);
  await end(clock, watch);
});

Deno.test("reload() lets a changed check keep its counts", async () => {
  const check = testCheck("critical", { threshold: 5, regularIntervalMs: 10 * SECOND });
  const { clock, events, watch, watched } = await stage([check]);
  await clock.advance(35 * SECOND);
  const reports = (): number => events.filter((event) => event.event === "report").length;
  assert.strictEqual(reports(), 0);
  watch.reload(watched([{ ...check, threshold: 4, recoveryThreshold: 4 }]));
  await clock.advance(10 * SECOND);
  assert.strictEqual(reports(), 1);
  await end(clock, watch);
});

Deno.test("startWatch() commits a settled change before its report, and goes on while the store is full", async () => {
  const memory = createMemoryStore();
  let isFull = false;
  const saved: string[] = [];
  const store: Store = {
    ...memory,
    save: async (updates) => {
      if (isFull) throw new StoreError("Cannot keep: the disk is full", "full");
      await memory.save(updates);
      for (const { change } of updates) if (change !== null) saved.push(`${change.name} ${change.to}`);
    },
  };
  const check = requestCheck("http://web/", { regularIntervalMs: 10 * SECOND, threshold: 2 });
  let status = 200;
  const { clock, events, troubles, watch } = await stage([check], {
    store,
    play: () => ({ status, afterMs: 1 }),
  });
  await clock.advance(MINUTE);
  status = 500;
  isFull = true;
  await clock.advance(MINUTE);
  assert.strictEqual(troubles.length, 1, "the full disk is said once");
  assert.deepStrictEqual(saved, []);
  assert.ok(events.some((event) => event.event === "report" && event.report.event === "problem"));
  isFull = false;
  await clock.advance(MINUTE);
  assert.deepStrictEqual(saved, ["web critical"]);
  assert.strictEqual(troubles.at(-1), null);
  const [record] = await memory.records();
  assert.strictEqual(record?.condition.settled, "critical");
  await end(clock, watch);
});

Deno.test("stop() waits for running checks, ends those that take too long, and keeps what came out", async () => {
  const store = createMemoryStore();
  const quick = requestCheck("http://quick/", { name: "quick", regularIntervalMs: 10 * SECOND });
  const hanging = requestCheck("http://hang/", {
    name: "hanging",
    regularIntervalMs: 10 * SECOND,
    timeoutMs: 100_000,
  });
  const { clock, watch, runs } = await stage([quick, hanging], {
    store,
    play: (target) => target === "http://hang/" ? "hang" : { status: 200, afterMs: 2000 },
  });
  await clock.advance(1500);
  let isStopped = false;
  const stopped = watch.stop(10 * SECOND).then(() => isStopped = true);
  await clock.advance(9 * SECOND);
  assert.strictEqual(isStopped, false);
  assert.strictEqual(runs("quick"), 1);
  await clock.advance(2 * SECOND);
  await stopped;
  assert.strictEqual(runs("hanging"), 0);
  assert.deepStrictEqual((await store.records()).map((record) => record.name), ["quick"]);
  assert.strictEqual(clock.timers, 0);
});

Deno.test("startWatch() holds reports back with --no-notify, and still settles", async () => {
  const { clock, events, watch } = await stage([testCheck("critical", { regularIntervalMs: 10 * SECOND })], {
    notifies: false,
  });
  await clock.advance(MINUTE);
  assert.ok(events.every((event) => event.event !== "report"));
  const last = events.findLast((event) => event.event === "result");
  assert.ok(last?.event === "result" && last.entry.record.condition.settled === "critical");
  await end(clock, watch);
});
