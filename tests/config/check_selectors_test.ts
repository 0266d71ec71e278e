import assert from "node:assert/strict";
import type { Check } from "../../src/domain/check.ts";
import { describe, load, loadError } from "../../testing/config_system.ts";
import { testRows } from "../support/rows.ts";
import { describePath } from "../../src/config/problem.ts";
import { findDependencyProblems } from "../../src/config/named_references.ts";
import { testCheck } from "../support/checks.ts";
import { campaign } from "../../testing/seed.ts";
import { locateChecks } from "../../src/config/locations.ts";

const CONSOLE = { kind: "console", parameters: {} };
const test = (...tags: readonly string[]) => ({ kind: "test", tags, parameters: {} });
const NETWORK = { "router-1": test("network"), "router-2": test("network", "spare"), "web-1": test("web") };

async function checksOf(checks: object, more: object = {}): Promise<ReadonlyMap<string, Check>> {
  const config = { defaults: { notifications: [CONSOLE] }, checks, ...more };
  return new Map((await load(config)).checks.map((check) => [check.name, check]));
}

async function problemsOf(checks: object, more: object = {}): Promise<readonly string[]> {
  const { problems } = await loadError({ defaults: { notifications: [CONSOLE] }, checks, ...more });
  return problems.map(describe);
}

Deno.test("depends_on selects checks by patterns and tags", async (t) => {
  const rows: Readonly<Record<string, readonly [dependsOn: unknown, found: unknown]>> = {
    "a pattern": [["router-*"], ["router-1", "router-2"]],
    "a sign of a pattern": [["route?-2"], ["router-2"]],
    "a tag": [["tag:network"], ["router-1", "router-2"]],
    "a name and a tag that has it": [["tag:network", "router-2"], ["router-1", "router-2"]],
    "one of a tag": [[{ any: ["tag:network"] }], [{ any: ["router-1", "router-2"] }]],
    "never itself": [["*-*"], ["router-1", "router-2", "web-1"]],
  };
  await testRows(t, rows, async ([dependsOn, found]) => {
    const checks = await checksOf({ ...NETWORK, "own-check": { ...test(), depends_on: dependsOn } });
    assert.deepEqual(
      checks.get("own-check")?.dependsOn.map((one) => typeof one === "string" ? one : { ...one }).sort(),
      found,
    );
  });
});

Deno.test("a name with the signs of a pattern, or of a tag, is a name", async () => {
  const checks = await checksOf({
    "*": test(),
    "tag:web": test(),
    ...NETWORK,
    own: { ...test(), depends_on: ["*", "tag:web"] },
  });
  assert.deepEqual(checks.get("own")?.dependsOn, ["*", "tag:web"]);
});

Deno.test("a dependency by tag leaves out inactive checks, and a group has them", async () => {
  const group = { kind: "group", tags: ["network"], parameters: { checks: ["tag:network"], at_least: 2 } };
  const checks = await checksOf({
    ...NETWORK,
    "router-1": { ...test("network"), active: false },
    "web-1": { ...test("web"), depends_on: ["tag:spare", "tag:network"] },
    group: { ...group, tags: [] },
  });
  assert.deepEqual(checks.get("web-1")?.dependsOn, ["router-2"]);
  const { parameters } = checks.get("group") ?? {};
  assert.deepEqual(parameters !== undefined && "checks" in parameters && parameters.checks, [
    "router-1",
    "router-2",
  ]);
});

Deno.test("a group is edited when a check gets its tag", async () => {
  const group = { kind: "group", parameters: { checks: ["tag:network"] } };
  const definition = async (tags: readonly string[]) =>
    (await checksOf({ ...NETWORK, "web-1": test(...tags), group })).get("group")?.definition;
  assert.notEqual(await definition(["network"]), await definition(["web"]));
  assert.equal(await definition(["web"]), await definition(["web"]));
});

Deno.test("channels with checks are those of the selected checks alone", async () => {
  const checks = await checksOf(
    { ...NETWORK, own: { ...test("network"), notifications: [CONSOLE, "net"] } },
    {
      channels: {
        net: { kind: "console", parameters: {}, checks: ["tag:network"] },
        web: { kind: "console", parameters: {}, checks: ["router-1"] },
      },
      defaults: { notifications: ["net", { channel: "web", checks: ["web-*"] }] },
    },
  );
  const names = [...checks].map((
    [name, { notifications }],
  ) => [name, notifications.map((one) => one.name ?? one.kind)]);
  assert.deepEqual(names, [
    ["router-1", ["net"]],
    ["router-2", ["net"]],
    ["web-1", ["web"]],
    ["own", ["console", "net"]],
  ]);
});

Deno.test("a check that no channel of its list is for gets a warning", async () => {
  const { warnings, placed } = await load({
    channels: { net: { ...CONSOLE, checks: ["tag:network"] } },
    defaults: { notifications: ["net"] },
    checks: NETWORK,
  });
  assert.deepEqual(placed(warnings).map(describe), [
    'defaults.notifications: has no channel for "web-1", so no notification of it is sent',
  ]);
});

Deno.test("an entry that selects nothing is an error with the nearest one", async () => {
  const group = (...checks: readonly string[]) => ({ kind: "group", parameters: { checks } });
  assert.deepEqual(
    await problemsOf({
      ...NETWORK,
      one: { ...test(), depends_on: ["ruoter-1", "ruoter-*", "tag:netwrok", { any: ["tag:none"] }] },
      "two-x": group("two-*"),
      three: { ...test("lonely"), depends_on: ["tag:lonely"] },
    }, {
      channels: { net: { ...CONSOLE, checks: ["tag:wbe"] } },
      defaults: { notifications: ["net", { ...CONSOLE, checks: ["web-2"] }] },
      page: { groups: [{ title: "Web", checks: ["web-?", "wbe-?"] }] },
    }),
    [
      'defaults.notifications[1].checks[0]: is "web-2", expected the name of a check (did you mean "web-1"?)',
      'checks.one.depends_on[0]: is "ruoter-1", expected the name of a check (did you mean "router-1"?)',
      'checks.one.depends_on[1]: is "ruoter-*", expected a pattern that matches another check (did you mean "router-*"?)',
      'checks.one.depends_on[2]: is "tag:netwrok", expected a tag of another check (did you mean "tag:network"?)',
      'checks.one.depends_on[3].any[0]: is "tag:none", expected a tag of another check',
      'checks.two-x.parameters.checks[0]: is "two-*", expected a pattern that matches another check',
      'checks.three.depends_on[0]: is "tag:lonely", expected a tag of another check',
      'channels.net.checks[0]: is "tag:wbe", expected a tag of a check (did you mean "tag:web"?)',
      'page.groups[0].checks[1]: is "wbe-?", expected a pattern that matches a check (did you mean "web-?"?)',
    ],
  );
});

Deno.test("checks that select each other are a cycle", async () => {
  assert.deepEqual(
    await problemsOf({
      "net-1": { ...test("net"), depends_on: ["tag:net"] },
      "net-2": { ...test("net"), depends_on: ["net-*"] },
    }),
    ['checks.net-1.depends_on: is a cycle: "net-1" depends on "net-2" depends on "net-1"'],
  );
});

/** Returns the problems of a chain of checks, each of which depends on the next one, and the last one on `last`. */
function chainProblems(length: number, last: readonly string[]): readonly string[] {
  const checks = Array.from({ length }, (_, index) =>
    testCheck("ok", {
      name: `c${index}`,
      dependsOn: index === length - 1 ? last : [`c${index + 1}`],
    }));
  return findDependencyProblems(checks).map(({ path, message }) => `${describePath(path)}: ${message}`);
}

Deno.test("findDependencyProblems() walks chains of very many checks, in time that grows with their number", () => {
  // Looking through the path at each step would take minutes.
  assert.deepEqual(chainProblems(campaign(200_000, 5_000), []), []);
  assert.deepEqual(chainProblems(1_000, ["c0"]), [
    'checks.c0.depends_on: is a cycle: "c0" depends on "c1" depends on "c2" depends on "c3" depends on "c4" depends on "c5" depends on ' +
    '… (993 more) … depends on "c999" depends on "c0"',
  ]);
});

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
