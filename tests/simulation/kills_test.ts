/** Services that are killed between any two steps, and everything else that breaks at any moment. */
import assert from "node:assert/strict";
import { playChaos } from "../../testing/simulation/chaos.ts";
import { playWithKills } from "../../testing/simulation/kills.ts";
import type { Scenario, World } from "../../testing/simulation/mod.ts";
import { campaign, testSeed } from "../../testing/seed.ts";
import type { Received } from "../../testing/simulation/receivers.ts";

const FILTERED: Scenario = {
  start: "2026-03-02 21:59",
  config: {
    channels: {
      all: {},
      critical: { conditions: ["critical"] },
      late: { after: "4 minutes" },
      changes: { events: ["change", "recovery"] },
      tell: { kind: "command" },
    },
    checks: { web: {}, known: {} },
  },
  results: { web: "22:01 critical, 22:08 warning, 22:12 ok", known: "critical, 22:12 ok" },
  actions: { "22:00:30": "acknowledge known" },
  until: "22:17",
};

/** The notifications of each check and channel, in order. */
const ARRIVALS: Readonly<Record<string, readonly string[]>> = {
  "all web": ["problem critical", "change warning", "recovery ok"],
  "critical web": ["problem critical", "recovery warning"],
  "late web": ["problem critical", "change warning", "recovery ok"],
  "changes web": ["change warning", "recovery ok"],
  "all known": ["problem critical", "recovery ok"],
  "critical known": ["problem critical", "recovery ok"],
  "changes known": ["recovery ok"],
  "tell web": ["problem critical", "change warning", "recovery ok"],
  "tell known": ["problem critical", "recovery ok"],
};

Deno.test("a kill between any two steps loses no notification, and duplicates have one id", async () => {
  let kills = 0;
  let duplicates = 0;
  for await (
    const { world, receivers, failure, where } of playWithKills(FILTERED, {
      seed: testSeed(),
      count: campaign(40, 10),
    })
  ) {
    kills++;
    duplicates += receivers.messages.filter(({ isAgain }) => isAgain).length;
    const details = `${where}, seed ${testSeed()}\n${world.trace.text({ zone: "UTC", linesMax: 100 })}`;
    // It compares with no expectation.
    assert.doesNotMatch(failure ?? "", /^at /, details);
    assert.deepEqual(arrivalsOf(receivers.messages), ARRIVALS, details);
  }
  assert.ok(kills >= campaign(32, 8), `${kills} kills`);
  assert.ok(duplicates > 0, "a kill behind a request");
});

/** Calls by hand, however they end. */
const call = async (world: World): Promise<void> => void await world.machine().run("check", "--once");

const CALLS: Scenario = {
  ...FILTERED,
  mode: "manual",
  config: { channels: { all: {}, tell: { kind: "command" } }, checks: { web: {}, known: {} } },
  results: { web: "critical, 22:05 warning, 22:10 ok", known: "critical, 22:10 ok" },
  actions: { "22:00": call, "22:02": call, "22:06": call, "22:08": call, "22:11": call, "22:13": call },
};

Deno.test("a call that is killed between any two steps loses no notification for the next ones", async () => {
  const channels = ["all", "tell"];
  const expected = Object.fromEntries(channels.flatMap((channel) => [
    [`${channel} web`, ["problem critical", "change warning", "recovery ok"]],
    [`${channel} known`, ["problem critical", "recovery ok"]],
  ]));
  const kills = playWithKills(CALLS, { seed: testSeed(), count: campaign(40, 5) });
  for await (const { world, receivers, failure, where } of kills) {
    const details = `${where}, seed ${testSeed()}\n${world.trace.text({ zone: "UTC" })}`;
    assert.doesNotMatch(failure ?? "", /^at /, details);
    assert.deepEqual(arrivalsOf(receivers.messages), expected, details);
  }
});

/** By channel and check, without duplicates. */
function arrivalsOf(messages: readonly Received[]): Readonly<Record<string, readonly string[]>> {
  const arrivals: Record<string, string[]> = {};
  for (const { channel, items, isAgain } of messages) {
    if (isAgain) continue;
    for (const { check, event, condition } of items) {
      (arrivals[`${channel} ${check}`] ??= []).push(`${event} ${condition}`);
    }
  }
  return arrivals;
}

const WORLDS = campaign(4, 1);
const HOURS = campaign(6);

for (let index = 0; index < WORLDS; index++) {
  Deno.test(`whatever breaks, each change arrives in order and nothing is invented: world ${index + 1}`, async () => {
    const seed = 1000 * testSeed() + index;
    const { world, failure } = await playChaos({ seed, hours: HOURS, checks: 4 });
    assert.ok(
      failure === null,
      `${failure}\n\nworld ${index + 1} of --seed ${testSeed()}\n${
        world.trace.text({ zone: "UTC", linesMax: 400 })
      }`,
    );
  });
}
