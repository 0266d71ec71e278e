/**
 * fast-check with the seed of the run: a property test of one commit always does the same. `deno task test --seed N`
 * sets another one; `deno task soak properties` tries many.
 */
import fc from "fast-check";
import { testSeed } from "../../testing/seed.ts";

fc.configureGlobal({ seed: testSeed() });

export { default } from "fast-check";
