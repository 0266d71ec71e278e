/** Availability as an interval, of the real program: the true downtime of a random target is in it. */
import assert from "node:assert/strict";
import { play } from "../../testing/simulation/scenario.ts";
import type { Scenario } from "../../testing/simulation/mod.ts";
import { campaign, testRandom, testSeed } from "../../testing/seed.ts";
import type { Random } from "../../testing/random.ts";

const START_MS = Date.UTC(2026, 2, 2, 21, 55);
const SECOND_MS = 1000;

/** Returns random outages, none shorter than a pause between runs, and what the target does. */
function outagesOf(random: Random): { readonly results: string; readonly downMs: number } {
  const seconds = (most: number): number => 75 + Math.floor(random.below(most));
  const changes: string[] = [];
  let downMs = 0;
  let atMs = START_MS + 180 * SECOND_MS;
  const note = (condition: string): void =>
    void changes.push(`${new Date(atMs).toISOString().slice(0, 19).replace("T", " ")} ${condition}`);
  for (let count = 0; count < 6; count++) {
    atMs += seconds(random.pick([60, 600, 1800])) * SECOND_MS;
    note("critical");
    const lastsMs = seconds(random.pick([30, 120, 900])) * SECOND_MS;
    downMs += lastsMs;
    atMs += lastsMs;
    note(random.pick(["ok", "warning"]));
  }
  return { results: changes.join(", "), downMs };
}

Deno.test("the true downtime is in the interval of the summary, whatever the schedule and the threshold", async () => {
  const random = testRandom("objectives");
  for (let count = 0; count < campaign(40, 1); count++) {
    const { results, downMs } = outagesOf(random);
    const attentive = random.pick(["1 minute", "20 seconds", "10 seconds"]);
    let shown = "";
    const scenario: Scenario = {
      start: "2026-03-02 21:55",
      mode: random.pick(["service", "service", "cron"]),
      config: {
        checks: {
          web: {
            objective: "99 % a day",
            threshold: random.pick([1, 3, 50]),
            schedule: { regular_interval: "1 minute", attentive_interval: attentive },
            notifications: [],
          },
        },
      },
      results: { web: results },
      finally: async (world) => {
        const { stdout } = await world.machine().run("summary", "--format", "json");
        const { objective } = JSON.parse(stdout).availability.items[0];
        const { used_lower_ms: lower, used_upper_ms: upper, outages, time } = objective;
        shown = JSON.stringify({ count, results, downMs, objective });
        assert.ok(lower <= downMs && downMs <= upper, shown);
        assert.equal(outages, 6, shown);
        assert.ok(upper - lower <= 6 * 2 * 61 * SECOND_MS, shown);
        assert.ok(time.monitor_off_ms + time.own_network_ms + time.maintenance_ms === 0, shown);
      },
    };
    const { failure } = await play(scenario, { seed: testSeed() + count });
    assert.equal(failure, null, shown);
  }
});
