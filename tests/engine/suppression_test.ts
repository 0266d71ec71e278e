import assert from "node:assert/strict";
import { checksToRun, suppressionOf, type SuppressionOptions } from "../../src/engine/suppression.ts";
import { initialState } from "../../src/condition/condition_state.ts";
import type { Check } from "../../src/domain/check.ts";
import type { ConditionState, Suppression } from "../../src/domain/condition.ts";
import { silenceOf } from "../state/records.ts";
import { testCheck } from "../support/checks.ts";
import { type Rows, testRows } from "../support/rows.ts";

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
