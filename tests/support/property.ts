/**
 * fast-check with a fixed seed: a property test of one commit always does the same. `PROPERTY_SEED` sets another seed;
 * `deno task soak properties` tries many.
 */
import fc from "fast-check";

fc.configureGlobal({ seed: Number(Deno.env.get("PROPERTY_SEED") ?? 1) });

export { default } from "fast-check";
