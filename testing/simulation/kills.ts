import { play, type Scenario, type ScenarioResult } from "./scenario.ts";
import { Random } from "./random.ts";
import type { World } from "./world.ts";

/** How long a killed service is away. */
const AWAY_MS = 1_000;

export interface KillOptions {
  readonly seed: number;
  /** How many of the steps are tried, spread over all of them. @default all */
  readonly count?: number;
}

/** One play of a scenario with a kill. */
export interface KilledPlay extends ScenarioResult {
  /** Which step it was, and what would have come next. */
  readonly where: string;
}

/**
 * Plays a scenario again and again; each time, its first service is killed at another step, and started again a second
 * later. A step is everything that the process does outside of itself, such as one end of a request or of a transaction.
 */
export async function* playWithKills(
  scenario: Scenario,
  { seed, count = Infinity }: KillOptions,
): AsyncGenerator<KilledPlay> {
  let steps = 0;
  await play(scenario, {
    seed,
    prepare: (world) =>
      void (world.killsAt = (program) => {
        if (program === firstService(world)) steps = program.steps;
        return false;
      }),
  });
  const random = new Random(seed, "kills");
  const share = Math.max(1, steps / count);
  for (let at = 1 + random.next() * (share - 1); at <= steps; at += share) {
    const step = Math.floor(at);
    let where = "";
    const result = await play(scenario, {
      seed,
      prepare: (world) =>
        void (world.killsAt = (program, what) => {
          if (where !== "" || program !== firstService(world) || program.steps !== step) return false;
          where = `step ${step} of ${steps}, ${what}`;
          world.timeline.after(AWAY_MS, () => void program.machine.startWith({ args: program.args }));
          return true;
        }),
    });
    yield { ...result, where };
  }
}

function firstService({ machines: [machine] }: World): unknown {
  return machine?.programs.find(({ args }) => args[0] === "check");
}
