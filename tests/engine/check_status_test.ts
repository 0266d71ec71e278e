import assert from "node:assert/strict";
import { describeStatus, knownNotified, overdueAtMs, statusOf } from "../../src/engine/check_status.ts";
import { initialState } from "../../src/condition/condition_state.ts";
import type { Condition } from "../../src/domain/condition.ts";
import type { NotRunning } from "../../src/domain/monitor_run.ts";
import type { CheckRecord, KeptResult } from "../../src/domain/store.ts";
import type { Check } from "../../src/domain/check.ts";
import { recordOf, resultOf } from "../state/records.ts";
import { testCheck } from "../support/checks.ts";
import { type Rows, testRows } from "../support/rows.ts";

const NOW = Date.UTC(2026, 0, 31, 10);
const MINUTE = 60_000;
const DAY = 1440 * MINUTE;

const WEB = testCheck("ok", { name: "web" });

/** A record of `web`, which ran a minute ago, and its condition. */
function ranOnce(
  condition: Partial<CheckRecord["condition"]>,
  { last = {}, ...fields }: Partial<Omit<CheckRecord, "last">> & { readonly last?: Partial<KeptResult> } = {},
): CheckRecord {
  const base = recordOf("web");
  const result = { condition: "ok", output: "fine", startedAtMs: NOW - MINUTE, ...last } as const;
  return {
    ...base,
    condition: {
      ...base.condition,
      confirmed: "ok",
      notified: "ok",
      observed: result.condition,
      observedAtMs: result.startedAtMs,
      atLeast: { ...base.condition.atLeast, critical: 1 },
      ...condition,
    },
    last: resultOf(result),
    nextRunAtMs: NOW + MINUTE,
    ...fields,
  };
}

/** The status of a check with a record, or of several. */
function shownOf(
  check: Check,
  records: CheckRecord | null | ((name: string) => CheckRecord | null),
  options: Partial<Parameters<typeof statusOf>[1]> = {},
) {
  const recordOf = typeof records === "function" ? records : () => records;
  const { nowMs = NOW } = options;
  const status = statusOf(check, { recordOf, nowMs, ...options });
  return { ...status, text: describeStatus(status, nowMs) };
}

Deno.test("describeStatus() returns the output, and the reason why the output alone would mislead", async (t) => {
  const check = testCheck("ok", { name: "web", threshold: 3 });
  const down = { condition: "critical", output: "down" } as const;
  const late = { nextRunAtMs: NOW - 60 * MINUTE };
  const aheadMs = NOW + 450 * DAY;
  const rows: Rows<[CheckRecord, string]> = {
    "the output": [ranOnce({}), "fine"],
    "not notified": [ranOnce({ confirmed: "critical" }, { last: down }), "down [not notified]"],
    "not confirmed yet": [ranOnce({}, { last: down }), "last critical, 1 of 3: down"],
    "no output": [ranOnce({}, { last: { ...down, output: "" } }), "last critical, 1 of 3"],
    "pending": [ranOnce({ confirmed: null }, { last: down }), "critical, 1 of 3: down"],
    "pending, and overdue": [
      ranOnce({ confirmed: null }, { last: down, ...late }),
      "not run for 1 min, was pending: critical, 1 of 3: down",
    ],
    "overdue, no output": [ranOnce({}, { last: { output: "" }, ...late }), "not run for 1 min, was ok"],
    "a last run in the future": [
      ranOnce({}, { last: { startedAtMs: aheadMs }, nextRunAtMs: aheadMs + MINUTE }),
      "last run is 450 d in the future, was ok: fine",
    ],
  };
  await testRows(t, rows, ([record, expected]) => assert.equal(shownOf(check, record).text, expected));
  await t.step("overdue, and never reported", () => {
    const output = 'agent "nas" never reported it';
    const { text, state } = shownOf(
      { ...testCheck("ok", { name: "web" }), kind: "reported", agent: "nas" },
      ranOnce({ confirmed: null }, { last: { condition: "unknown", output }, ...late }),
    );
    assert.deepEqual([state, text], ["overdue", `unknown: ${output}`]);
  });
});

Deno.test("statusOf() returns pending until a condition is confirmed, and unknown once that is overdue", () => {
  for (const [nowMs, expected] of [[NOW, "pending current"], [NOW + DAY, "unknown overdue"]] as const) {
    const { condition, state } = shownOf(WEB, ranOnce({ confirmed: null }), { nowMs });
    assert.equal(`${condition} ${state}`, expected);
  }
});

Deno.test("statusOf() returns unknown for a check that was edited since its last run", () => {
  // A record without a definition is of a version that did not write it.
  const rows = [["a", "ok current"], ["b", "unknown edited"], [undefined, "ok current"]] as const;
  for (const [definition, expected] of rows) {
    const record = ranOnce({}, { last: definition === undefined ? {} : { definition } });
    const { condition, state } = shownOf({ ...WEB, definition: "a" }, record);
    assert.equal(`${condition} ${state}`, expected);
  }
});

Deno.test("statusOf() returns unknown for a check that only a service ran that does not run", async (t) => {
  const states = {
    stopped: "stopped 2 min ago",
    died: "terminated unexpectedly, last seen 2 min ago",
    hangs: "hangs, last seen 2 min ago",
  };
  await testRows(t, states, (words, state) => {
    const notRunning = { state: state as NotRunning["state"], sinceMs: NOW - 2 * MINUTE };
    const of = (startedAtMs: number, isShared = false) =>
      shownOf(WEB, ranOnce({}, { last: { startedAtMs }, isShared }), { notRunning });
    const { condition, state: shown, text } = of(NOW - 2 * MINUTE);
    assert.deepEqual([condition, shown, text], ["unknown", "not_running", `monitor ${words}, was ok: fine`]);
    assert.equal(of(NOW - MINUTE).text, "fine", "run by a single call");
    assert.equal(of(NOW - MINUTE, true).condition, "unknown", "by another clock");
  });
});

Deno.test("statusOf() expects no first run of a cron schedule while the service does not run", () => {
  const times = { expression: "0 3 * * *", timeZone: "UTC", after: () => NOW + DAY };
  const check = { ...WEB, schedule: { times, attentiveIntervalMs: null } };
  const of = (notRunning: NotRunning | null): readonly string[] => {
    const { condition, text } = shownOf(check, null, { notRunning });
    return [condition, text];
  };
  assert.deepEqual(of(null), ["pending", "never ran, first run in 1 d"]);
  assert.deepEqual(of({ state: "stopped", sinceMs: NOW }), ["unknown", "never ran"]);
});

Deno.test("statusOf() returns unknown for a last run further in the future than two intervals", async (t) => {
  const minutely = testCheck("ok", { name: "web", regularIntervalMs: MINUTE, attentiveIntervalMs: MINUTE });
  const rows: Rows<[aheadMs: number, endMs: number, shown: string]> = {
    "a clock that was set back a little": [2 * MINUTE, 2 * MINUTE, "ok current"],
    "a clock that was set back by more": [2 * MINUTE + 1, 2 * MINUTE + 1, "unknown in_future"],
    "a clock that was years ahead": [500 * DAY, 500 * DAY, "unknown in_future"],
    "a clock that went ahead during the run": [-MINUTE, 500 * DAY, "unknown in_future"],
  };
  await testRows(t, rows, ([aheadMs, endMs, shown]) => {
    const nextRunAtMs = NOW + endMs + MINUTE;
    const last = { startedAtMs: NOW + aheadMs };
    const record = ranOnce({ observedAtMs: NOW + endMs }, { last, nextRunAtMs });
    const { condition, state } = shownOf(minutely, record);
    assert.equal(`${condition} ${state}`, shown);
  });
});

Deno.test("statusOf() returns the checks that suppress notifications", async (t) => {
  const web = ranOnce({ confirmed: "critical", problemBeganAtMs: NOW - MINUTE }, {
    last: { condition: "critical", output: "down" },
  });
  const router = (observedAtMs: number, confirmed: Condition) =>
    ranOnce({ confirmed, observed: confirmed, observedAtMs });
  const suppressed = 'down [suppressed: depends on "router"]';
  const down = router(NOW, "critical");
  const rows: Rows<[router: CheckRecord | null, text: string, dependsOn?: Check["dependsOn"]]> = {
    "was never seen": [null, suppressed],
    "has a problem itself": [down, suppressed],
    "was not seen since": [router(NOW - 2 * MINUTE, "ok"), suppressed],
    "is well": [router(NOW, "ok"), "down [not notified]"],
    "is inactive": [null, "down [not notified]", ["off"]],
    "is inactive, and its alternative has a problem": [down, suppressed, [{ any: ["off", "router"] }]],
  };
  await testRows(t, rows, ([dependency, text, dependsOn = ["router"]]) => {
    const of = (name: string) => name === "web" ? web : name === "router" ? dependency : null;
    assert.equal(shownOf({ ...WEB, dependsOn }, of, { inactive: new Set(["off"]) }).text, text);
  });
  const recovered = ranOnce({ notified: "critical" });
  const { waitsFor } = shownOf(
    { ...WEB, dependsOn: ["router"] },
    (name) => name === "web" ? recovered : down,
  );
  assert.deepEqual(waitsFor, []);
});

Deno.test("overdueAtMs() goes by the attentive interval while a check is failing", () => {
  const schedule = { regularIntervalMs: 60 * MINUTE, attentiveIntervalMs: MINUTE };
  const check = { ...testCheck("ok", { name: "web", schedule }), timeoutMs: 1000 };
  const lateAt = (observed: Condition): number => {
    return overdueAtMs(check, ranOnce({ observed }, { nextRunAtMs: NOW }));
  };
  assert.deepEqual([lateAt("ok"), lateAt("critical")], [NOW + 120 * MINUTE, NOW + 2 * MINUTE]);
});

Deno.test("knownNotified() is ok only if that was notified or known", async (t) => {
  const never = initialState();
  const known = { ...never.leftAtMs, ok: 2 };
  const rows: Rows<[Partial<typeof never>, Condition | null]> = {
    "never run": [{}, null],
    "pending": [{ observed: "critical" }, null],
    "a problem before any ok, suppressed": [{ confirmed: "critical" }, null],
    "ok": [{ confirmed: "ok" }, "ok"],
    "a suppressed problem after ok": [{ confirmed: "critical", leftAtMs: known }, "ok"],
    "a problem that no channel is for": [
      { confirmed: "warning", notified: "warning", leftAtMs: known },
      "ok",
    ],
    "a notified problem": [{ confirmed: "critical", notified: "critical", notifiedAtMs: 1 }, "critical"],
    "a notified recovery, and a pending condition": [{ notified: "ok", notifiedAtMs: 1 }, "ok"],
  };
  await testRows(t, rows, ([state, expected]) => {
    assert.equal(knownNotified({ ...never, ...state }), expected);
  });
});
