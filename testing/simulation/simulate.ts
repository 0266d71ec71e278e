import { testSeed } from "../seed.ts";
import { play, type Scenario } from "./scenario.ts";

/** A test that plays a scenario. A failure shows the messages that differ, the trace, and how to repeat it. */
export function simulate(
  name: string,
  scenario: Scenario,
  options: { readonly ignore?: boolean } = {},
): void {
  Deno.test(name, { ignore: options.ignore ?? false }, async () => {
    await playAndAssert(name, scenario);
  });
}

const TRACE_LINES_MAX = 200;

/** Its message says everything: where it was thrown is of no use. */
class SimulationFailure extends Error {
  override readonly name = "SimulationFailure";

  constructor(message: string) {
    super(message);
    this.stack = `SimulationFailure: ${message}`;
  }
}

/** Plays a scenario with the seed of this run, and fails if something is not as expected. */
export async function playAndAssert(
  name: string,
  scenario: Scenario,
): Promise<Awaited<ReturnType<typeof play>>> {
  const seed = testSeed();
  const result = await play(scenario, { seed });
  if (result.failure !== null) {
    const { trace, zone } = result.world;
    throw new SimulationFailure(
      [
        result.failure,
        "",
        `trace (${zone}), seed ${seed}; repeat it with: deno task test --seed ${seed} --filter "${name}"`,
        trace.text({ zone, linesMax: TRACE_LINES_MAX }),
      ].join("\n"),
    );
  }
  return result;
}
