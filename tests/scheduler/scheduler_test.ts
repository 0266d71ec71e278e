import assert from "node:assert/strict";
import type { Check } from "../../src/domain/check.ts";
import { groupCheck, requestCheck } from "../support/checks.ts";
import { programCheck } from "../support/fake_commands.ts";
import { testRows } from "../support/rows.ts";
import { startHarness } from "../support/scheduler_harness.ts";

const SECOND = 1000;
const HOUR = 3_600 * SECOND;

function many(count: number, make: (index: number) => Check): readonly Check[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

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

Deno.test("new Scheduler() runs every check also on a machine that stalls all the time", async () => {
  const checks = many(
    50,
    (index) => requestCheck("http://web/", { name: `check ${index}`, regularIntervalMs: 10 * SECOND }),
  );
  const { clock, runs, end } = await startHarness(checks);
  for (let round = 0; round < 20; round++) {
    clock.freeze(5 * SECOND);
    await clock.advance(100);
  }
  for (const { name } of checks) assert.ok(runs(name).length >= 4, `${name} ran ${runs(name).length} times`);
  await end();
});

Deno.test("reload() discards the run of another target", async () => {
  const check = (host: string) => requestCheck(`http://${host}/`, { regularIntervalMs: 10 * SECOND });
  const { clock, reload, runs, end } = await startHarness([check("old")], {
    respond: (target) => ({ status: target === "http://old/" ? 500 : 200, afterMs: 5 * SECOND }),
  });
  await clock.advance(SECOND);
  reload([check("new")]);
  await clock.advance(60 * SECOND);
  assert.deepEqual([...new Set(runs().map(({ condition }) => condition))], ["ok"]);
  await end();
});

Deno.test("new Scheduler() discards a run during which the system was suspended", async () => {
  const check = requestCheck("http://web/", { regularIntervalMs: 60 * SECOND, timeoutMs: 10 * SECOND });
  let hangs = true;
  const { clock, events, runs, end } = await startHarness([check], {
    respond: () => hangs ? "hang" : { status: 200, afterMs: 1 },
  });
  // Within the first tenth of the interval the check has begun, and it hangs.
  await clock.advance(6_500);
  clock.stepWall(8 * HOUR);
  hangs = false;
  await clock.advance(40 * SECOND);
  const discarded = events.flatMap((event) => event.event === "clock_jumped" ? [event.discarded] : []);
  assert.deepStrictEqual(discarded, [1]);
  assert.deepEqual(runs().map(({ condition }) => condition), ["ok"]);
  await end();
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

Deno.test("Scheduler.isAdvancing is false while a run is overdue", async () => {
  const check = requestCheck("http://a/", { name: "a", regularIntervalMs: 10 * SECOND });
  const { clock, scheduler, end } = await startHarness([check]);
  await clock.advance(60 * SECOND);
  assert.equal(scheduler.isAdvancing, true);
  clock.freeze(60 * SECOND);
  assert.equal(scheduler.isAdvancing, false);
  await clock.advance(60 * SECOND);
  assert.equal(scheduler.isAdvancing, true);
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
  await clock.advance(HOUR + 60 * SECOND);
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
