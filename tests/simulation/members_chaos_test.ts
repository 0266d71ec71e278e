import assert from "node:assert/strict";
import { testSeed } from "../../testing/seed.ts";
import { runChaos } from "./members_chaos.ts";

const SEEDS = [-1, 0].map((index) => 2 * testSeed() + index);

for (const seed of SEEDS) {
  Deno.test(`members lose, invent and reorder nothing, whatever fails (seed ${seed})`, async () => {
    const { differences, trace } = await runChaos({ seed });
    assert.deepEqual(differences, [], trace);
  });
}

// A member that had lost the queue merged a problem with its recovery, and deleted the problem.
Deno.test("members that are paused between two steps lose nothing", async () => {
  const { differences, trace } = await runChaos({ seed: 5, kinds: ["kill at a step", "pause at a step"] });
  assert.deepEqual(differences, [], trace);
});
