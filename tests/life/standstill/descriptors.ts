/** What a monitor has open between two runs. */
import { countDescriptors, describeDescriptors } from "../../../scripts/soak/mixed/process_facts.ts";
import { pause, until } from "./waits.ts";

const LOOKED_AT_FOR_MS = 4_000;
const LOOK_EVERY_MS = 10;

/** The fewest that it has during more than an interval. */
export async function leastDescriptors(pid: number, signal: AbortSignal): Promise<number> {
  let least = Infinity;
  for (const endMs = performance.now() + LOOKED_AT_FOR_MS; performance.now() < endMs;) {
    least = Math.min(least, countDescriptors(pid));
    await pause(LOOK_EVERY_MS, signal);
  }
  return least;
}

/**
 * Waits until it has no more than so many, and answers how many.
 *
 * @throws {Error} If it always has more, with what they are.
 */
export async function descriptorsAtMost(most: number, pid: number, signal: AbortSignal): Promise<number> {
  let count = Infinity;
  try {
    await until(`${most} descriptors`, () => (count = countDescriptors(pid)) <= most, signal);
    return count;
  } catch (error) {
    throw new Error(`not ${most} descriptors: ${JSON.stringify(describeDescriptors(pid, String))}`, {
      cause: error,
    });
  }
}
