/**
 * fast-check with the seed of the run: a property test of one commit always does the same. `deno task test --seed N`
 * sets another one; `deno task soak campaigns` tries many. A property has 100 runs, or a part of them by default.
 */
import fc from "fast-check";
import { campaign, testSeed } from "../../testing/seed.ts";

const SURROGATES = 0x800;

fc.configureGlobal({ seed: testSeed(), numRuns: campaign(100, 30) });

export { default } from "fast-check";

/** Any character but a lone surrogate. Unlike `unit: "binary"` it builds no map of all of them, which takes a second. */
export const anyCharacter: fc.Arbitrary<string> = fc.integer({ min: 0, max: 0x10ffff - SURROGATES })
  .map((code) => String.fromCodePoint(code < 0xd800 ? code : code + SURROGATES));
