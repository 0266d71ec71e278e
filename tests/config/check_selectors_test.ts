import assert from "node:assert/strict";
import type { Check } from "../../src/domain/check.ts";
import { describe, load, loadError } from "../../testing/config_system.ts";
import { testRows } from "../support/rows.ts";

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
