import assert from "node:assert/strict";
import { describeObjective, toObjective, type Verdict } from "../../../src/outputs/summary/objectives.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../src/shared/time_units.ts";
import { EACH_MINUTE, NO_SPLIT_TIME, objectiveOf } from "./histories.ts";
import type { CheckUpdate } from "../../../src/domain/store.ts";
import { readObjectives } from "../../../src/outputs/summary/read_objectives.ts";
import { openInMemoryStore } from "../../../src/state/sqlite/sqlite_store.ts";
import { journalOf, NOW_MS, recordOf, silenceOf, updateOf } from "../../state/records.ts";
import { testCheck } from "../../support/checks.ts";

const BUDGET_MS = 43.2 * MINUTE_MS;
const MONTH_MS = 30 * DAY_MS;

Deno.test("toObjective() compares both bounds of the downtime with the error budget of the observed time", () => {
  const rows: readonly (readonly [string, Parameters<typeof objectiveOf>[1], Verdict])[] = [
    ["exactly the budget", { downMs: BUDGET_MS }, "met"],
    ["more", { downMs: BUDGET_MS + 1 }, "missed"],
    ["certainly less", { downMs: BUDGET_MS - 10_000, uncertainMs: 10_000 }, "met"],
    ["perhaps more", { downMs: BUDGET_MS - 10_000, uncertainMs: 10_001 }, "cannot_tell"],
    ["half of the time, and of the budget", { downMs: BUDGET_MS, observedMs: MONTH_MS / 2 }, "missed"],
    ["a tenth", { downMs: 0, observedMs: MONTH_MS / 10 }, "met"],
    ["less than that", { downMs: 0, observedMs: MONTH_MS / 10 - 1 }, "too_little_observed"],
  ];
  for (const [name, time, verdict] of rows) assert.equal(objectiveOf(99.9, time).verdict, verdict, name);
});

Deno.test("toObjective() calls no objective met if one outage that no run saw would use up the budget", () => {
  const time = { ...NO_SPLIT_TIME, upMs: MONTH_MS };
  const verdictFor = (percent: number, minutes: number): Verdict => {
    const intervalMs = minutes * MINUTE_MS;
    const schedule = { regularIntervalMs: intervalMs, attentiveIntervalMs: intervalMs };
    return toObjective({ percent, windowMs: MONTH_MS }, time, schedule).verdict;
  };
  assert.equal(verdictFor(99.99, 1), "met");
  assert.equal(verdictFor(99.99, 5), "cannot_tell", "the budget is 4 min 19 s");
  assert.equal(verdictFor(100, 1), "cannot_tell");
  assert.equal(verdictFor(99.9, 43), "met");
});

Deno.test("toObjective() calls 100 % missed after one failed run, however short the outage was", () => {
  assert.equal(objectiveOf(100, { downMs: 0, uncertainMs: 2 * MINUTE_MS }).verdict, "missed");
});

Deno.test("describeObjective() has the verdict, the interval that could tell, and what was not observed", () => {
  assert.equal(
    describeObjective(objectiveOf(99.9, { downMs: HOUR_MS })),
    "99.9% in 30 d missed: 99.861% up, 1 h of 43 min 12 s error budget used",
  );
  assert.equal(
    describeObjective(objectiveOf(99.99, { downMs: 3 * MINUTE_MS, uncertainMs: 4 * MINUTE_MS })),
    "99.99% in 30 d: can't tell with this interval; an interval of 20 s could: 99.983% to 99.993% up, " +
      "3 min to 7 min of 4 min 19 s error budget used",
  );
  const { windowMs } = objectiveOf(99, { downMs: 0 });
  const time = {
    ...NO_SPLIT_TIME,
    upMs: 29 * DAY_MS,
    maintenanceMs: 12 * HOUR_MS,
    ownNetworkMs: 6 * HOUR_MS,
    monitorOffMs: 5 * HOUR_MS,
    notObservedMs: HOUR_MS,
  };
  assert.equal(
    describeObjective(toObjective({ percent: 99, windowMs }, time, EACH_MINUTE)),
    "99% in 30 d met: 100% up, 0 s of 6 h 57 min error budget used; " +
      "not counted: maintenance 12 h, no network here 6 h, monitor off 5 h, not observed 1 h",
  );
  const few = { ...NO_SPLIT_TIME, upMs: 12 * MINUTE_MS };
  assert.equal(
    describeObjective(toObjective({ percent: 99, windowMs }, few, EACH_MINUTE)),
    "99% in 30 d: too little of it was observed: 12 min, at least 3 d required",
  );
  assert.equal(
    describeObjective(toObjective({ percent: 99, windowMs }, NO_SPLIT_TIME, EACH_MINUTE)),
    "99% in 30 d: no data",
  );
});

const OBJECTIVE = { percent: 99, windowMs: DAY_MS };

/** A run each 10 minutes of three days, `critical` in the last two hours but one, without a network for an hour. */
const RUNS = Array.from({ length: 3 * 144 }, (_, index) => {
  const ago = 3 * 144 - 1 - index;
  const isDown = ago >= 6 && ago < 18;
  const isOffline = ago >= 60 && ago < 66;
  return {
    endedAtMs: NOW_MS - ago * HOUR_MS / 6,
    ...isDown && { condition: "critical" as const },
    ...isOffline && { condition: "unknown" as const, awaits: "checks" as const },
  };
});

function updatesOf(name: string): readonly CheckUpdate[] {
  const { journal, blocks } = journalOf(RUNS);
  const record = recordOf(name, { journal });
  return [
    ...blocks.map((block) => ({ ...updateOf(name, { record }), journal: block })),
    updateOf(name, { record }),
  ];
}

Deno.test("readObjectives() reads the journal, the windows of the config, and those started by hand", async () => {
  await using store = await openStore();
  const hour = (ago: number) => ({ fromMs: NOW_MS - ago * HOUR_MS, untilMs: NOW_MS - (ago - 1) * HOUR_MS });
  const started = { kind: "maintenance", problemBeganAtMs: null } as const;
  await store.addSilences([
    silenceOf("all", { ...started, ...hour(5), check: null }),
    silenceOf("db", { ...started, ...hour(7), check: "db" }),
    silenceOf("quiet", { ...hour(8), check: null }),
  ]);
  const common = { regularIntervalMs: HOUR_MS / 6, objective: OBJECTIVE };
  const objectives = await readObjectives(store, [
    testCheck("ok", { ...common, name: "web", connectivity: true, maintenanceWindows: [hour(3)] }),
    testCheck("ok", { ...common, name: "db" }),
    testCheck("ok", { ...common, name: "new" }),
    testCheck("ok", { name: "none" }),
  ], { untilMs: NOW_MS, ranUntilMs: null });
  const minutesOf = (name: string) => {
    const { time: { outages, ...parts }, verdict } = objectives.get(name) ?? assert.fail(name);
    const minutes = Object.entries(parts).map(([part, ms]) => [part, ms / MINUTE_MS]);
    return { verdict, outages, ...Object.fromEntries(minutes.filter(([, count]) => count !== 0)) };
  };
  assert.deepEqual(minutesOf("web"), {
    ...{ verdict: "missed", outages: 1, maintenanceMs: 120, ownNetworkMs: 70 },
    ...{ upMs: 1180, downMs: 60, uncertainMs: 10 },
  });
  assert.deepEqual(minutesOf("db"), {
    ...{ verdict: "missed", outages: 1, maintenanceMs: 120, notObservedMs: 70 },
    ...{ upMs: 1120, downMs: 110, uncertainMs: 20 },
  }, "it does not need the network");
  assert.deepEqual(minutesOf("new"), {
    ...{ verdict: "too_little_observed", outages: 0, maintenanceMs: 60, notObservedMs: 23 * 60 },
  });
  assert.equal(objectives.has("none"), false);
});

async function openStore() {
  const store = await openInMemoryStore();
  for (const name of ["web", "db"]) await store.save(updatesOf(name));
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() });
}
