/**
 * Walks the timer wheel alongside a sorted list for the requested steps: too slow for the tests. `deno run scripts/soak_wheel.ts [STEPS] [SEED]`, 20 million steps from seed 100 by default, a new
 * seed each million.
 */
import { walkWheel } from "../testing/wheel_walk.ts";

const STEPS_A_SEED = 1_000_000;

/**
 * Walks the steps, a line a seed.
 *
 * @throws {Error} If the wheel and the list differ; the message names the seed that shows it.
 * @throws {RangeError} If an argument is not a whole number.
 */
export function soakWheel(steps: number, firstSeed: number): void {
  if (!Number.isSafeInteger(steps) || !Number.isSafeInteger(firstSeed)) {
    throw new RangeError(`Cannot walk "${steps}" steps from seed "${firstSeed}": both are whole numbers`);
  }
  let left = steps;
  for (let seed = firstSeed; left > 0; seed++) {
    const now = Math.min(left, STEPS_A_SEED);
    try {
      console.log(`seed ${seed}: ${JSON.stringify(walkWheel(seed, now))}`);
    } catch (error) {
      throw new Error(`Cannot go on after seed "${seed}": wheel and list differ`, { cause: error });
    }
    left -= now;
  }
}

if (import.meta.main) {
  const [steps = "20000000", seed = "100"] = Deno.args;
  soakWheel(Number(steps), Number(seed));
}
