import assert from "node:assert/strict";
import type { CheckRecord } from "../../src/domain/store.ts";
import { campaign, testSeed } from "../../testing/seed.ts";
import { createRandom } from "../../testing/random.ts";
import { messagesOf, play } from "./play.ts";
import { randomScenario } from "./random_scenario.ts";

Deno.test("rehearse: runs that are left out change neither messages nor states", async () => {
  let messages = 0;
  for (let round = 0; round < campaign(3, 1); round++) {
    const { config, scenario } = randomScenario(createRandom(testSeed() + round, "skipped"), {
      days: campaign(10, 2) / 10,
    });
    const ends: (readonly CheckRecord[])[] = [];
    // The journal and the measured values have only the runs that were not left out.
    const onEnd = (records: readonly CheckRecord[]): void =>
      void ends.push(
        records.map((record) => ({ ...record, journal: null, metricHour: null, metricHistory: null })),
      );
    const every = messagesOf(await play(scenario, config, { skips: false, onEnd }));
    const some = messagesOf(await play(scenario, config, { onEnd }));
    const where = `round ${round}: ${JSON.stringify({ config, scenario }, null, 1)}`;
    assert.deepEqual(some, every, where);
    assert.deepEqual(ends[1], ends[0], where);
    messages += Object.values(every).flat().length;
  }
  assert.ok(messages > campaign(75, 5), `only ${messages} messages`);
});
