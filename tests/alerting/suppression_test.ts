import assert from "node:assert/strict";
import {
  suppressionOf,
  type SuppressionOptions,
  unknownDependencies,
} from "../../src/alerting/suppression.ts";
import { initialState } from "../../src/condition/transition.ts";
import type { Check } from "../../src/domain/check.ts";
import type { ConditionState, Suppression } from "../../src/domain/condition_state.ts";
import { silenceOf } from "../state/records.ts";
import { testCheck } from "../support/checks.ts";
import { testRows } from "../support/rows.ts";

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

interface Row {
  readonly name: string;
  readonly web?: Partial<Check>;
  readonly router?: ConditionState;
  readonly options?: Partial<SuppressionOptions>;
  readonly expected: Suppression | null;
  /** Whether the router has to run first. */
  readonly runsRouter?: boolean;
}

const TABLE: readonly Row[] = [
  { name: "nothing", expected: null },
  {
    name: "--no-notify before all else",
    options: { notifies: false, silences: [SILENCE] },
    expected: "no_notify",
  },
  {
    name: "a silence before a window",
    options: { silences: [SILENCE] },
    web: { maintenanceWindows: [OPEN] },
    expected: "silence",
  },
  { name: "a silence that has ended", options: { silences: [{ ...SILENCE, untilMs: NOW }] }, expected: null },
  {
    name: "a window before a silence until ok",
    options: { silences: [UNTIL_OK], stateOf: () => DOWN },
    web: { maintenanceWindows: [OPEN] },
    expected: "maintenance",
  },
  {
    name: "a silence until ok before a dependency",
    options: { silences: [UNTIL_OK], stateOf: () => DOWN },
    expected: "until_ok",
  },
  {
    name: "a started window",
    options: { silences: [{ ...SILENCE, kind: "maintenance" }] },
    expected: "maintenance",
  },
  {
    name: "a started window of a tag that the check has",
    options: { silences: [{ ...SILENCE, kind: "maintenance", tag: "front" }] },
    web: { tags: ["front"] },
    expected: "maintenance",
  },
  {
    name: "a started window of another tag",
    options: { silences: [{ ...SILENCE, kind: "maintenance", tag: "back" }] },
    web: { tags: ["front"] },
    expected: null,
  },
  {
    name: "a started window that has ended",
    options: { silences: [{ ...SILENCE, kind: "maintenance", untilMs: NOW }] },
    expected: null,
  },
  {
    name: "a window before a dependency",
    web: { maintenanceWindows: [OPEN] },
    router: DOWN,
    expected: "maintenance",
  },
  { name: "a dependency that is down", router: DOWN, expected: "dependency" },
  { name: "a dependency that never ran", router: NEVER_RAN, expected: "dependency", runsRouter: true },
  {
    name: "a dependency that does not run here",
    router: DOWN,
    options: { running: new Map() },
    expected: null,
  },
];

Deno.test("suppressionOf() returns the first reason that applies", async (t) => {
  for (const { name, web = {}, router = OK, options = {}, expected, runsRouter = false } of TABLE) {
    await t.step(name, () => {
      const check = { ...testCheck("ok", { name: "web", dependsOn: ["router"] }), ...web } as Check;
      const all = optionsOf({ stateOf: (one) => one === "router" ? router : OK, ...options });
      assert.strictEqual(suppressionOf(check, all), expected);
      assert.deepStrictEqual(unknownDependencies(check, all), runsRouter ? [ROUTER] : []);
    });
  }
});

Deno.test("suppressionOf() suppresses if all parents of several have a problem", async (t) => {
  const rows: Readonly<
    Record<
      string,
      readonly [a: ConditionState, b: ConditionState | null, isSuppressed: boolean, toRun: string]
    >
  > = {
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
    assert.equal(unknownDependencies(check, options).map(({ name }) => name).join(" "), toRun);
  });
});

Deno.test("suppressionOf() ignores dependencies until the clock reaches the time before it was set back", async (t) => {
  const before = { ...OK, observedAtMs: NOW - 2 };
  const rows: Readonly<
    Record<string, readonly [webAtMs: number, router: ConditionState, Suppression | null]>
  > = {
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
