/**
 * Some tests have a short form, for every change, and a full form that takes minutes: more years, more scripts, larger
 * texts. `deno task soak full` runs the full form.
 */

/** The environment variable that chooses the full form. */
export const FULL_FORM = "TEST_FULL_FORM";

/** Returns the value for the chosen form. */
export function shortOrFull<T>(short: T, full: T): T {
  return Deno.env.get(FULL_FORM) === "1" ? full : short;
}
