import assert from "node:assert/strict";
import type { Check } from "../../src/domain/check.ts";
import { groupCheck, requestCheck, testCheck } from "../support/checks.ts";
import { openFaultyStore } from "../support/faulty_store.ts";
import { silenceOf } from "../state/records.ts";
import { programCheck } from "../support/fake_commands.ts";
import { testRows } from "../support/rows.ts";
import { startHarness } from "../support/scheduler_harness.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

function many(count: number, make: (index: number) => Check): readonly Check[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

Deno.test("new Scheduler() never runs a check twice at a time, and counts the runs it skips", async () => {
  const slow = requestCheck("http://slow/", { name: "slow", regularIntervalMs: SECOND });
  let begun = 0;
  let most = 0;
  const { clock, runs, end } = await startHarness([slow], {
    respond: () => {
      begun++;
      most = Math.max(most, begun - runs().length);
      return { status: 200, afterMs: 3_300 };
    },
  });
  await clock.advance(MINUTE);
  assert.strictEqual(most, 1);
  assert.ok(runs().length >= 14 && runs().length <= 16, `ran ${runs().length} times`);
  assert.strictEqual(runs().at(-1)?.entry.record.missedRuns, 3 * runs().length);
  await end();
});

Deno.test("new Scheduler() limits commands and requests separately, and enforces both limits", async (t) => {
  const limits = { process: 3, network: 5 };
  const interval = { regularIntervalMs: 10 * SECOND };
  const request = (index: number): Check =>
    requestCheck("http://web/", { name: `request ${index}`, ...interval });
  const command = (index: number): Check => programCheck({ name: `command ${index}`, ...interval });
  const rows = {
    "requests that hang delay no command": [50, 2, "command", 5],
    "slow commands delay no request": [2, 50, "request", 3],
  } as const;
  await testRows(t, rows, async ([requests, commands, quick, limit]) => {
    let running = 0;
    const { clock, runs, end } = await startHarness(
      [...many(requests, request), ...many(commands, command)],
      {
        limits,
        respond: () => {
          if (quick === "request") return { status: 200, afterMs: 20 };
          running++;
          return "hang";
        },
        runFakeCommand: () => {
          if (quick === "command") return { condition: "ok", afterMs: 20 };
          running++;
          return { condition: "ok", afterMs: 100 * SECOND };
        },
      },
    );
    await clock.advance(9 * SECOND);
    assert.strictEqual(running, limit);
    await clock.advance(51 * SECOND);
    for (const index of [0, 1]) {
      const own = runs(`${quick} ${index}`);
      assert.ok(own.length >= 5 && own.every(({ lateMs }) => lateMs < 2), `${own.length} runs`);
    }
    await end();
  });
});

Deno.test("reload() counts a run in progress by the new threshold", async () => {
  const check = requestCheck("http://old/", { regularIntervalMs: 10 * SECOND, threshold: 2 });
  const { clock, scheduler, reload, runs, notifications, end } = await startHarness([check], {
    respond: () => ({ status: 500, afterMs: 5 * SECOND }),
  });
  await clock.advance(SECOND);
  assert.deepStrictEqual([scheduler.running, runs().length], [["web"], 0]);
  reload([{ ...check, threshold: 1 }]);
  await clock.advance(5 * SECOND);
  assert.strictEqual(notifications().length, 1);
  await end();
});

Deno.test("reload() discards the run of another target, and follows a new schedule", async () => {
  const checksOf = (host: string, regularIntervalMs: number): readonly Check[] => [
    requestCheck(`http://${host}/`, { regularIntervalMs: 10 * SECOND }),
    requestCheck("http://rare/", { name: "rare", regularIntervalMs }),
  ];
  const { clock, reload, runs, end } = await startHarness(checksOf("old", HOUR), {
    respond: (target) => ({ status: target === "http://old/" ? 500 : 200, afterMs: 5 * SECOND }),
  });
  await clock.advance(11 * SECOND);
  const before = runs("web").length;
  reload(checksOf("new", 10 * SECOND));
  await clock.advance(MINUTE);
  assert.deepEqual([...new Set(runs("web").slice(before).map(({ condition }) => condition))], ["ok"]);
  assert.ok(runs("rare").length >= 5, `ran ${runs("rare").length} times`);
  await end();
});

Deno.test("spread() starts checks that move here, and completes a run of one that leaves", async () => {
  const checks = ["slow", "quick", "other"].map((name) =>
    requestCheck(`http://${name}/`, { name, regularIntervalMs: 10 * SECOND })
  );
  let here: readonly string[] = ["slow", "quick"];
  const { clock, scheduler, runs, end } = await startHarness(checks, {
    runsHere: (name) => here.includes(name),
    respond: (target) => ({ status: 200, afterMs: target === "http://slow/" ? 3 * SECOND : 20 }),
  });
  await clock.advance(20 * SECOND);
  assert.deepEqual([...new Set(runs().map(({ name }) => name))].sort(), ["quick", "slow"]);
  while (!scheduler.running.includes("slow")) await clock.advance(100);
  const before = { slow: runs("slow").length, quick: runs("quick").length };
  here = ["other"];
  scheduler.spread();
  await clock.advance(30 * SECOND);
  assert.strictEqual(runs("slow").length, before.slow + 1);
  assert.strictEqual(runs("quick").length, before.quick);
  assert.ok(runs("other").length >= 3);
  here = ["slow", "quick", "other"];
  scheduler.spread();
  await clock.advance(30 * SECOND);
  assert.ok(runs("slow").length > before.slow + 2);
  await end();
});

Deno.test("new Scheduler() prunes old records step by step, and runs checks in between", async () => {
  const store = await openFaultyStore();
  store.pruneCalls = 5;
  const { clock, runs, end } = await startHarness([testCheck("ok", { regularIntervalMs: SECOND })], {
    store,
  });
  await clock.advance(30 * SECOND);
  assert.strictEqual(store.pruned, 5);
  assert.ok(runs().length >= 29);
  await clock.advance(HOUR);
  assert.strictEqual(store.pruned, 10);
  await end();
});

Deno.test("stop() waits for running checks, terminates slow ones, and keeps their results", async () => {
  const quick = requestCheck("http://quick/", { name: "quick", regularIntervalMs: 10 * SECOND });
  const hanging = requestCheck("http://hang/", {
    name: "hanging",
    regularIntervalMs: 10 * SECOND,
    timeoutMs: 100 * SECOND,
  });
  const { clock, store, scheduler, runs } = await startHarness([quick, hanging], {
    respond: (target) => target === "http://hang/" ? "hang" : { status: 500, afterMs: 2000 },
  });
  await clock.advance(1500);
  let isStopped = false;
  const stopped = scheduler.stop(10 * SECOND).finally(() => isStopped = true);
  await clock.advance(9 * SECOND);
  assert.strictEqual(isStopped, false);
  assert.strictEqual(runs("quick").length, 1);
  await clock.advance(2 * SECOND);
  assert.deepStrictEqual(await stopped, ["hanging"]);
  assert.strictEqual(runs("hanging").length, 0);
  assert.deepStrictEqual((await store.records()).map((record) => record.name), ["quick"]);
  assert.strictEqual((await store.changes("quick", { sinceMs: 0, limit: 9 })).length, 1);
  assert.strictEqual(clock.timers, 0);
});

Deno.test("stop() starts no queued run", async () => {
  const checks = many(3, (index) => programCheck({ name: `command ${index}`, regularIntervalMs: SECOND }));
  const { clock, scheduler, runs } = await startHarness(checks, {
    limits: { process: 1, network: 1 },
    runFakeCommand: () => ({ condition: "ok", afterMs: 5 * SECOND }),
  });
  await clock.advance(SECOND);
  const [running] = scheduler.running;
  const stopped = scheduler.stop(30 * SECOND);
  await clock.advance(30 * SECOND);
  assert.deepStrictEqual(await stopped, [], "what never began is not without a result");
  assert.deepStrictEqual(runs().map(({ name }) => name), [running]);
});

Deno.test("new Scheduler() sends suppressed notifications soon after the suppression, not at the next run", async () => {
  let silentUntilMs = Infinity;
  const { clock, runs, notifications, end } = await startHarness([
    requestCheck("http://web/", { regularIntervalMs: HOUR }),
  ], {
    silences: () => [silenceOf("all", { check: null, fromMs: 0, untilMs: silentUntilMs })],
    respond: () => ({ status: 500, afterMs: 20 }),
  });
  await clock.advance(10 * MINUTE);
  silentUntilMs = clock.wallMs() + 45 * SECOND;
  await clock.advance(44 * SECOND);
  assert.deepStrictEqual(notifications(), []);
  await clock.advance(31 * SECOND);
  const [notification] = notifications();
  assert.deepStrictEqual([notification?.event, notification?.output], [
    "problem",
    "status is 500, expected 200",
  ]);
  assert.strictEqual(notification?.problemBeganAtMs, runs()[0]?.entry.record.condition.problemBeganAtMs);
  assert.ok((notification?.nextRunAtMs ?? 0) > clock.wallMs() + 30 * MINUTE);
  await clock.advance(30 * MINUTE);
  assert.deepStrictEqual([notifications().length, runs().length], [1, 1], "it is sent once");
  await end();
});

Deno.test("Scheduler.isAdvancing is false while a run is overdue", async () => {
  const check = requestCheck("http://a/", { name: "a", regularIntervalMs: 10 * SECOND });
  const { clock, scheduler, end } = await startHarness([check]);
  await clock.advance(MINUTE);
  assert.equal(scheduler.isAdvancing, true);
  clock.freeze(MINUTE);
  assert.equal(scheduler.isAdvancing, false);
  await clock.advance(MINUTE);
  assert.equal(scheduler.isAdvancing, true);
  await end();
});

Deno.test("new Scheduler() runs a group at once when one of its checks changes, and groups of groups", async () => {
  const replicas = ["a", "b", "c"].map((name, index) =>
    requestCheck(`http://${name}/`, { name, regularIntervalMs: (10 + index) * SECOND })
  );
  const slowly = { regularIntervalMs: HOUR };
  const group = groupCheck(["a", "b", "c"], 2, { name: "group", ...slowly });
  const outer = groupCheck(["group"], 1, { name: "outer", ...slowly });
  const failing = new Set<string>();
  const { clock, runs, notifications, end } = await startHarness([outer, group, ...replicas], {
    respond: (target) => ({ status: failing.has(target) ? 500 : 200, afterMs: 20 }),
  });
  await clock.advance(HOUR + MINUTE);
  const last = (name: string): string => `${runs(name).at(-1)?.condition}`;
  assert.deepEqual([last("group"), last("outer")], ["ok", "ok"]);
  const before = runs("group").length;
  await clock.advance(MINUTE);
  assert.strictEqual(runs("group").length, before, "nothing changed");
  failing.add("http://a/");
  await clock.advance(MINUTE);
  assert.deepEqual([last("a"), last("group")], ["critical", "ok"]);
  assert.strictEqual(runs("group").length, before + 1);
  failing.add("http://c/");
  await clock.advance(MINUTE);
  assert.deepEqual([last("group"), last("outer")], ["critical", "critical"]);
  assert.deepEqual(notifications().map(({ check }) => check), ["a", "c", "group", "outer"]);
  failing.clear();
  await clock.advance(MINUTE);
  assert.deepEqual([last("group"), last("outer")], ["ok", "ok"]);
  await end();
});

Deno.test("new Scheduler() runs a group again if one of its checks changes while it runs", async () => {
  const [a, b] = ["a", "b"].map((name) => requestCheck(`http://${name}/`, { name, regularIntervalMs: HOUR }));
  assert.ok(a !== undefined && b !== undefined);
  const group = groupCheck(["a", "b"], 1, { name: "group", regularIntervalMs: HOUR });
  const failing = new Set<string>();
  const waiting: (() => void)[] = [];
  let waits = false;
  const { clock, scheduler, runs, end } = await startHarness([group, a, b], {
    respond: (target) => ({ status: failing.has(target) ? 500 : 200, afterMs: 20 }),
    refresh: () => new Promise((resolve) => waits ? void waiting.push(resolve) : resolve()),
  });
  const run = async (check: string): Promise<void> => {
    scheduler.runNow(check);
    await clock.advance(SECOND);
  };
  const endLast = async (): Promise<void> => {
    waiting.pop()?.();
    await clock.advance(SECOND);
  };
  await clock.advance(HOUR + MINUTE);
  failing.add("http://a/").add("http://b/");
  await run("a");
  waits = true;
  await run("b");
  await endLast();
  assert.deepEqual(scheduler.running, ["group"]);
  failing.delete("http://a/");
  await run("a");
  waits = false;
  await endLast();
  await endLast();
  assert.deepEqual(runs("group").slice(-2).map(({ condition }) => condition), ["critical", "ok"]);
  await end();
});
