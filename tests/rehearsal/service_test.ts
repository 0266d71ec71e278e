/** A rehearsal comes to what the simulated service sends: the whole program, with its processes, requests and files. */
import assert from "node:assert/strict";
import { createRandom } from "../../testing/random.ts";
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
      // Milliseconds decide how often a group runs, and so when it flaps.
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
