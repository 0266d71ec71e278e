/** The loop and time: restarts, clocks that are set, suspension, and stalls. */
import assert from "node:assert/strict";
import type { Check } from "../../src/domain/check.ts";
import { openInMemoryStore } from "../../src/state/sqlite/in_memory_store.ts";
import { requestCheck, testCheck } from "../support/checks.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { assertRate, assertSpread } from "../support/rates.ts";
import { startHarness } from "../support/scheduler_harness.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const NOW = Date.UTC(2026, 0, 31, 10);

function many(count: number, make: (index: number) => Check): readonly Check[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

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
