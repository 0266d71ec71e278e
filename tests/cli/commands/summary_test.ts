import assert from "node:assert/strict";
import type { Store } from "../../../src/domain/store.ts";
import { DAY_MS, HOUR_MS } from "../../../src/shared/time_units.ts";
import type { Condition } from "../../../src/domain/condition.ts";
import { changeOf, entryOf, journalOf, NOW_MS, recordOf, updateOf } from "../../state/records.ts";
import { runWithState } from "./run_with_state.ts";

const CHECK = { kind: "test", parameters: {} };
const CONFIG = {
  defaults: { objective: "99 % a week" },
  checks: { web: { ...CHECK, title: "Website" }, db: CHECK, off: { ...CHECK, active: false } },
};

/** Prints the summary of a week in which `web` was down for two hours, and `db` never ran. */
function summary(args: readonly string[]) {
  const condition = { ...recordOf("web").condition, confirmed: "ok" as const, observedAtMs: NOW_MS };
  const record = recordOf("web", { condition, journal: journalOf(RUNS).journal });
  const rollups = Array.from({ length: 24 }, (_, index) => {
    const hour = index + 1;
    const lasted = hour === 3 || hour === 4 ? "critical" : "ok";
    return { ...entryOf(NOW_MS - hour * HOUR_MS), lasted, lastedMs: HOUR_MS, durationMs: 20 } as const;
  });
  const changes = [
    changeOf("web", NOW_MS - 4 * HOUR_MS),
    changeOf("web", NOW_MS - 2 * HOUR_MS, { from: "critical", to: "ok" }),
  ];
  return runWithState(["summary", ...args], {
    config: CONFIG,
    fill: async (store) => {
      for (const rollup of rollups) await store.save([updateOf("web", { record, rollup })]);
      await store.save(changes.map((change) => updateOf("web", { record, change })));
    },
  });
}

/** A run each hour of the last day: `critical` 4 and 3 hours ago, otherwise ok. */
const RUNS = Array.from({ length: 25 }, (_, index) => {
  const hour = 24 - index;
  const condition: Condition = hour === 4 || hour === 3 ? "critical" : "ok";
  return { endedAtMs: NOW_MS - hour * HOUR_MS, condition };
});

Deno.test("monitor summary prints outages and availability of the last week", async () => {
  const { code, stdout } = await summary([]);
  assert.equal(code, 0);
  assert.match(
    stdout,
    /^1 of 2 checks was down, 2 h in all; 1 missed its objective; 1 check has no data\.\n/,
  );
  assert.match(stdout, /\nDown\n- Website: 2026-01-31 07:00 to 09:00, 2 h: connection refused\n/);
  assert.match(
    stdout,
    /\n- Website: 91\.666% up, 2 h down; objective 99% in 7 d missed: 87\.500% to 95\.833% up, 1 h to 3 h /,
  );
  assert.match(stdout, /\nChecks without data\n- db: never ran\n/);
});

Deno.test("monitor summary --format json has the period and the same numbers", async () => {
  const { stdout } = await summary(["--format", "json", "--period", "1d", "web"]);
  const fields = JSON.parse(stdout);
  assert.deepEqual([fields.from, fields.until], [
    new Date(NOW_MS - DAY_MS).toISOString(),
    new Date(NOW_MS).toISOString(),
  ]);
  assert.deepEqual([fields.checks, fields.checks_down, fields.down_ms], [1, 1, 2 * HOUR_MS]);
  assert.deepEqual(fields.outages.items.map((one: { duration_ms: number }) => one.duration_ms), [
    2 * HOUR_MS,
  ]);
});

Deno.test("monitor history shows the objective with its bounds", async () => {
  const fill = async (store: Store): Promise<void> =>
    void await store.save([
      updateOf("web", { record: recordOf("web", { journal: journalOf(RUNS).journal }) }),
    ]);
  const shown = async (args: readonly string[]) =>
    (await runWithState(["history", ...args, "web"], { config: CONFIG, fill })).stdout;
  assert.match(
    await shown([]),
    /\nobjective {2}99% in 7 d missed: 87\.500% to 95\.833% up, 1 h to 3 h of 14 min 24 s/,
  );
  const { verdict, availability_lower, time, outages } =
    JSON.parse(await shown(["--format", "json"])).objective;
  assert.deepEqual([verdict, availability_lower, outages], ["missed", 21 / 24, 1]);
  assert.deepEqual([time.up_ms, time.down_ms, time.uncertain_ms], [21 * HOUR_MS, HOUR_MS, 2 * HOUR_MS]);
});
