/**
 * The seed of everything random in tests, and the size of their campaigns. Both are the same in each run of a commit,
 * so that a failure can be repeated: `deno task test --seed N` sets another seed.
 */
import { createRandom, type Random } from "./random.ts";

/** The environment variable that sets the seed. */
export const SEED = "TEST_SEED";
/** The environment variable that sets the size of campaigns: `full`, or a part of that. */
export const CAMPAIGNS = "TEST_CAMPAIGNS";

/**
 * Returns the seed.
 *
 * @throws {RangeError} If it is no whole number.
 */
export function testSeed(): number {
  const text = variable(SEED) ?? "1";
  const seed = Number(text);
  if (!Number.isSafeInteger(seed)) throw new RangeError(`${SEED} is "${text}", expected a whole number`);
  return seed;
}

/** Returns random decisions that follow from the seed; a name sets them apart from those of other tests. */
export function testRandom(name: string): Random {
  return createRandom(testSeed(), name);
}

/**
 * Returns how many of so many rounds a campaign does: all in `deno task test:all` and `soak`, otherwise a few, which is
 * less than a tenth if a round is expensive.
 */
export function campaign(rounds: number, few: number = Math.ceil(rounds / 10)): number {
  return variable(CAMPAIGNS) === "full" ? rounds : few;
}

/** Fixtures run with fewer permissions, and use the default then. */
function variable(name: string): string | undefined {
  try {
    return Deno.env.get(name);
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) return undefined;
    throw error;
  }
}
