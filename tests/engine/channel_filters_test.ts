import assert from "node:assert/strict";
import { initialState } from "../../src/condition/condition_state.ts";
import type { ChannelFilters } from "../../src/domain/channel.ts";
import type { Condition, ConditionState } from "../../src/domain/condition.ts";
import {
  conditionFor,
  dueAtMs,
  isExcluded,
  isOutsideHours,
  isPostponed,
  knownTo,
} from "../../src/engine/channel_filters.ts";
import { type Rows, testRows } from "../support/rows.ts";

const NOW = Date.UTC(2026, 2, 2, 12);
const MINUTE = 60_000;
/** From 10:00 to 14:00. */
const HOURS = [{ fromMinute: 600, toMinute: 840, timeZone: "UTC" }];
const EARLIER = NOW - 180 * MINUTE;

Deno.test("conditionFor() ends a problem by a better condition that is not listed, and by no other", async (t) => {
  const rows: Rows<
    [listed: Condition[] | undefined, is: Condition, notified: Condition, expected: Condition]
  > = {
    "nothing is listed": [undefined, "unknown", "ok", "unknown"],
    "a listed one": [["critical"], "critical", "ok", "critical"],
    "a better one": [["critical"], "warning", "critical", "ok"],
    "a worse one": [["warning"], "critical", "warning", "warning"],
    "unknown": [["critical"], "unknown", "critical", "critical"],
    "one that is not listed, of no problem": [["warning"], "critical", "ok", "ok"],
  };
  await testRows(t, rows, ([conditions, condition, notified, expected]) => {
    assert.equal(conditionFor({ ...conditions && { conditions } }, condition, notified), expected);
  });
});

Deno.test("isPostponed() is true until a problem has lasted, and while it is acknowledged", async (t) => {
  const rows: Rows<[beganMinutesAgo: number, isAcknowledged: boolean, expected: boolean]> = {
    "not long enough": [4, false, true],
    "long enough": [5, false, false],
    "long enough, and acknowledged": [6, true, true],
    "began in the future: the clock was set back a little": [-4, false, true],
    "the clock was set back by more": [-6, false, false],
  };
  await testRows(t, rows, ([minutes, isAcknowledged, expected]) => {
    const state = { ...initialState(), problemBeganAtMs: NOW - minutes * MINUTE };
    assert.equal(isPostponed({ afterMs: 5 * MINUTE }, state, { nowMs: NOW, isAcknowledged }), expected);
  });
  const leftAtMs = { ...initialState().leftAtMs, ok: NOW - 9 * MINUTE, warning: NOW - 2 * MINUTE };
  const state = { ...initialState(), leftAtMs, problemBeganAtMs: NOW - 9 * MINUTE };
  const filters: ChannelFilters = { conditions: ["critical"], afterMs: 5 * MINUTE };
  assert.equal(dueAtMs(filters, state, NOW), NOW + 3 * MINUTE, "since the last other condition");
});

Deno.test("knownTo() leaves a problem out outside the hours, and for ever where it is to be dropped", async (t) => {
  assert.equal(isOutsideHours({ hours: HOURS }, NOW), false);
  assert.equal(isOutsideHours({ hours: HOURS }, EARLIER), true);
  const never = { hours: HOURS, outsideHours: "never" } as const;
  const began: Partial<ConditionState> = { problemBeganAtMs: EARLIER, notifiedSinceMs: EARLIER };
  const rows: Rows<[filters: ChannelFilters, state: Partial<ConditionState>, nowMs: number, isDue: boolean]> =
    {
      "in the hours": [{ hours: HOURS }, { problemBeganAtMs: NOW }, NOW, true],
      "outside the hours": [{ hours: HOURS }, began, EARLIER, false],
      "from before the hours": [{ hours: HOURS }, began, NOW, true],
      "from before the hours, to be dropped": [never, began, NOW, false],
      "the same, with a reminder in the hours": [never, { ...began, notifiedAtMs: NOW }, NOW, false],
      "from the hours": [never, { problemBeganAtMs: NOW, notifiedSinceMs: NOW }, NOW, true],
      "outside the hours, to be dropped": [never, began, EARLIER, false],
    };
  await testRows(t, rows, ([filters, state, nowMs, isDue]) => {
    const whole = { ...initialState(), confirmed: "critical", ...state } as const;
    const known = knownTo(filters, ["ok"], whole, { nowMs, isAcknowledged: false });
    assert.deepEqual(known, isDue ? ["ok"] : []);
  });
});

Deno.test("isExcluded() drops an event that is not wanted, unless the problem that it ends is", () => {
  const [problem, recovery] = [{ event: "problem" }, { event: "recovery" }] as const;
  const problems: ChannelFilters = { events: ["problem"] };
  assert.equal(isExcluded({}, { notification: recovery, missedProblem: null }), false);
  assert.equal(isExcluded(problems, { notification: problem, missedProblem: null }), false);
  assert.equal(isExcluded(problems, { notification: recovery, missedProblem: null }), true);
  assert.equal(isExcluded(problems, { notification: recovery, missedProblem: problem }), false);
  assert.equal(isExcluded({ events: ["change"] }, { notification: recovery, missedProblem: problem }), true);
});
