import assert from "node:assert/strict";
import fc from "../../support/property.ts";
import {
  type CheckHistory,
  outagesOf,
  summarize,
  type SummaryInput,
} from "../../../src/outputs/summary/summarize.ts";
import { sentenceOf, summaryText } from "../../../src/outputs/summary/render_summary.ts";
import { DAY_MS, HOUR_MS } from "../../../src/shared/time_units.ts";
import { changeOf, NOW_MS, queuedOf, recordOf, resultOf } from "../../state/records.ts";
import { historyOf, NO_TIME, objectiveOf, runSums, WEEK } from "./histories.ts";
import { campaign } from "../../../testing/seed.ts";
import { type Condition, CONDITIONS, severity } from "../../../src/domain/condition.ts";
import type { ConditionChange } from "../../../src/domain/store.ts";

const FACTS = { ...WEEK, timeZone: "Europe/Zurich", hostName: "host-1", queued: [] };

const STALE: CheckHistory["present"] = {
  condition: "unknown",
  state: "overdue",
  last: "ok",
  reason: "not run for 9 d, was ok",
};

function summaryOf(checks: SummaryInput["checks"], fields: Partial<SummaryInput> = {}) {
  return summarize({ ...FACTS, checks, ...fields });
}

/** Down for some time that ended an hour before the end of the week. */
function downFor(name: string, downMs: number, fields: Partial<SummaryInput["checks"][number]> = {}) {
  const endMs = NOW_MS - HOUR_MS;
  return historyOf(name, {
    changes: [
      changeOf(name, endMs, { from: "critical", to: "ok", output: "fine" }),
      changeOf(name, endMs - downMs, { from: "ok", to: "critical", output: "status is 503" }),
    ],
    sums: { ...runSums(10_080, 40), lastedMs: { ...NO_TIME, ok: 7 * DAY_MS - downMs, critical: downMs } },
    ...fields,
  });
}

Deno.test("sentenceOf() sums a period up in words", () => {
  const web = historyOf("web");
  const noData = historyOf("new", { record: null, sums: { ...runSums(0, 0), lastedMs: NO_TIME } });
  const warned = historyOf("warn", {
    sums: { ...runSums(1, 1), lastedMs: { ...NO_TIME, ok: HOUR_MS, warning: HOUR_MS } },
  });
  const missed = downFor("shop", 2 * HOUR_MS, { objective: objectiveOf(99.9, { downMs: 2 * HOUR_MS }) });
  const still = historyOf("db", {
    changes: [changeOf("db", NOW_MS - HOUR_MS, { from: "ok", to: "unknown" })],
    sums: { ...runSums(9, 1), lastedMs: { ...NO_TIME, ok: DAY_MS, unknown: HOUR_MS } },
  });
  const rows: readonly (readonly [SummaryInput["checks"], string])[] = [
    [[], "There are no checks"],
    [[noData], "There is no data"],
    [[web, historyOf("shop")], "All 2 checks were up all week"],
    [
      [
        web,
        historyOf("late", { present: STALE }),
        historyOf("bad", {
          record: recordOf("bad", {
            last: resultOf({ condition: "critical" }),
            condition: {
              ...recordOf("bad").condition,
              confirmed: null,
              atLeast: { ok: 1, unknown: 1, warning: 1, critical: 1 },
            },
          }),
          sums: { ...runSums(1, 0), lastedMs: NO_TIME },
        }),
        historyOf("job", {
          record: recordOf("job", {
            last: resultOf({ condition: "unknown" }),
            condition: { ...recordOf("job").condition, confirmed: null, observed: null, atLeast: NO_TIME },
          }),
        }),
      ],
      "All 3 checks with data were up all week; 1 failed and is pending; 1 is unknown now; " +
      "1 check has no data",
    ],
    [
      [web, warned],
      "All 2 checks were up; there is data of a part of the time only of 1 check; 1 check had a warning",
    ],
    [[web, missed, still], "2 of 3 checks were down, 3 h in all; 1 is still down; 1 missed its objective"],
  ];
  for (const [checks, expected] of rows) assert.equal(sentenceOf(summaryOf(checks)), expected);
});

Deno.test("summarize() lists checks that were pending, or did not run, as without data", () => {
  const ran = { ...runSums(2, 1), lastedMs: NO_TIME };
  const sums = { ...runSums(0, 0), lastedMs: NO_TIME };
  const pending = historyOf("pending", {
    sums: ran,
    present: { condition: "pending", state: "current", last: "critical", reason: "" },
  });
  const { withoutData, availability } = summaryOf([
    pending,
    historyOf("late", { sums: ran, present: STALE }),
    historyOf("new", { sums, present: { condition: "unknown", state: "never_ran", last: null, reason: "" } }),
    historyOf("rare", { sums }),
    historyOf("first", { sums: { ...ran, runs: 1 } }),
  ]);
  assert.deepEqual(withoutData.items.map(({ name, runs, reason }) => `${name} ${runs} ${reason}`), [
    "pending 2 pending",
    "late 2 not run for 9 d, was ok",
    "new 0 never ran",
    "rare 0 no run in this period",
    "first 1 no time between two runs observed",
  ]);
  assert.deepEqual(availability.items, []);
  assert.equal(sentenceOf(summaryOf([pending])), "There is no data");
});

Deno.test("summarize() counts each check and each outage once, whatever their order and number", () => {
  const hours = fc.array(fc.integer({ min: 0, max: 100 }), { maxLength: 300 });
  fc.assert(
    fc.property(hours, (downs) => {
      const checks = downs.map((down, index) =>
        down === 0 ? historyOf(`check-${index}`) : downFor(`check-${index}`, down * HOUR_MS)
      );
      const summary = summaryOf(checks);
      const down = downs.filter((one) => one > 0);
      assert.equal(summary.downChecks, down.length);
      assert.equal(summary.outages.count, down.length);
      assert.equal(summary.downMs, down.reduce((sum, one) => sum + one * HOUR_MS, 0));
      const listed = summary.outages.items.map(({ fromMs, toMs }) => (toMs - fromMs) / HOUR_MS);
      assert.deepEqual(listed, down.toSorted((one, other) => other - one).slice(0, 100));
      // A page of text, however many checks there are.
      assert.ok(summaryText(summary).length < 8000);
    }),
    { numRuns: campaign(30) },
  );
});

Deno.test("summaryText() lists the problems of a week, each kind in its section", () => {
  const text = summaryText(summaryOf([
    downFor("shop", 28 * 60_000, {
      title: "Web\n\u202eshop",
      objective: objectiveOf(99.9, { downMs: 27 * 60_000, uncertainMs: 120_000 }),
    }),
    downFor("backup", 3 * HOUR_MS, {
      isJob: true,
      sums: { ...runSums(9, 0), lastedMs: { ...NO_TIME, ok: DAY_MS } },
    }),
    historyOf("api", {
      record: recordOf("api", {
        last: resultOf({ metrics: { certificate_left_seconds: 31 * 86_400 }, startedAtMs: NOW_MS }),
      }),
      sums: { ...runSums(10, 900), durationMaxMs: 61_000, lastedMs: { ...NO_TIME, ok: DAY_MS } },
    }),
    historyOf("tls", {
      record: recordOf("tls", {
        last: resultOf({ metrics: { certificate_left_seconds: 5 * 86_400 }, startedAtMs: NOW_MS }),
      }),
      sums: { ...runSums(1, 0), lastedMs: { ...NO_TIME, ok: DAY_MS } },
    }),
    historyOf("flappy", {
      record: recordOf("flappy", {
        condition: { ...recordOf("flappy").condition, confirmed: "ok", flappingSinceMs: NOW_MS - HOUR_MS },
      }),
      changes: [],
      sums: { ...runSums(1, 0), lastedMs: { ...NO_TIME, ok: DAY_MS } },
    }),
    historyOf("silent", { record: null, sums: { ...runSums(0, 0), lastedMs: NO_TIME } }),
  ], {
    queued: [
      queuedOf("one", 1, { channelName: "pager", lastFailure: "status is 500" }),
      queuedOf("two", 2, { channelName: "pager", state: "dropped", nextAttemptAtMs: NOW_MS - HOUR_MS }),
      queuedOf("old", 3, { channelName: "mail", state: "dropped", nextAttemptAtMs: NOW_MS - 8 * DAY_MS }),
      queuedOf("new", 4, { channelName: "chat", lastFailure: null }),
    ],
  }));
  assert.equal(
    text,
    `2 of 6 checks were down, 28 min observed in all; 1 check has no data.

2026-01-24 11:00 to 2026-01-31 11:00 (Europe/Zurich)
Host: host-1

Down
- Web shop: 2026-01-31 09:32 to 10:00, 28 min: status is 503

Jobs that failed or were overdue
- backup: 2026-01-31 07:00 to 10:00, 3 h, not all of it observed: status is 503

Availability
- Web shop: 99.722% up, 28 min down; objective 99.9% in 30 d met: 99.932% to 99.937% up, 27 min to 29 min of 43 min 12 s error budget used

Slowest checks
- api: p95 982 ms (+4857% to the period before), p50 815 ms, 1 min 1 s at most
- Web shop: p95 39 ms (+98% to the period before), p50 33 ms, 40 ms at most

Flapping
- flappy: 0 changes, still flapping

Certificates that expire soon
- tls: expires in 5 d, on 2026-02-05 11:00

Checks without data
- silent: no run in this period

Notifications that were not delivered
- pager: 1 dropped, 1 pending: connection refused
`,
  );
});

interface Traced {
  /** The confirmed condition of each time from 0 on, `ok` first. */
  readonly conditions: readonly Condition[];
  readonly sinceMs: number;
  readonly untilMs: number;
}

const TRACES = fc.record({
  conditions: fc.array(fc.constantFrom(...CONDITIONS), { minLength: 30, maxLength: 30 }),
  sinceMs: fc.integer({ min: 0, max: 14 }),
  untilMs: fc.integer({ min: 15, max: 29 }),
}).map(({ conditions, ...period }): Traced => ({ ...period, conditions: conditions.with(0, "ok") }));

function changesOf(conditions: readonly Condition[]): readonly ConditionChange[] {
  return conditions.flatMap((to, atMs) => {
    const from = conditions[atMs - 1] ?? "ok";
    return from === to ? [] : [changeOf("web", atMs, { from, to, output: `${to} at ${atMs}` })];
  });
}

/** The outages by a naive algorithm: each time that is down in the period, joined with those next to it. */
function naiveOutages({ conditions, sinceMs, untilMs }: Traced): readonly unknown[] {
  const isDown = (atMs: number): boolean => severity(conditions[atMs] ?? "ok") % 2 === 1;
  const found: unknown[] = [];
  for (let atMs = sinceMs; atMs <= untilMs; atMs++) {
    if (!isDown(atMs) || atMs > sinceMs && isDown(atMs - 1)) continue;
    let fromMs = atMs;
    while (isDown(fromMs - 1)) fromMs--;
    let toMs = atMs;
    while (toMs <= untilMs && isDown(toMs)) toMs++;
    const own = conditions.slice(sinceMs, untilMs + 1).slice(Math.max(0, atMs - sinceMs), toMs - sinceMs);
    // Before the period, an outage is known by its last change.
    const known = fromMs < sinceMs ? lastChangeBefore(conditions, sinceMs) : fromMs;
    found.push({
      condition: own.includes("critical") ? "critical" : "unknown",
      fromMs: known,
      toMs: Math.min(toMs, untilMs),
      end: toMs > untilMs ? "still_down" : "recovered",
      output: `${conditions[known]} at ${known}`,
    });
  }
  return found;
}

function lastChangeBefore(conditions: readonly Condition[], timeMs: number): number {
  let atMs = timeMs;
  while (atMs > 0 && conditions[atMs] === conditions[atMs - 1]) atMs--;
  return atMs;
}

Deno.test("outagesOf() finds the outages that a walk through all times finds", () => {
  // The walk takes a severity that is odd for downtime.
  assert.deepEqual(CONDITIONS.filter((one) => severity(one) % 2 === 1), ["unknown", "critical"]);
  fc.assert(fc.property(TRACES, (traced) => {
    const { conditions, sinceMs, untilMs } = traced;
    const all = changesOf(conditions).toReversed();
    const found = outagesOf({
      record: recordOf("web"),
      changes: all.filter(({ atMs }) => atMs > sinceMs),
      earlier: all.find(({ atMs }) => atMs <= sinceMs) ?? null,
    }, { sinceMs, untilMs });
    assert.deepEqual(found, naiveOutages(traced));
  }));
});

Deno.test("outagesOf() uses the record if no change is stored, and the next change if the last one is not", () => {
  const base = recordOf("web");
  const record = { ...base, condition: { ...base.condition, confirmed: "critical" as const } };
  const period = { sinceMs: base.condition.confirmedSinceMs ?? 0, untilMs: base.overdueAtMs ?? 0 };
  const [lasting] = outagesOf({ record, changes: [], earlier: null }, period);
  assert.deepEqual([lasting?.fromMs, lasting?.end], [base.condition.confirmedSinceMs, "still_down"]);
  const recovery = changeOf("web", period.sinceMs + 50, { from: "critical", to: "ok" });
  const [ended] = outagesOf({ record: base, changes: [recovery], earlier: null }, period);
  assert.deepEqual([ended?.fromMs, ended?.toMs, ended?.end], [period.sinceMs, recovery.atMs, "recovered"]);
  assert.deepEqual(outagesOf({ record: null, changes: [], earlier: null }, period), []);
});

Deno.test("outagesOf() ends with the last run of a check that is overdue", () => {
  const base = recordOf("web");
  const record = { ...base, condition: { ...base.condition, confirmed: "critical" as const } };
  const history = { record, changes: [], earlier: null };
  const [fromMs, toMs] = [base.condition.confirmedSinceMs ?? 0, base.condition.observedAtMs ?? 0];
  const untilMs = (base.overdueAtMs ?? 0) + 1;
  const [unobserved] = outagesOf(history, { sinceMs: fromMs, untilMs });
  assert.deepEqual([unobserved?.fromMs, unobserved?.toMs, unobserved?.end], [fromMs, toMs, "unobserved"]);
  assert.deepEqual(outagesOf(history, { sinceMs: toMs, untilMs }), [], "it was not observed in the period");
});
