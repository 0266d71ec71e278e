import assert from "node:assert/strict";
import { checksToRun, suppressionOf, type SuppressionOptions } from "../../src/engine/suppression.ts";
import { initialState } from "../../src/condition/condition_state.ts";
import type { Check } from "../../src/domain/check.ts";
import type { ConditionState, Suppression } from "../../src/domain/condition.ts";
import { silenceOf } from "../state/records.ts";
import { testCheck } from "../support/checks.ts";
import { type Rows, testRows } from "../support/rows.ts";
import { lastingSilences, silencesOf } from "../../src/engine/suppression.ts";
import { createCronReader } from "../../src/config/cron_times.ts";
import { WEEKDAYS } from "../../src/domain/schedule.ts";
import { nextWindow, openTimes, openWindow } from "../../src/engine/maintenance_windows.ts";
import type { CalendarWindow, MaintenanceWindow } from "../../src/domain/schedule.ts";

const NOW = 1_800_000_000_000;
const HOUR = 3_600_000;

const ROUTER = testCheck("ok", { name: "router" });
const OPEN = { fromMinute: 0, toMinute: 1440, timeZone: "UTC" };
const SILENCE = silenceOf("s", { check: null, fromMs: NOW, untilMs: NOW + HOUR });
/** Of the problem that `DOWN` has. */
const UNTIL_OK = { ...SILENCE, problemBeganAtMs: NOW };

const OK: ConditionState = { ...initialState(), observed: "ok", observedAtMs: NOW };
const DOWN: ConditionState = { ...OK, observed: "critical", confirmed: "critical", problemBeganAtMs: NOW };
const NEVER_RAN = initialState();

function optionsOf(options: Partial<SuppressionOptions>): SuppressionOptions {
  const running = new Map([["router", ROUTER]]);
  return { notifies: true, silences: [], running, stateOf: () => OK, nowMs: NOW, ...options };
}

type Row = readonly [
  expected: Suppression | null,
  options?: Partial<SuppressionOptions>,
  web?: Partial<Check>,
  router?: ConditionState,
];

const MAINTENANCE = { ...SILENCE, kind: "maintenance" } as const;
const IN_WINDOW = { maintenanceWindows: [OPEN] };

const TABLE: Readonly<Record<string, Row>> = {
  "nothing": [null],
  "--no-notify before all else": ["no_notify", { notifies: false, silences: [SILENCE] }],
  "a silence before a window": ["silence", { silences: [SILENCE] }, IN_WINDOW],
  "a silence that has ended": [null, { silences: [{ ...SILENCE, untilMs: NOW }] }],
  "a window before silenced until ok": [
    "maintenance",
    { silences: [UNTIL_OK], stateOf: () => DOWN },
    IN_WINDOW,
  ],
  "a silence until ok before a dependency": ["until_ok", { silences: [UNTIL_OK], stateOf: () => DOWN }],
  "a started window": ["maintenance", { silences: [MAINTENANCE] }],
  "a started window of a tag that the check has": [
    "maintenance",
    { silences: [{ ...MAINTENANCE, tag: "front" }] },
    { tags: ["front"] },
  ],
  "a window of another tag": [null, { silences: [{ ...MAINTENANCE, tag: "back" }] }, { tags: ["front"] }],
  "a window before a dependency": ["maintenance", {}, IN_WINDOW, DOWN],
  "a dependency that is down": ["dependency", {}, {}, DOWN],
  "a dependency that never ran": ["dependency", {}, {}, NEVER_RAN],
  "a dependency that does not run here": [null, { running: new Map() }, {}, DOWN],
};

Deno.test("suppressionOf() returns the first reason that applies", async (t) => {
  await testRows(t, TABLE, ([expected, options, web, router = OK]) => {
    const check = { ...testCheck("ok", { name: "web", dependsOn: ["router"] }), ...web } as Check;
    const all = optionsOf({ stateOf: (one) => one === "router" ? router : OK, ...options });
    assert.strictEqual(suppressionOf(check, all), expected);
    assert.deepStrictEqual(checksToRun(check, all), router === NEVER_RAN ? [ROUTER] : []);
  });
});

Deno.test("suppressionOf() suppresses if all parents of several have a problem", async (t) => {
  const rows: Rows<[a: ConditionState, b: ConditionState | null, isSuppressed: boolean, toRun: string]> = {
    "both are ok": [OK, OK, false, ""],
    "one is down": [DOWN, OK, false, ""],
    "both are down": [DOWN, DOWN, true, ""],
    "one is down, the other never ran": [DOWN, NEVER_RAN, true, "b"],
    "one is ok, the other never ran": [OK, NEVER_RAN, false, ""],
    "neither ran": [NEVER_RAN, NEVER_RAN, true, "a b"],
    "one is down, the other does not run here": [DOWN, null, true, ""],
  };
  await testRows(t, rows, ([a, b, isSuppressed, toRun]) => {
    const check = { ...testCheck("ok", { name: "web" }), dependsOn: [{ any: ["a", "b"] }] };
    const parents = ["a", ...b === null ? [] : ["b"]];
    const options = optionsOf({
      running: new Map(parents.map((parent) => [parent, testCheck("ok", { name: parent })])),
      stateOf: (one) => ({ a, b: b ?? OK })[one] ?? OK,
    });
    assert.equal(suppressionOf(check, options), isSuppressed ? "dependency" : null);
    assert.equal(checksToRun(check, options).map(({ name }) => name).join(" "), toRun);
  });
});

Deno.test("suppressionOf() ignores dependencies until the clock reaches the time before it was set back", async (t) => {
  const before = { ...OK, observedAtMs: NOW - 2 };
  const rows: Rows<[webAtMs: number, router: ConditionState, Suppression | null]> = {
    "no result since then": [NOW + HOUR, before, "dependency"],
    "no result of the router": [NOW - 1, before, "dependency"],
    "the router is ok": [NOW - 1, OK, null],
    "the router is down": [NOW - 1, DOWN, "dependency"],
  };
  await testRows(t, rows, ([observedAtMs, router, expected]) => {
    const web = { ...DOWN, problemBeganAtMs: NOW + HOUR, observedAtMs };
    const stateOf = (one: string) => one === "router" ? router : web;
    assert.equal(suppressionOf(testCheck("ok", { dependsOn: ["router"] }), optionsOf({ stateOf })), expected);
  });
});

const OF_WEB = silenceOf("s", { check: "web", fromMs: NOW - 5, untilMs: NOW + 5 });
const OF_WEB_UNTIL_OK = { ...OF_WEB, problemBeganAtMs: NOW - 9 };

Deno.test("silencesOf() returns silences from begin to end, and ends one until ok with its problem", async (t) => {
  type Row = readonly [silence: typeof OF_WEB, began: number | null, nowMs: number, isSilenced: boolean];
  const rows: Readonly<Record<string, Row>> = {
    "one that begins now": [OF_WEB, null, NOW - 5, true],
    "one of another machine, whose clock is ahead": [OF_WEB, null, NOW - 3_600_000, true],
    "one that ends now": [OF_WEB, null, NOW + 5, false],
    "its problem": [OF_WEB_UNTIL_OK, NOW - 9, NOW, true],
    "its problem, and the clock was set back behind the silence": [OF_WEB_UNTIL_OK, NOW - 9, NOW - 20, true],
    "no problem": [OF_WEB_UNTIL_OK, null, NOW, false],
    "a later problem": [OF_WEB_UNTIL_OK, NOW - 4, NOW, false],
    "a later problem that began earlier, since the clock was set back": [
      OF_WEB_UNTIL_OK,
      NOW - 20,
      NOW,
      false,
    ],
    "its problem after the longest time": [OF_WEB_UNTIL_OK, NOW - 9, NOW + 5, false],
    "one of all checks": [{ ...OF_WEB, check: null }, null, NOW, true],
    "one of a tag that it has": [{ ...OF_WEB, check: null, tag: "front" }, null, NOW, true],
    "one of another tag": [{ ...OF_WEB, check: null, tag: "back" }, null, NOW, false],
  };
  await testRows(t, rows, ([silence, problemBeganAtMs, nowMs, isSilenced]) => {
    const check = { name: "web", tags: ["front"], problemBeganAtMs };
    assert.equal(silencesOf(check, [silence], { kind: "silence", nowMs }).length, isSilenced ? 1 : 0);
  });
});

Deno.test("lastingSilences() drops one until ok once its problem has ended", async (t) => {
  const rows: Rows<[silence: typeof OF_WEB, record: string, began: number | null, lasts: boolean]> = {
    "its problem goes on": [OF_WEB_UNTIL_OK, "web", NOW - 9, true],
    "its problem has ended": [OF_WEB_UNTIL_OK, "web", null, false],
    "a later problem": [OF_WEB_UNTIL_OK, "web", NOW, false],
    "only another check has a problem": [OF_WEB_UNTIL_OK, "mail", NOW - 9, false],
    "until a time": [OF_WEB, "web", null, true],
  };
  await testRows(t, rows, ([silence, name, problemBeganAtMs, lasts]) => {
    const record = { name, condition: { ...initialState(), problemBeganAtMs } };
    assert.deepEqual(lastingSilences([silence], [record]), lasts ? [silence] : []);
  });
});

const MINUTE = 60_000;
const SATURDAYS = createCronReader()("0 3 * * sat", "Europe/Zurich") ?? assert.fail();

/** Reads a window such as `22:00-06:00 sat 1..7 feb Europe/Zurich`, of which the times alone are required. */
function windowOf(text: string): CalendarWindow {
  const [times = "", ...words] = text.split(" ");
  const [fromMinute = NaN, toMinute = NaN] = times.split("-").map((time) =>
    Number(time.slice(0, 2)) * 60 + Number(time.slice(3))
  );
  const others: Record<string, unknown> = {};
  for (const word of words) {
    const [from = NaN, to = from] = word.split("..").map(Number);
    if (word.includes("/")) others["timeZone"] = word;
    else if (!Number.isNaN(from)) others["daysOfMonth"] = [{ from, to }];
    else others[(WEEKDAYS as readonly string[]).includes(word) ? "days" : "months"] = [word];
  }
  return { fromMinute, toMinute, timeZone: "UTC", ...others };
}

Deno.test("openWindow() continues from one window to the next, and returns no end of endless ones", () => {
  const night = [windowOf("22:00-24:00"), { ...windowOf("00:00-06:00"), reason: "restart" }];
  const atMs = Date.parse("2026-01-10T23:00Z");
  const untilMs = Date.parse("2026-01-11T06:00Z");
  assert.deepStrictEqual(openWindow(night, atMs), { reason: "restart", untilMs });
  assert.deepStrictEqual(openWindow([windowOf("00:00-24:00")], atMs), { reason: "", untilMs: null });
  assert.strictEqual(openWindow([], atMs), null);
  const cron = [{ times: SATURDAYS, durationMs: 90 * MINUTE }];
  const opensMs = Date.parse("2026-01-10T02:00Z");
  assert.deepEqual([openWindow(cron, opensMs - 1), openWindow(cron, opensMs)?.untilMs], [
    null,
    opensMs + 90 * MINUTE,
  ]);
  assert.equal(openWindow(cron, opensMs + 90 * MINUTE), null);
});

Deno.test("nextWindow() returns the present or next time of a window", async (t) => {
  const nowMs = Date.parse("2026-11-23T12:00Z");
  // Begin and end; `-`: open now, or without end.
  const rows: Rows<[string | MaintenanceWindow, expected: string]> = {
    "tomorrow": ["02:00-04:00", "2026-11-24T02:00 2026-11-24T04:00"],
    "open now": ["10:00-13:00", "- 2026-11-23T13:00"],
    "the first Sunday of a month": ["02:00-04:00 sun 1..7", "2026-12-06T02:00 2026-12-06T04:00"],
    "the last day of February": ["02:00-04:00 -1 feb", "2027-02-28T02:00 2027-02-28T04:00"],
    "February 29": ["02:00-04:00 29 feb", "2028-02-29T02:00 2028-02-29T04:00"],
    "a Saturday, February 29": ["02:00-04:00 29 feb sat", "2048-02-29T02:00 2048-02-29T04:00"],
    "a day that never comes": ["02:00-04:00 31 feb", ""],
    "all the time": ["00:00-24:00", "- -"],
    // On 2027-03-28, 02:00 to 03:00 is skipped.
    "a skipped hour once a year": ["02:00-03:00 28 mar Europe/Zurich", "2028-03-28T00:00 2028-03-28T01:00"],
    "a cron schedule": [{ times: SATURDAYS, durationMs: 120 * MINUTE }, "2026-11-28T02:00 2026-11-28T04:00"],
    "to come": [{ fromMs: nowMs + MINUTE, untilMs: nowMs + 2 * MINUTE }, "2026-11-23T12:01 2026-11-23T12:02"],
    "once, over": [{ fromMs: nowMs - MINUTE, untilMs: nowMs }, ""],
  };
  await testRows(t, rows, ([written, expected]) => {
    const next = nextWindow(typeof written === "string" ? windowOf(written) : written, nowMs);
    const times = next === null ? [] : [next.fromMs, next.untilMs];
    const shown = times.map((ms) => ms === null ? "-" : new Date(ms).toISOString().slice(0, 16));
    assert.equal(shown.join(" "), expected);
  });
});

Deno.test("openTimes() returns all times of a period in which a window is open", async (t) => {
  const [sinceMs, untilMs] = [Date.parse("2026-11-23T12:00Z"), Date.parse("2026-11-26T00:00Z")];
  const rows: Rows<[string | MaintenanceWindow, string]> = {
    "each night, the last one cut": [
      "22:00-06:00",
      "23T22:00 24T06:00, 24T22:00 25T06:00, 25T22:00 26T00:00",
    ],
    "open at the begin": ["11:00-13:00 mon", "23T12:00 23T13:00"],
    "none": ["22:00-06:00 sat", ""],
    "always": ["00:00-00:00", "23T12:00 26T00:00"],
    "once": [{ fromMs: sinceMs + MINUTE, untilMs: sinceMs + 2 * MINUTE }, "23T12:01 23T12:02"],
    "once, over": [{ fromMs: sinceMs - MINUTE, untilMs: sinceMs }, ""],
  };
  await testRows(t, rows, ([written, expected]) => {
    const window = typeof written === "string" ? windowOf(written) : written;
    const shown = openTimes(window, { sinceMs, untilMs }).map(({ fromMs, toMs }) =>
      [fromMs, toMs].map((ms) => new Date(ms).toISOString().slice(8, 16)).join(" ")
    );
    assert.equal(shown.join(", "), expected);
  });
});
