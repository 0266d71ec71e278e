/** Checks whose times are those of a cron expression: the loop, and calls of `--due`, by both clock changes. */
import assert from "node:assert/strict";
import { createCronReader } from "../../src/config/cron_times.ts";
import type { Check } from "../../src/domain/check.ts";
import { overdueAtMs } from "../../src/engine/check_status.ts";
import { isCheckDue } from "../../src/scheduler/next_run.ts";
import { openInMemoryStore } from "../../src/state/sqlite/sqlite_store.ts";
import { requestCheck, testCheck } from "../support/checks.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { type SchedulerHarness, startHarness } from "../support/scheduler_harness.ts";
import { recordOf } from "../state/records.ts";
import { testRows } from "../support/rows.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

function cron(
  expression: string,
  options: { readonly condition?: "ok" | "critical"; readonly attentiveIntervalMs?: number } = {},
): Check {
  const times = createCronReader()(expression, "Europe/Zurich");
  assert.ok(times !== null);
  const schedule = { times, attentiveIntervalMs: options.attentiveIntervalMs ?? null };
  return testCheck(options.condition ?? "ok", { name: "web", schedule });
}

function startsOf(harness: Pick<SchedulerHarness, "starts">): readonly string[] {
  return harness.starts("web").map((ms) => new Date(ms).toISOString().slice(5, 19));
}

Deno.test("new Scheduler() runs a cron check at its times, to the second, over both DST changes", async () => {
  for (
    const [from, expected] of [
      ["2026-03-28T00:30:00Z", ["03-28T01:30:00", "03-29T01:00:00", "03-30T00:30:00"]],
      ["2026-10-24T00:10:00Z", ["10-24T00:30:00", "10-25T00:30:00", "10-26T01:30:00"]],
    ] as const
  ) {
    const clock = createFakeClock(Date.parse(from));
    const harness = await startHarness([cron("30 2 * * *")], { clock });
    await clock.advance(2 * DAY + 2 * HOUR);
    assert.deepStrictEqual(startsOf(harness), expected);
    for (const { lateMs, entry } of harness.runs()) {
      assert.ok(lateMs < 2);
      assert.strictEqual(entry.record.missedRuns, 0);
    }
    await harness.end();
  }
});

Deno.test("new Scheduler() runs once soon after a suspension that its time fell into, and counts the skipped runs", async () => {
  const clock = createFakeClock(Date.parse("2026-01-10T09:55:00Z"));
  const harness = await startHarness([cron("0 * * * *")], { clock });
  await clock.advance(10 * MINUTE);
  clock.stepWall(5 * HOUR + 10 * MINUTE);
  await clock.advance(2 * HOUR);
  const [first, second = "", third, ...rest] = startsOf(harness);
  assert.strictEqual(first, "01-10T10:00:00");
  // The sleep is noticed within half a minute, and then the network has 10 s to come back.
  assert.match(second, /^01-10T15:15:[1-4]\d$/);
  assert.deepStrictEqual([third, ...rest], ["01-10T16:00:00", "01-10T17:00:00"]);
  // 11:00 to 14:00; the one of 15:00 was made up for.
  assert.strictEqual(harness.runs().at(-1)?.entry.record.missedRuns, 4);
  await harness.end();
});

Deno.test("new Scheduler() follows the wall clock when it is set", async (t) => {
  const rows: Readonly<Record<string, { stepMs: number; expected: readonly string[] }>> = {
    "back by an hour": { stepMs: -HOUR, expected: ["01-10T09:30:00", "01-10T10:30:00", "01-10T11:30:00"] },
    "back by a second": { stepMs: -SECOND, expected: ["01-10T10:30:00", "01-10T11:30:00"] },
    "on by three seconds": { stepMs: 3 * SECOND, expected: ["01-10T10:30:00", "01-10T11:30:00"] },
    "on by ten minutes": { stepMs: 10 * MINUTE, expected: ["01-10T10:30:00", "01-10T11:30:00"] },
  };
  await testRows(t, rows, async ({ stepMs, expected }) => {
    const clock = createFakeClock(Date.parse("2026-01-10T10:05:00Z"));
    const harness = await startHarness([cron("30 * * * *")], { clock });
    await clock.advance(5 * MINUTE);
    clock.stepWall(stepMs);
    await clock.advance(Date.parse("2026-01-10T11:31:00Z") - clock.wallMs());
    assert.deepStrictEqual(startsOf(harness), expected);
    await harness.end();
  });
});

Deno.test("new Scheduler() skips the times that fall into a long run", async () => {
  const schedule = cron("*/10 * * * *").schedule;
  const slow = { ...requestCheck("http://slow/", { name: "web", timeoutMs: HOUR }), schedule };
  const clock = createFakeClock(Date.parse("2026-01-10T10:05:00Z"));
  const harness = await startHarness([slow], {
    clock,
    respond: () => ({ status: 200, afterMs: 25 * MINUTE }),
  });
  await clock.advance(80 * MINUTE);
  assert.deepStrictEqual(startsOf(harness), ["01-10T10:10:00", "01-10T10:40:00"]);
  assert.deepStrictEqual(harness.runs().map(({ entry }) => entry.record.missedRuns), [2, 4]);
  await harness.end();
});

Deno.test("new Scheduler() also uses the attentive interval while a cron check is failing", async () => {
  const clock = createFakeClock(Date.parse("2026-01-10T10:40:00Z"));
  const harness = await startHarness([
    cron("0 * * * *", { condition: "critical", attentiveIntervalMs: 25 * MINUTE }),
  ], { clock });
  await clock.advance(2 * HOUR);
  assert.deepStrictEqual(startsOf(harness), [
    "01-10T11:00:00",
    "01-10T11:25:00",
    "01-10T11:50:00",
    "01-10T12:00:00",
    "01-10T12:25:00",
  ]);
  await harness.end();
});

Deno.test("new Scheduler() catches up with the last time only after a restart", async () => {
  const clock = createFakeClock(Date.parse("2026-01-10T09:55:00Z"));
  const store = await openInMemoryStore();
  const first = await startHarness([cron("0 * * * *")], { clock, store });
  await clock.advance(10 * MINUTE);
  await first.end();
  await clock.advance(3 * HOUR);
  const second = await startHarness([cron("0 * * * *")], { clock, store });
  await clock.advance(10 * MINUTE);
  assert.match(startsOf(second).join(), /^01-10T13:05:0[0-3]$/);
  await second.end();
});

Deno.test("isCheckDue() ignores a plan from before the clock was set back, or from another expression", () => {
  const at = (time: string): number => Date.parse(`2026-01-10T${time}Z`);
  const record = recordOf("web", { nextRunAtMs: at("11:00:00") });
  assert.strictEqual(isCheckDue(cron("0 * * * *"), record, at("08:00:00")), false);
  assert.strictEqual(isCheckDue(cron("0 * * * *"), record, at("11:00:00")), true);
  assert.strictEqual(isCheckDue(cron("20 * * * *"), record, at("11:10:00")), false);
  assert.strictEqual(isCheckDue(cron("20 * * * *"), record, at("11:20:00")), true);
});

Deno.test("overdueAtMs() allows two more times, however distant they are", () => {
  const work = cron("0,30 8-17 * * mon-fri");
  // Friday, 17:30 in Zurich; then Monday at 08:00 and at 08:30.
  const record = recordOf("web", { nextRunAtMs: Date.parse("2026-01-09T16:30:00Z") });
  assert.strictEqual(overdueAtMs(work, record), Date.parse("2026-01-12T07:30:00Z"));
});
