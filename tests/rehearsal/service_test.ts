/** A rehearsal comes to what the simulated service sends: the whole program, with its processes, requests and files. */
import assert from "node:assert/strict";
import { CONDITIONS } from "../../src/domain/condition.ts";
import { createRandom, type Random } from "../../testing/random.ts";
import { campaign, testSeed } from "../../testing/seed.ts";
import { play as playService } from "../../testing/simulation/mod.ts";
import { play } from "./play.ts";
import { randomScenario } from "./random_scenario.ts";

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
function byCheck(
  messages: readonly { readonly channel: string; readonly atMs: number; readonly text: string }[],
): Readonly<Record<string, readonly Item[]>> {
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

Deno.test("rehearse: the messages are those of the simulated service", async () => {
  let count = 0;
  for (let round = 0; round < campaign(40); round++) {
    const seed = testSeed() + round;
    const { config, scenario } = randomScenario(createRandom(seed, "service"), 0.15);
    // No check runs at these seconds, at which everything happens.
    const start = `${scenario.start}:20`;
    const { results, actions } = scenario;
    const rehearsed = await play({ ...scenario, start, channels: {} }, config);
    const { world, receivers, failure } = await playService({
      start,
      zone: scenario.time_zone,
      config,
      results: Object.fromEntries(
        Object.entries(results).map(([name, text]) => [name, text.startsWith("+") ? `ok, ${text}` : text]),
      ),
      actions: Object.fromEntries(
        Object.entries(actions).map((
          [time, action],
        ) => [time, action === "restart" ? ["stop", "start"] : action]),
      ),
      until: scenario.until,
      expect: { chat: "any", pager: "any", boss: "any" },
    }, { seed });
    const where = `seed ${seed}: ${JSON.stringify({ config, scenario }, null, 1)}`;
    assert.equal(failure, null, where);
    const expected = byCheck(receivers.messages);
    const actual = byCheck(
      rehearsed.channels.flatMap(({ name, sent }) => sent.map((one) => ({ channel: name, ...one }))),
    );
    for (const key of Object.keys({ ...expected, ...actual })) {
      const [sent, rehearsed] = [expected[key] ?? [], actual[key] ?? []];
      const from = sent.findIndex(({ atMs, words }, index) => {
        const other = rehearsed[index];
        return other?.words !== words || Math.abs(other.atMs - atMs) >= TOLERANCE_MS;
      });
      if (from === -1 && sent.length === rehearsed.length) continue;
      const shown = (items: readonly Item[]): readonly string[] =>
        items.slice(from === -1 ? -1 : Math.max(0, from - 1)).slice(0, 4)
          .map(({ atMs, words }) => `${words} ${world.describeTime(atMs)}`);
      assert.deepEqual(shown(rehearsed), shown(sent), `${key}, ${where}`);
    }
    count += receivers.messages.length;
  }
  assert.ok(count > campaign(400), `only ${count} messages`);
});

/** Results change at full hours, and channels recover long before the next hour: the jitter of retries has no effect. */
function brokenChannels({ pick, oneIn }: Random, hours: number) {
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
  return {
    results: { web: results(), db: results(), api: results() },
    channels: { chat: channel(), pager: channel() },
  };
}

const SERVER_WORDS = { accept: "up", fail: "503", reject: "404" } as const;

Deno.test("rehearse: channels that fail and reject get the same messages as from the simulated service", async () => {
  let count = 0;
  for (let round = 0; round < campaign(20); round++) {
    const seed = testSeed() + round;
    const random = createRandom(seed, "broken channels");
    const { results, channels } = brokenChannels(random, 12);
    const config = {
      channels: { chat: {}, pager: random.oneIn(2) ? { conditions: ["critical"] } : {} },
      checks: Object.fromEntries(["web", "db", "api"].map((name, index) => [name, {
        threshold: 1 + Math.floor(random.below(3)),
        ...index > 0 && random.oneIn(2) && { depends_on: ["web"] },
        schedule: { regular_interval: "1 minute", attentive_interval: "1 minute" },
      }])),
    };
    const start = "2026-03-03 00:30:20";
    const until = "2026-03-03 16:00";
    const rehearsed = await play({ start, time_zone: "UTC", until, results, channels }, config);
    const servers = Object.fromEntries(
      Object.entries(channels).map(([name, text]) => [
        name,
        text.replaceAll(/accept|fail|reject/g, (word) => SERVER_WORDS[word as keyof typeof SERVER_WORDS]),
      ]),
    );
    const { receivers, failure } = await playService({
      ...{ start, config, results, servers, until },
      expect: { chat: "any", pager: "any" },
    }, { seed });
    const where = `seed ${seed}: ${JSON.stringify({ config, results, channels }, null, 1)}`;
    assert.equal(failure, null, where);
    const words = (items: Readonly<Record<string, readonly Item[]>>) =>
      Object.fromEntries(
        Object.entries(items).filter(([key]) => !key.endsWith(" channel"))
          .map(([key, own]) => [key, own.map(({ words }) => words)]),
      );
    const sent = words(byCheck(receivers.messages.filter(({ isAgain }) => !isAgain)));
    const played = rehearsed.channels.flatMap(({ name, sent }) =>
      sent.map((one) => ({ channel: name, ...one }))
    );
    assert.deepEqual(words(byCheck(played)), sent, where);
    count += Object.values(sent).flat().length;
  }
  assert.ok(count > campaign(200), `only ${count} notifications`);
});
