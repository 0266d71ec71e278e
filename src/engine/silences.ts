import type { Check } from "../domain/check.ts";
import type { Silence } from "../domain/outbox.ts";
import type { CheckRecord } from "../domain/store.ts";

/** The check that a silence may be about. */
interface SilencedCheck extends Pick<Check, "name" | "tags"> {
  /** When its problem began; `null`: it has none. */
  readonly problemBeganAtMs: number | null;
}

/** The longest time that something lasts which ends with a problem: a year. */
export const UNTIL_OK_MS_MAX = 365 * 24 * 3_600_000;

/** Returns whether a silence that ends with a problem ends at its time at the latest, as the administrator asked. */
export function hasOwnEnd({ fromMs, untilMs }: Pick<Silence, "fromMs" | "untilMs">): boolean {
  return untilMs - fromMs < UNTIL_OK_MS_MAX;
}

/**
 * Returns the silences, acknowledgements or started maintenance windows that apply to a check. One that ends with its
 * problem applies to no later problem.
 */
export function silencesOf(
  check: SilencedCheck,
  silences: readonly Silence[],
  { kind, nowMs }: Pick<Silence, "kind"> & { readonly nowMs: number },
): readonly Silence[] {
  return silences.filter((silence) =>
    silence.kind === kind && isAbout(silence, check) &&
    // Whatever its begin, since it applies from then on: the clock may have been set back, or that of a member be behind.
    nowMs < silence.untilMs &&
    (silence.problemBeganAtMs === null || silence.problemBeganAtMs === check.problemBeganAtMs)
  );
}

/** Returns whether a silence is about a check; its tags are those that it has now. */
export function isAbout({ check, tag }: Silence, { name, tags }: Pick<Check, "name" | "tags">): boolean {
  return tag === null ? check === null || check === name : tags.includes(tag);
}

/** Returns the silences that can still apply: without those that ended with the problem that they were for. */
export function lastingSilences(
  silences: readonly Silence[],
  records: readonly Pick<CheckRecord, "name" | "condition">[],
): readonly Silence[] {
  return silences.filter(({ check, problemBeganAtMs }) =>
    problemBeganAtMs === null ||
    records.some(({ name, condition }) => check === name && condition.problemBeganAtMs === problemBeganAtMs)
  );
}
