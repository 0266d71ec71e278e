/** The loop and time: restarts, clocks that are set, suspension, and stalls. */
import assert from "node:assert/strict";
import type { Check } from "../../src/domain/check.ts";
import { openInMemoryStore } from "../../src/state/sqlite/in_memory_store.ts";
import { requestCheck, testCheck } from "../support/checks.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { assertRate, assertSpread } from "../support/rates.ts";
import { type SchedulerHarness, startHarness } from "../support/scheduler_harness.ts";
import { campaign } from "../../testing/seed.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const NOW = Date.UTC(2026, 0, 31, 10);

function many(count: number, make: (index: number) => Check): readonly Check[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

Deno.test("new Scheduler() continues every plan after a restart", async (t) => {
  const rows = [
    { name: "regular checks", condition: "ok", intervalMs: MINUTE },
    { name: "failing checks", condition: "critical", intervalMs: 40 * SECOND },
  ] as const;
  for (const { name, condition, intervalMs } of rows) {
    await t.step(name, async () => {
      const checks = many(
        20,
        (index) =>
          testCheck(condition, {
            name: `check ${index}`,
            regularIntervalMs: MINUTE,
            attentiveIntervalMs: 40 * SECOND,
          }),
      );
      const clock = createFakeClock(NOW);
      const store = await openInMemoryStore();
      const first = await startHarness(checks, { clock, store });
      await clock.advance(10 * MINUTE + 8 * SECOND);
      await first.end();
      const planned = new Map((await store.records()).map((record) => [record.name, record.nextRunAtMs]));
      // So short a pause that nothing is overdue for most.
      await clock.advance(2 * SECOND);
      const restartMs = clock.wallMs();
      const second = await startHarness(checks, { clock, store });
      await clock.advance(10 * MINUTE);
      for (const { name: check } of checks) {
        const [firstMs = 0] = second.starts(check);
        const plannedMs = planned.get(check) ?? 0;
        if (plannedMs > restartMs) assert.strictEqual(firstMs, plannedMs, check);
        else assert.ok(firstMs < restartMs + 0.05 * intervalMs, check);
        const splays = [...first.starts(check).slice(2), ...second.starts(check).slice(1)].map((ms) =>
          ms % intervalMs
        );
        if (condition === "ok" || plannedMs > restartMs) {
          assert.strictEqual(new Set(splays).size, 1, `${check} runs at ${[...new Set(splays)].join(", ")}`);
        }
      }
      await second.end();
    });
  }
});

Deno.test("new Scheduler() runs overdue checks first, then those that never ran, the rest as planned", async () => {
  const make = (name: string, regularIntervalMs: number): readonly Check[] =>
    many(100, (index) => testCheck("ok", { name: `${name} ${index}`, regularIntervalMs }));
  const clock = createFakeClock(NOW);
  const store = await openInMemoryStore();
  const known = [...make("overdue", 10 * MINUTE), ...make("planned", 100 * HOUR)];
  const before = await startHarness(known, { clock, store });
  await clock.advance(20 * MINUTE);
  await before.end();
  await clock.advance(HOUR);
  const startMs = clock.wallMs();
  const { runs, end } = await startHarness([...make("new", 10 * MINUTE), ...known], { clock, store });
  await clock.advance(10 * SECOND);
  const order = runs().map(({ name }) => name.split(" ")[0]);
  assert.deepStrictEqual(order.slice(0, 100), Array(100).fill("overdue"));
  assert.deepStrictEqual(order.slice(100), Array(100).fill("new"));
  const overdue = runs().slice(0, 100).map(({ startedAtMs }) => startedAtMs - startMs);
  assertSpread(overdue, { withinMs: 3 * SECOND, count: 100 });
  await end();
});

Deno.test("new Scheduler() spreads many overdue checks over three seconds", async () => {
  const count = campaign(10_000);
  const checks = many(
    count,
    (index) => testCheck("ok", { name: `check ${index}`, regularIntervalMs: HOUR }),
  );
  const clock = createFakeClock(NOW);
  const store = await openInMemoryStore();
  const before = await startHarness(checks, { clock, store });
  await clock.advance(10 * SECOND);
  await before.end();
  await clock.advance(3 * HOUR);
  const startMs = clock.wallMs();
  const { runs, end } = await startHarness(checks, { clock, store });
  await clock.advance(3 * SECOND);
  assertSpread(runs().map(({ startedAtMs }) => startedAtMs - startMs), {
    withinMs: 3 * SECOND,
    count,
  });
  assert.strictEqual(runs().length, count);
  await end();
});

Deno.test("new Scheduler() keeps its plans if recorded times lie in the future, since the clock was set back", async () => {
  const clock = createFakeClock(NOW);
  const store = await openInMemoryStore();
  const check = testCheck("ok", { regularIntervalMs: MINUTE });
  const before = await startHarness([check], { clock, store });
  await clock.advance(10 * MINUTE);
  await before.end();
  clock.stepWall(-24 * HOUR);
  const { starts, end } = await startHarness([check], { clock, store });
  await clock.advance(10 * MINUTE);
  assert.ok(starts("web").length >= 9, `ran ${starts("web").length} times`);
  assertRate(starts("web"), MINUTE);
  await end();
});

/** Starts some checks of an interval with slow responses, and runs them for a minute. */
async function startSteady(
  intervalMs: number,
): Promise<SchedulerHarness & { readonly names: readonly string[] }> {
  const checks = many(6, (index) =>
    requestCheck("http://web/", {
      name: `check ${index}`,
      regularIntervalMs: intervalMs,
    }));
  const harness = await startHarness(checks, {
    clock: createFakeClock(NOW),
    respond: () => ({ status: 200, afterMs: 300 }),
  });
  await harness.clock.advance(10 * intervalMs);
  return { ...harness, names: checks.map(({ name }) => name) };
}

Deno.test("new Scheduler() keeps its rate when the wall clock is set", async (t) => {
  for (const intervalMs of [SECOND, 10 * SECOND, 5 * MINUTE]) {
    for (
      const stepMs of [-48 * HOUR, -10 * SECOND, -3 * SECOND, -150, 150, 3 * SECOND, 10 * SECOND, 48 * HOUR]
    ) {
      await t.step(`by ${stepMs} ms, with an interval of ${intervalMs} ms`, async () => {
        const { clock, starts, names, end } = await startSteady(intervalMs);
        const steppedMs = clock.monotonicMs();
        clock.stepWall(stepMs);
        await clock.advance(40 * SECOND + 10 * intervalMs);
        assert.ok(clock.monotonicMs() > steppedMs);
        for (const name of names) {
          const since = starts(name).slice(12);
          assert.ok(since.length >= 5, `${name} ran ${since.length} times`);
          const last = since.slice(-4);
          assertRate(last, intervalMs);
          // Each run ended before the next began, also around the step: the clock that counts is the other one.
          assert.strictEqual(new Set(last.map((ms) => ms % intervalMs)).size, 1);
        }
        await end();
      });
    }
  }
});

Deno.test("new Scheduler() never runs a check twice at a time when the clock is set, at any moment", async () => {
  for (let offsetMs = 0; offsetMs < 1000; offsetMs += 231) {
    for (const stepMs of [-HOUR, -3 * SECOND, 3 * SECOND, HOUR]) {
      const check = requestCheck("http://web/", { regularIntervalMs: SECOND });
      const under: string[] = [];
      const clock = createFakeClock(NOW);
      let begun = 0;
      const { runs, events, end } = await startHarness([check], {
        clock,
        respond: () => {
          begun++;
          return { status: 200, afterMs: 400 };
        },
      });
      for (let round = 0; round < 3; round++) {
        await clock.advance(20 * SECOND + offsetMs);
        clock.stepWall(stepMs);
        await clock.advance(500);
        const discarded = events.reduce(
          (sum, event) => event.event === "clock_jumped" ? sum + event.discarded : sum,
          0,
        );
        const open = begun - runs().length - discarded;
        if (open > 1) under.push(`${open} runs at once, ${stepMs} ms at ${offsetMs} ms`);
      }
      assert.deepStrictEqual(under, []);
      await end();
    }
  }
});

Deno.test("new Scheduler() discards a run during which the system was suspended, and repeats it after 10 s", async () => {
  const check = requestCheck("http://web/", { regularIntervalMs: MINUTE, timeoutMs: 10 * SECOND });
  const clock = createFakeClock(NOW);
  let hangs = true;
  const { events, runs, starts, end } = await startHarness([check], {
    clock,
    respond: () => hangs ? "hang" : { status: 200, afterMs: 1 },
  });
  // Within the first tenth of the interval the check has begun, and it hangs.
  await clock.advance(6_500);
  clock.stepWall(8 * HOUR);
  hangs = false;
  await clock.advance(10 * SECOND);
  assert.strictEqual(runs().length, 0, "the network has to come back");
  await clock.advance(30 * SECOND);
  assert.deepStrictEqual(events.flatMap((event) => event.event === "clock_jumped" ? [event.discarded] : []), [
    1,
  ]);
  const [firstMs = 0] = starts("web");
  assert.ok(firstMs >= NOW + 8 * HOUR + 16 * SECOND && firstMs <= NOW + 8 * HOUR + 50 * SECOND);
  assert.ok(runs().every(({ condition }) => condition === "ok"));
  assert.ok((runs()[0]?.entry.record.missedRuns ?? 0) >= 479, "what the sleep left out is counted");
  await end();
});

Deno.test("new Scheduler() discards a response that is the first event after a suspension", async () => {
  const clock = createFakeClock(NOW);
  let status = 500;
  const { runs, scheduler, events, end } = await startHarness([
    requestCheck("http://web/", { regularIntervalMs: HOUR }),
  ], {
    clock,
    respond: () => ({ status, afterMs: 300 }),
  });
  while (scheduler.running.length === 0) await clock.advance(100);
  clock.stepWall(HOUR);
  await clock.advance(5 * SECOND);
  status = 200;
  assert.deepStrictEqual(events.flatMap((event) => event.event === "clock_jumped" ? [event.discarded] : []), [
    1,
  ]);
  assert.deepStrictEqual(runs(), []);
  await clock.advance(20 * SECOND);
  assert.deepStrictEqual(runs().map(({ condition }) => condition), ["ok"]);
  await end();
});

Deno.test("new Scheduler() repeats runs after 10 s that fell into a clock step back, however far", async (t) => {
  for (const stepMs of [-10 * SECOND, -30 * MINUTE, -24 * HOUR]) {
    await t.step(`by ${stepMs} ms`, async () => {
      const clock = createFakeClock(NOW);
      let hangs = true;
      const { starts, end } = await startHarness(
        [requestCheck("http://web/", { regularIntervalMs: HOUR, timeoutMs: MINUTE })],
        { clock, respond: () => hangs ? "hang" : { status: 200, afterMs: 1 } },
      );
      await clock.advance(15 * SECOND);
      clock.stepWall(stepMs);
      hangs = false;
      const steppedMs = clock.wallMs();
      await clock.advance(50 * SECOND);
      const afterMs = (starts("web")[0] ?? NaN) - steppedMs;
      assert.ok(afterMs >= 10 * SECOND && afterMs <= 44 * SECOND, `repeated after ${afterMs} ms`);
      await end();
    });
  }
});

Deno.test("new Scheduler() notices a suspension soon after it, and repeats skipped runs once", async () => {
  const checks = many(100, (index) => testCheck("ok", { name: `check ${index}`, regularIntervalMs: HOUR }));
  const clock = createFakeClock(NOW);
  const { events, runs, starts, end } = await startHarness(checks, { clock });
  await clock.advance(10 * SECOND + HOUR + 1);
  const before = runs().length;
  const wokenMs = clock.wallMs() + 8 * HOUR;
  clock.stepWall(8 * HOUR);
  while (!events.some(({ event }) => event === "clock_jumped")) await clock.advance(100);
  const noticedMs = clock.wallMs();
  assert.ok(noticedMs <= wokenMs + 30 * SECOND, `noticed after ${noticedMs - wokenMs} ms`);
  await clock.advance(15 * SECOND);
  const again = runs().slice(before);
  assert.strictEqual(again.length, 100, "each once, an hour ahead of its timer");
  for (const { startedAtMs, entry } of again) {
    assert.ok(startedAtMs >= noticedMs + 9.9 * SECOND && startedAtMs <= noticedMs + 13 * SECOND);
    assert.ok(
      entry.record.missedRuns >= 7 && entry.record.missedRuns <= 8,
      `${entry.record.missedRuns} missed`,
    );
  }
  await clock.advance(5 * HOUR);
  for (const { name } of checks) assertRate(starts(name).slice(-3), HOUR);
  await end();
});

Deno.test("new Scheduler() discards a timeout during a suspension", async (t) => {
  const start = (answer: "hang" | number): Promise<SchedulerHarness> =>
    startHarness([requestCheck("http://web/", { regularIntervalMs: MINUTE, timeoutMs: 10 * SECOND })], {
      clock: createFakeClock(NOW),
      respond: (_target, nowMs) => {
        if (nowMs > 20 * SECOND) return { status: 200, afterMs: 5 };
        return answer === "hang" ? "hang" : { status: answer, afterMs: 8 * SECOND };
      },
    });
  await t.step("a time-out is repeated at once", async () => {
    const { clock, events, runs, end } = await start("hang");
    await clock.advance(7 * SECOND);
    clock.freeze(30 * SECOND);
    await clock.advance(5 * SECOND);
    assert.deepStrictEqual(events.flatMap((event) => event.event === "stalled" ? [event.name] : []), ["web"]);
    assert.deepStrictEqual(runs().map(({ condition }) => condition), ["ok"]);
    await end();
  });
  await t.step("a response that is ok counts nevertheless", async () => {
    const { clock, events, runs, end } = await start(200);
    await clock.advance(7 * SECOND);
    clock.freeze(3 * SECOND);
    await clock.advance(7 * SECOND);
    assert.ok(events.every(({ event }) => event !== "stalled"));
    assert.deepStrictEqual(runs().map(({ condition }) => condition), ["ok"]);
    await end();
  });
  await t.step("a timeout doesn't count either once the scheduler stops", async () => {
    const { clock, scheduler, runs } = await start("hang");
    await clock.advance(7 * SECOND);
    clock.freeze(30 * SECOND);
    // The signal came during the stall, too.
    const stopped = scheduler.stop(10 * SECOND);
    await clock.advance(12 * SECOND);
    await stopped;
    assert.deepStrictEqual(runs().filter(({ condition }) => condition !== "ok"), []);
  });
  await t.step("a target that is down is notified nevertheless, at the next run", async () => {
    const { clock, runs, notifications, end } = await startHarness([
      requestCheck("http://web/", { regularIntervalMs: MINUTE, timeoutMs: 10 * SECOND }),
    ], { clock: createFakeClock(NOW), respond: () => ({ status: 500, afterMs: 5 * SECOND }) });
    await clock.advance(7 * SECOND);
    for (let round = 0; round < 20; round++) {
      clock.freeze(4 * SECOND);
      await clock.advance(2 * SECOND);
    }
    assert.ok(
      runs().length >= 1 && notifications().length === 1,
      "a machine that always stalls hides nothing",
    );
    await end();
  });
});

Deno.test("new Scheduler() spreads overdue runs after the process was stalled, and skips missed ones", async () => {
  const count = campaign(5000);
  const checks = many(
    count,
    (index) => testCheck("ok", { name: `check ${index}`, regularIntervalMs: MINUTE }),
  );
  const clock = createFakeClock(NOW);
  const { events, runs, end } = await startHarness(checks, { clock });
  await clock.advance(2 * MINUTE);
  const before = runs().length;
  clock.freeze(30 * MINUTE);
  const goesOnMs = clock.wallMs();
  await clock.advance(4 * SECOND);
  const again = runs().slice(before).map(({ startedAtMs }) => startedAtMs - goesOnMs);
  assert.ok(again.length >= count && again.length < 1.1 * count, `${again.length} runs`);
  assertSpread(again, { withinMs: 4 * SECOND, count: 1.4 * count });
  assert.ok(events.some((event) => event.event === "late" && event.highestMs > 29 * MINUTE));
  await clock.advance(10 * MINUTE);
  for (const ofCheck of Map.groupBy(runs(), ({ name }) => name).values()) {
    assertRate(ofCheck.slice(-5).map(({ startedAtMs }) => startedAtMs), MINUTE);
    const missed = ofCheck.at(-1)?.entry.record.missedRuns ?? 0;
    assert.ok(Math.abs(missed - 29) <= 1, `${missed} missed`);
  }
  await end();
});

Deno.test("new Scheduler() runs every check also on a machine that stalls all the time", async () => {
  const checks = many(
    50,
    (index) => testCheck("ok", { name: `check ${index}`, regularIntervalMs: 10 * SECOND }),
  );
  const { clock, runs, end } = await startHarness(checks, { clock: createFakeClock(NOW) });
  for (let round = 0; round < 20; round++) {
    clock.freeze(5 * SECOND);
    await clock.advance(100);
  }
  for (const { name } of checks) assert.ok(runs(name).length >= 4, `${name} ran ${runs(name).length} times`);
  await end();
});
