import assert from "node:assert/strict";
import { outagesOf, suggestDependencies } from "../../src/engine/suggested_dependencies.ts";
import type { Check } from "../../src/domain/check.ts";
import type { Condition, ShownCondition } from "../../src/domain/condition.ts";
import { checkOf } from "../../testing/builders.ts";
import { type Rows, testRows } from "../support/rows.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** A check that fails at these minutes of each hour, for ten minutes each. */
interface Failing {
  readonly check: Partial<Check>;
  readonly minutes: readonly number[];
}

function failing(name: string, minutes: readonly number[], others: Partial<Check> = {}): Failing {
  return { check: { ...checkOf("test", {} as never, { name }), ...others } as Partial<Check>, minutes };
}

const PING = { kind: "ping", parameters: { host: "h.test" }, target: "h.test" } as unknown as Partial<Check>;
const HOURS = [1, 1, 1];

const ROWS: Rows<readonly [failing: readonly Failing[], expected: readonly string[]]> = {
  "one that fails first, each time": [[failing("a", [2, 2, 2]), failing("b", HOURS)], ["a: b, failed first"]],
  "one that fails first, not each time": [[failing("a", [2, 0, 2]), failing("b", HOURS)], []],
  "one that fails at the same time": [[failing("a", HOURS), failing("b", HOURS)], []],
  "fewer outages": [[failing("a", [2, 2]), failing("b", [1, 1])], []],
  "an outage of the other one alone": [[failing("a", [2, 2, 2]), failing("b", [1, 1, 1, 1])], []],
  "an outage of its own": [[failing("a", [2, 2, 2, 2]), failing("b", HOURS)], ["a: b, failed first"]],
  "outages that begin long after": [[failing("a", [9, 9, 9]), failing("b", HOURS)], []],
  "a ping of the same host, whatever fails first": [
    [failing("a", HOURS, { target: "http://h.test:8080/x" }), failing("b", [2, 2, 2], PING)],
    ["a: b, is a ping of the same host"],
  ],
  "a ping of another host": [
    [failing("a", HOURS, { target: "other.test:22" }), failing("b", HOURS, PING)],
    [],
  ],
  "a chain, without what follows from it": [
    [failing("a", [3, 3, 3]), failing("b", [2, 2, 2]), failing("c", HOURS)],
    ["a: b, failed first", "b: c, failed first"],
  ],
  "no circle with the config": [[failing("a", [2, 2, 2]), failing("b", HOURS, { dependsOn: ["a"] })], []],
  "none that the config has": [
    [failing("a", [2, 2, 2], { dependsOn: [{ any: ["b", "c"] }] }), failing("b", HOURS), failing("c", [])],
    [],
  ],
};

Deno.test("suggestDependencies() suggests what explains outages", async (t) => {
  await testRows(t, ROWS, ([all, expected]) => {
    const checks = all.map(({ check }) => check as Check);
    const outages = new Map(all.map(({ check, minutes }) => [
      check.name,
      minutes.map((minute, index) => {
        const fromMs = index * HOUR + minute * MINUTE;
        return { fromMs, untilMs: fromMs + 10 * MINUTE };
      }),
    ]));
    for (const order of [checks, checks.toReversed()]) {
      const found = suggestDependencies({
        checks: order,
        outagesOf: (name) => outages.get(name) ?? [],
        times: 3,
      });
      assert.deepEqual(found.map(({ check, parent, reason }) => `${check}: ${parent}, ${reason}`), expected);
    }
  });
});

Deno.test("outagesOf() joins changes between problems, and gaps", () => {
  const change = (atMs: number, from: ShownCondition, to: Condition) => ({
    ...{ name: "a", output: "", trace: "" },
    ...{ atMs, from, to },
  });
  assert.deepEqual(
    outagesOf([
      change(7, "ok", "critical"),
      change(5, "critical", "ok"),
      change(4, "unknown", "critical"),
      change(3, "critical", "unknown"),
      change(2, "warning", "critical"),
      change(1, "ok", "warning"),
    ]),
    [{ fromMs: 1, untilMs: 5 }, { fromMs: 7, untilMs: null }],
  );
});
