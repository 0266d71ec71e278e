import assert from "node:assert/strict";
import { locateChecks } from "../../src/config/locations.ts";
import { describePath } from "../../src/config/problem.ts";
import { load } from "../../testing/config_system.ts";
import { testRows } from "../support/rows.ts";

const TEST = { kind: "test", parameters: {} };
const THREE = { from: ["fra", "nyc", "sgp"] };

/** Returns the errors of the locations of a config, one line each, and the locations of its checks. */
async function locate(config: object) {
  const { checks, fileOf } = await load({ defaults: {}, ...config });
  const located = locateChecks(checks, {
    fileOf,
    refusalOf: ({ kind }) => kind === "group" ? "it is a group" : null,
  });
  return {
    problems: located.problems.map(({ path, message, hint }) =>
      `${describePath(path)}: ${message}${hint === undefined ? "" : ` (${hint})`}`
    ),
    locations: Object.fromEntries(located.checks.map((check) => [check.name, check.locations])),
  };
}

Deno.test("locateChecks() returns errors in locations", async (t) => {
  const at = (locations: object, others: object = {}) => ({
    web: { ...TEST, locations: { ...THREE, ...locations }, ...others },
  });
  const place = "checks.web.locations";
  const many = "is 4, expected at most 3, the number of locations";
  const cases: Readonly<Record<string, readonly [checks: object, problem: string, defaults?: object]>> = {
    "more that must agree than there are": [at({ agree: 4 }), `${place}.agree: ${many}`],
    "the same in defaults, once": [
      { web: TEST, mail: TEST },
      `defaults.locations.agree: ${many}`,
      { locations: { ...THREE, agree: 4 } },
    ],
    "a cron schedule": [
      at({}, { schedule: { cron: "@daily" } }),
      `${place}: cannot be used: locations run one after another, which needs an interval`,
    ],
  };
  await testRows(t, cases, async ([checks, problem, defaults = {}]) => {
    assert.deepEqual((await locate({ defaults, checks })).problems, [problem]);
  });
});

Deno.test("locateChecks() requires more than half unless the config sets another number", async () => {
  const from = ["a", "b", "c", "d", "e"];
  for (const [count, agree] of [[1, 1], [2, 2], [3, 2], [4, 3], [5, 3]] as const) {
    const { problems, locations } = await locate({
      checks: { web: { ...TEST, locations: { from: from.slice(0, count) } } },
    });
    assert.deepEqual(problems, []);
    assert.equal(locations["web"]?.agree, agree);
  }
});

Deno.test("locateChecks() ignores the locations of the defaults for kinds that cannot have them", async () => {
  const { problems, locations } = await locate({
    defaults: { locations: THREE },
    checks: {
      web: TEST,
      all: { kind: "group", parameters: { checks: ["web"] } },
      nightly: { ...TEST, schedule: { cron: "@daily" } },
      anywhere: { ...TEST, locations: { from: [] } },
      pinned: { ...TEST, locations: { from: ["nyc"] } },
    },
  });
  assert.deepEqual(problems, []);
  assert.deepEqual(locations, {
    web: { ...THREE, agree: 2 },
    all: undefined,
    nightly: undefined,
    anywhere: undefined,
    pinned: { from: ["nyc"], agree: 1 },
  });
});

Deno.test("placed() of a config shows a placeholder in place of its value, which may be a secret", async () => {
  const locations = { from: ["${env:X}", "${env:X}"] };
  const config = { defaults: {}, checks: { web: { ...TEST, locations } } };
  const { checks, fileOf, placed } = await load(config, { environment: { X: "sw0rdf1sh" } });
  const { problems } = locateChecks(checks, { fileOf, refusalOf: () => null });
  assert.deepEqual(placed(problems).map(({ message }) => message), [
    'is "${env:X}", which is specified more than once',
  ]);
});
