import assert from "node:assert/strict";
import { describeObjective, toObjective, type Verdict } from "../../../src/outputs/summary/objectives.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../src/shared/time_units.ts";
import { EACH_MINUTE, NO_SPLIT_TIME, objectiveOf } from "./histories.ts";

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
