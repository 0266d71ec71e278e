import assert from "node:assert/strict";
import { describeStatus, knownNotified, statusOf } from "../../src/alerting/check_status.ts";
import { initialState } from "../../src/condition/transition.ts";
import { overdueAtMs } from "../../src/alerting/overdue.ts";
import type { Condition } from "../../src/domain/condition.ts";
import type { NotRunning } from "../../src/domain/monitor_run.ts";
import { recordOf, resultOf } from "../state/records.ts";
import { testCheck } from "../support/checks.ts";
import { testRows } from "../support/rows.ts";

const NOW = Date.UTC(2026, 0, 31, 10);
const MINUTE = 60_000;
const DAY = 1440 * MINUTE;

interface Seen {
  readonly last: Condition;
  readonly confirmed: Condition | null;
  readonly notified: Condition;
  readonly output: string;
  readonly nextRunAtMs?: number;
  readonly startedAtMs?: number;
}

function described(seen: Seen): string {
  const { last, confirmed, notified, output, nextRunAtMs = NOW + MINUTE, startedAtMs = NOW - MINUTE } = seen;
  const base = recordOf("web");
  const record = {
    ...base,
    condition: {
      ...base.condition,
      confirmed,
      notified,
      observed: last,
      observedAtMs: startedAtMs,
      atLeast: { ...base.condition.atLeast, critical: 1 },
    },
    last: resultOf({ condition: last, output, startedAtMs }),
    nextRunAtMs,
  };
  return describeStatus(
    statusOf(testCheck("ok", { name: "web", threshold: 3 }), { recordOf: () => record, nowMs: NOW }),
    NOW,
  );
}

Deno.test("describeStatus() returns the output, and the reason why the output alone would mislead", async (t) => {
  const fine = { last: "ok", confirmed: "ok", notified: "ok" } as const;
  const rows: readonly (readonly [string, Seen, string])[] = [
    ["the output", { ...fine, output: "well" }, "well"],
    ["not told", { ...fine, confirmed: "critical", last: "critical", output: "down" }, "down [not notified]"],
    ["not confirmed yet", { ...fine, last: "critical", output: "down" }, "last critical, 1 of 3: down"],
    ["not confirmed yet, no output", { ...fine, last: "critical", output: "" }, "last critical, 1 of 3"],
    ["pending", { ...fine, confirmed: null, last: "critical", output: "down" }, "critical, 1 of 3: down"],
    [
      "pending, and overdue",
      { ...fine, confirmed: null, last: "critical", output: "down", nextRunAtMs: NOW - 60 * MINUTE },
      "not run for 1 min, was pending: critical, 1 of 3: down",
    ],
    [
      "overdue, no output",
      { ...fine, output: "", nextRunAtMs: NOW - 60 * MINUTE },
      "not run for 1 min, was ok",
    ],
    [
      "a last run in the future",
      { ...fine, output: "well", startedAtMs: NOW + 450 * DAY, nextRunAtMs: NOW + 450 * DAY + MINUTE },
      "last run is 450 d in the future, was ok: well",
    ],
  ];
  for (const [name, seen, expected] of rows) {
    await t.step(name, () => assert.strictEqual(described(seen), expected));
  }
});

Deno.test("statusOf() returns pending until a condition is confirmed, and unknown once that is overdue", () => {
  const base = recordOf("web");
  const statusAt = (nowMs: number): readonly string[] => {
    const record = { ...base, condition: { ...base.condition, confirmed: null }, nextRunAtMs: NOW + MINUTE };
    const { condition, state } = statusOf(testCheck("ok", { name: "web" }), {
      recordOf: () => record,
      nowMs,
    });
    return [condition, state];
  };
  assert.deepEqual(statusAt(NOW), ["pending", "current"]);
  assert.deepEqual(statusAt(NOW + DAY), ["unknown", "overdue"]);
});

Deno.test("statusOf() returns unknown for a check that was edited since its last run", () => {
  const check = { ...testCheck("ok", { name: "web" }), definition: "a" };
  const base = recordOf("web");
  const of = (definition?: string): unknown[] => {
    const last = { ...resultOf({ startedAtMs: NOW }), ...definition !== undefined && { definition } };
    const record = { ...base, condition: { ...base.condition, confirmed: "ok" } as const, last };
    const { condition, state } = statusOf(check, { recordOf: () => record, nowMs: NOW });
    return [condition, state];
  };
  assert.deepEqual(of("a"), ["ok", "current"]);
  assert.deepEqual(of("b"), ["unknown", "edited"]);
  assert.deepEqual(of(), ["ok", "current"], "of a version that did not write it");
});

Deno.test("statusOf() returns unknown for a check that only a service ran that does not run", async (t) => {
  const base = recordOf("web");
  const of = (observedAtMs: number, notRunning: NotRunning, isShared: boolean): readonly string[] => {
    const record = {
      ...base,
      condition: { ...base.condition, confirmed: "ok", observedAtMs } as const,
      last: resultOf({ condition: "ok", startedAtMs: observedAtMs, output: "fine" }),
      isShared,
    };
    const status = statusOf(testCheck("ok", { name: "web" }), {
      recordOf: () => record,
      notRunning,
      nowMs: NOW,
    });
    return [status.condition, status.state, describeStatus(status, NOW)];
  };
  const states = {
    stopped: "stopped 2 min ago",
    died: "terminated unexpectedly, last seen 2 min ago",
    hangs: "hangs, last seen 2 min ago",
  };
  for (const [state, words] of Object.entries(states)) {
    await t.step(state, () => {
      const notRunning = { state: state as NotRunning["state"], sinceMs: NOW - 2 * MINUTE };
      assert.deepEqual(of(NOW - 2 * MINUTE, notRunning, false), [
        "unknown",
        "not_running",
        `monitor ${words}, was ok: fine`,
      ]);
      assert.deepEqual(
        of(NOW - MINUTE, notRunning, false),
        ["ok", "current", "fine"],
        "run by a single call",
      );
      assert.equal(of(NOW - MINUTE, notRunning, true)[0], "unknown", "by another clock");
    });
  }
});

Deno.test("statusOf() expects no first run of a cron schedule while the service does not run", () => {
  const check = {
    ...testCheck("ok", { name: "web" }),
    schedule: {
      times: { expression: "0 3 * * *", timeZone: "UTC", after: () => NOW + DAY },
      attentiveIntervalMs: null,
    },
  };
  const of = (notRunning: NotRunning | null): readonly string[] => {
    const status = statusOf(check, { recordOf: () => null, notRunning, nowMs: NOW });
    return [status.condition, describeStatus(status, NOW)];
  };
  assert.deepEqual(of(null), ["pending", "never ran, first run in 1 d"]);
  assert.deepEqual(of({ state: "stopped", sinceMs: NOW }), ["unknown", "never ran"]);
});

Deno.test("statusOf() returns unknown for a last run further in the future than two intervals", async (t) => {
  const minutely = testCheck("ok", { name: "web", regularIntervalMs: MINUTE, attentiveIntervalMs: MINUTE });
  const rows: Readonly<Record<string, readonly [aheadMs: number, endMs: number, state: string]>> = {
    "a clock that was set back a little": [2 * MINUTE, 2 * MINUTE, "current"],
    "a clock that was set back by more": [2 * MINUTE + 1, 2 * MINUTE + 1, "in_future"],
    "a clock that was years ahead": [500 * DAY, 500 * DAY, "in_future"],
    "a clock that went ahead during the run": [-MINUTE, 500 * DAY, "in_future"],
  };
  await testRows(t, rows, ([aheadMs, endMs, state]) => {
    const base = recordOf("web");
    const record = {
      ...base,
      condition: { ...base.condition, confirmed: "ok", observedAtMs: NOW + endMs } as const,
      last: resultOf({ startedAtMs: NOW + aheadMs }),
      nextRunAtMs: NOW + endMs + MINUTE,
    };
    const status = statusOf(minutely, { recordOf: () => record, nowMs: NOW });
    assert.equal(status.state, state);
    assert.equal(status.condition, state === "current" ? "ok" : "unknown");
  });
});

Deno.test("statusOf() returns the checks that suppress notifications", async (t) => {
  const base = recordOf("web");
  const web = {
    ...base,
    condition: { ...base.condition, confirmed: "critical", notified: "ok", problemBeganAtMs: NOW - MINUTE },
    last: resultOf({ condition: "critical", output: "down", startedAtMs: NOW - MINUTE }),
    nextRunAtMs: NOW + MINUTE,
  } as const;
  const router = (observedAtMs: number, confirmed: Condition) => ({
    ...recordOf("router"),
    condition: { ...base.condition, confirmed, observed: confirmed, observedAtMs },
  });
  const rows: Readonly<Record<string, readonly [router: ReturnType<typeof router> | null, text: string]>> = {
    "was never seen": [null, 'down [suppressed: depends on "router"]'],
    "has a problem itself": [router(NOW, "critical"), 'down [suppressed: depends on "router"]'],
    "was not seen since": [router(NOW - 2 * MINUTE, "ok"), 'down [suppressed: depends on "router"]'],
    "is well": [router(NOW, "ok"), "down [not notified]"],
  };
  await t.step("is inactive", () => {
    const check = testCheck("ok", { name: "web", dependsOn: ["router"] });
    const recordOf = (one: string) => one === "web" ? web : null;
    const status = statusOf(check, { recordOf, inactive: new Set(["router"]), nowMs: NOW });
    assert.equal(describeStatus(status, NOW), "down [not notified]");
  });
  await t.step("is inactive, and its alternative has a problem", () => {
    const check = { ...testCheck("ok", { name: "web" }), dependsOn: [{ any: ["old router", "router"] }] };
    const recordOf = (one: string) => one === "web" ? web : one === "router" ? router(NOW, "critical") : null;
    const status = statusOf(check, { recordOf, inactive: new Set(["old router"]), nowMs: NOW });
    assert.equal(describeStatus(status, NOW), 'down [suppressed: depends on "router"]');
  });
  await testRows(t, rows, ([dependency, text]) => {
    const status = statusOf(testCheck("ok", { name: "web", dependsOn: ["router"] }), {
      recordOf: (one) => one === "web" ? web : dependency,
      nowMs: NOW,
    });
    assert.equal(describeStatus(status, NOW), text);
  });
});

Deno.test("overdueAtMs() goes by the attentive interval while a check is failing", () => {
  const schedule = { regularIntervalMs: 60 * MINUTE, attentiveIntervalMs: MINUTE };
  const check = { ...testCheck("ok", { name: "web", schedule }), timeoutMs: 1000 };
  const lateAt = (observed: Condition): number => {
    const base = recordOf("web", { nextRunAtMs: NOW });
    return overdueAtMs(check, { ...base, condition: { ...base.condition, confirmed: "ok", observed } });
  };
  assert.deepEqual([lateAt("ok"), lateAt("critical")], [NOW + 120 * MINUTE, NOW + 2 * MINUTE]);
});

Deno.test("knownNotified() is ok only if that was notified or known", async (t) => {
  const never = initialState();
  const known = { ...never.leftAtMs, ok: 2 };
  const rows: Readonly<Record<string, readonly [Partial<typeof never>, Condition | null]>> = {
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
  await testRows(
    t,
    rows,
    ([state, expected]) => assert.equal(knownNotified({ ...never, ...state }), expected),
  );
});
