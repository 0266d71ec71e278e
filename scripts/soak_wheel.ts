/**
 * Walks the timer wheel alongside a sorted list for the requested steps, and exhausts the handles of a row: too slow
 * for the tests. `deno run scripts/soak_wheel.ts [STEPS] [SEED]`, 20 million steps from seed 100 by default, a new
 * seed each million.
 */
import { TimerWheel } from "../src/scheduler/wheel.ts";
import { walkWheel } from "../testing/wheel_walk.ts";

const STEPS_A_SEED = 1_000_000;
/** One more than the handles of a row, and some. */
const USES = 2 ** 29 + 1000;

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

/**
 * Inserts and cancels until the first row has named as many timers as it may.
 *
 * @throws {Error} If an old handle then names a new timer.
 */
export function soakHandles(): void {
  const wheel = new TimerWheel<string>();
  const first = wheel.insert(1, "first");
  wheel.cancel(first);
  let last = first;
  for (let use = 1; use < USES; use++) {
    const handle = wheel.insert(1, "timer");
    if (handle === first || handle === last || !Number.isSafeInteger(handle)) {
      throw new Error(`Cannot trust handle "${handle}" of use ${use}: it is not new`);
    }
    if (wheel.cancel(last)) throw new Error(`Cannot trust handle "${last}": its timer was gone and is found`);
    if (!wheel.cancel(handle)) throw new Error(`Cannot trust handle "${handle}": its timer is not found`);
    last = handle;
  }
  console.log(`${USES} handles, the last of them ${last}`);
}

if (import.meta.main) {
  const [steps = "20000000", seed = "100"] = Deno.args;
  soakWheel(Number(steps), Number(seed));
  soakHandles();
}
