/** A rehearsal comes to what the simulated service sends: the whole program, with its processes, requests and files. */
import assert from "node:assert/strict";
import { CONDITIONS } from "../../src/domain/condition.ts";
import { createRandom, type Random } from "../../testing/random.ts";
import { campaign, testSeed } from "../../testing/seed.ts";
import { play as playService } from "../../testing/simulation/mod.ts";
import { play } from "./play.ts";
import { type RandomScenario, randomScenario } from "./random_scenario.ts";

/**
 * What takes time in the service takes none in a rehearsal. What is due at the very moment of a run may be decided by
 * the service half a minute later.
 */
const TOLERANCE_MS = 40_000;

interface Item {
  readonly atMs: number;
  readonly words: string;
}

/** By channel and check, since what is sent together depends on milliseconds. */
type Items = Readonly<Record<string, readonly Item[]>>;

function byCheck(
  messages: readonly { readonly channel: string; readonly atMs: number; readonly text: string }[],
): Items {
  const items = messages.flatMap(({ channel, atMs, text }) =>
    text.split(/, (?![^(]*\))/).map((words) => {
      const [, check] = words.split(" ");
      // Milliseconds decide how often a group runs, and so whether it flaps.
      const isGroup = check === "all";
      return {
        key: `${channel} ${check}`,
        atMs,
        words: isGroup ? words.replace(/ \(flapping\)|, flapping/, "") : words,
      };
    })
  );
  return Object.fromEntries([...Map.groupBy(items, ({ key }) => key)].sort());
}

const SERVER_WORDS = { accept: "up", fail: "503", reject: "404" } as const;

/** Plays a scenario by a rehearsal and by the simulated service. */
async function playBoth({ config, scenario }: RandomScenario, seed: number) {
  const { time_zone: zone, channels, actions, ...rest } = scenario;
  const played = await play(scenario, config);
  const changed = <Value>(members: Readonly<Record<string, string>>, change: (text: string) => Value) =>
    Object.fromEntries(Object.entries(members).map(([name, text]) => [name, change(text)]));
  const { world, receivers, failure } = await playService({
    ...{ ...rest, zone, config },
    servers: changed(
      channels,
      (text) =>
        text.replaceAll(/accept|fail|reject/g, (word) => SERVER_WORDS[word as keyof typeof SERVER_WORDS]),
    ),
    actions: changed(actions, (action) => action === "restart" ? ["stop", "start"] : action),
    expect: Object.fromEntries(Object.keys(config["channels"] ?? {}).map((name) => [name, "any"])),
  }, { seed });
  const where = `seed ${seed}: ${JSON.stringify({ config, scenario }, null, 1)}`;
  assert.equal(failure, null, where);
  return {
    rehearsed: byCheck(
      played.channels.flatMap(({ name, sent }) =>
        // In the end, only the rehearsed service is stopped, which sends what waits.
        sent.filter(({ atMs }) => atMs < world.nowMs).map((one) => ({ channel: name, ...one }))
      ),
    ),
    sent: byCheck(receivers.messages.filter(({ isAgain }) => !isAgain)),
    world,
    where,
  };
}

type Played = Awaited<ReturnType<typeof playBoth>>;

/** Asserts that the same was sent at about the same times, and returns how many notifications that were. */
function assertSame({ rehearsed, sent, world, where }: Played): number {
  for (const key of Object.keys({ ...sent, ...rehearsed })) {
    const [expected, actual] = [sent[key] ?? [], rehearsed[key] ?? []];
    const from = expected.findIndex(({ atMs, words }, index) => {
      const other = actual[index];
      return other?.words !== words || Math.abs(other.atMs - atMs) >= TOLERANCE_MS;
    });
    if (from === -1 && expected.length === actual.length) continue;
    const shown = (items: readonly Item[]): readonly string[] =>
      items.slice(from === -1 ? -1 : Math.max(0, from - 1)).slice(0, 4)
        .map(({ atMs, words }) => `${words} ${world.describeTime(atMs)}`);
    assert.deepEqual(shown(actual), shown(expected), `${key}, ${where}`);
  }
  return Object.values(sent).flat().length;
}

Deno.test("rehearse: the messages are those of the simulated service", async () => {
  let count = 0;
  for (let round = 0; round < campaign(4, 1); round++) {
    const seed = testSeed() + round;
    const { config, scenario } = randomScenario(createRandom(seed, "service"), { days: 0.15 });
    count += assertSame(await playBoth({ config, scenario: { ...scenario, channels: {} } }, seed));
  }
  assert.ok(count > campaign(40, 10), `only ${count} messages`);
});

/** Results change at full hours, and channels recover long before the next hour: the jitter of retries has no effect. */
function brokenChannels({ pick, oneIn, below }: Random, hours: number): RandomScenario {
  const time = (hour: number, minute: number): string =>
    `2026-03-03 ${String(hour).padStart(2, "0")}:${String(minute).padStart(2, "0")}`;
  const results = (): string =>
    Array.from({ length: hours }, (_, hour) => `${time(hour + 1, 0)} ${pick(["ok", ...CONDITIONS])}`).join(
      ", ",
    );
  const channel = (): string => {
    const parts: string[] = [];
    for (let hour = 0; hour < hours;) {
      const response = pick(["accept", "fail", "reject"] as const);
      // Notifications that are rejected for longer have a backoff of up to an hour.
      const lasts = response === "fail" && oneIn(3) ? 2 : 1;
      if (response !== "accept") parts.push(`${time(hour, 55)} ${response}`);
      hour += lasts;
      parts.push(`${time(hour, 20)} accept`);
    }
    return parts.join(", ");
  };
  const names = ["web", "db", "api"];
  return {
    config: {
      channels: { chat: {}, pager: oneIn(2) ? { conditions: ["critical"] } : {} },
      checks: Object.fromEntries(names.map((name, index) => [name, {
        threshold: 1 + Math.floor(below(3)),
        ...index > 0 && oneIn(2) && { depends_on: ["web"] },
        schedule: { regular_interval: "2 minutes", attentive_interval: "2 minutes" },
      }])),
    },
    scenario: {
      ...{ start: "2026-03-03 00:30:20", time_zone: "UTC", until: time(hours + 4, 0), actions: {} },
      results: Object.fromEntries(names.map((name) => [name, results()])),
      channels: { chat: channel(), pager: channel() },
    },
  };
}

Deno.test("rehearse: channels that fail and reject get the same messages as from the simulated service", async () => {
  let count = 0;
  for (let round = 0; round < campaign(2, 1); round++) {
    const seed = testSeed() + round;
    const { rehearsed, sent, where } = await playBoth(
      brokenChannels(createRandom(seed, "broken channels"), campaign(12, 5)),
      seed,
    );
    const words = (items: Items) =>
      Object.fromEntries(
        Object.entries(items).filter(([key]) => !key.endsWith(" channel"))
          .map(([key, own]) => [key, own.map(({ words }) => words)]),
      );
    assert.deepEqual(words(rehearsed), words(sent), where);
    count += Object.values(words(sent)).flat().length;
  }
  assert.ok(count > campaign(20, 4), `only ${count} notifications`);
});
