/** Channels that filter, while members that share a state are killed. */
import assert from "node:assert/strict";
import { POSTGRES, sharedPostgres } from "../support/postgres.ts";
import { type Installation, until, withInstallation } from "./installation.ts";
import type { Program } from "./program.ts";
import { type Hook, startHook } from "./receivers.ts";

const postgres = sharedPostgres();

/** The first half of the checks is `warning` when it fails. */
const WARNINGS = ["web0", "web1", "web2", "web3", "web4", "web5"];
const ACKNOWLEDGED = ["web0", "web6"];

/** Long enough for a kill, and for others to take over, between a problem and its escalation. */
const FILTERS = {
  all: {},
  critical: { conditions: ["critical"] },
  late: { after: "12 seconds" },
  recoveries: { events: ["recovery"] },
  closed: { hours: [{ from: "2000-01-01", until: "2000-01-02" }] },
};

Deno.test({
  ...POSTGRES,
  name:
    "members that are killed before and during an escalation: it and its recovery are sent where they should",
  fn: () =>
    withInstallation(async (installation) => {
      await using critical = startHook();
      await using late = startHook();
      await using recoveries = startHook();
      await using closed = startHook();
      const { hook, names, run, start, turn, idle, assertEachOnce, describe } = installation;
      writeFilters(installation, { all: hook, critical, late, recoveries, closed });
      const escalating = names.filter((name) => !ACKNOWLEDGED.includes(name));
      const members = ["a", "b", "c"].map((name) => start(name)) as [Program, Program, Program];
      await turn(500);
      const { code, stderr } = await run("acknowledge", ...ACKNOWLEDGED);
      assert.equal(code, 0, stderr);
      members[0].signal("SIGKILL");
      await until("an escalation", () => late.posts.length > 0, describe);
      await idle();
      members[1].signal("SIGKILL");
      await until("each escalation", () => sentTo(late).length >= escalating.length, describe);
      await turn(200);
      await until("each recovery", () => sentTo(late).length >= 2 * escalating.length, describe);
      members[2].signal("SIGTERM");
      assert.equal((await members[2].end()).code, 0);
      assertEachOnce();
      const bothOf = (some: readonly string[]) =>
        some.flatMap((name) => [`${name} problem`, `${name} recovery`]).sort();
      assert.deepEqual(sentTo(late).toSorted(), bothOf(escalating));
      assert.deepEqual(sentTo(critical).toSorted(), bothOf(names.filter((name) => !WARNINGS.includes(name))));
      assert.deepEqual(sentTo(recoveries).toSorted(), names.map((name) => `${name} recovery`).sort());
      assert.deepEqual(sentTo(closed), []);
      for (const name of names) {
        for (const receiver of [hook, critical, late]) assertInOrder(sentTo(receiver), name);
      }
    }, postgres()),
});

function writeFilters(
  { names, writeConfig, checkOf }: Installation,
  hooks: Readonly<Record<keyof typeof FILTERS, Hook>>,
): void {
  const checks = names.map((name) => {
    const { parameters, ...check } = checkOf(name);
    const asWarning = WARNINGS.includes(name) && { as_warning: true };
    return [name, {
      ...check,
      notifications: Object.keys(FILTERS),
      parameters: { ...parameters as object, ...asWarning },
    }];
  });
  const channels = Object.entries(hooks).map(([name, hook]) => [
    name,
    { ...hook.channel, ...FILTERS[name as keyof typeof FILTERS] },
  ]);
  writeConfig({ checks: Object.fromEntries(checks), channels: Object.fromEntries(channels) });
}

/** `check event`, duplicates once, in the order in which they arrived. */
function sentTo({ posts }: Hook): readonly string[] {
  const items = posts.flatMap(({ notifications }) => notifications);
  const byId = new Map(items.toReversed().map((item) => [item.id, item]));
  return [...byId.values()].reverse().map(({ check, event, missed_problem }) => {
    assert.equal(missed_problem, null);
    return `${check} ${event}`;
  });
}

function assertInOrder(sent: readonly string[], name: string): void {
  const own = sent.filter((one) => one.startsWith(`${name} `)).map((one) => one.split(" ")[1]);
  assert.ok(own.length === 0 || own[0] === "problem", `${name}: ${own}`);
}
