import type { Silence } from "../domain/outbox.ts";
import type { CheckRecord } from "../domain/store.ts";

/** The check that a silence may be about. */
interface SilencedCheck {
  readonly name: string;
  /** When its problem began; `null`: it has none. */
  readonly problemBeganAtMs: number | null;
}

/** Returns the silences, or acknowledgements, that apply to a check. One that ends with its problem outlives none. */
export function silencesOf(
  { name, problemBeganAtMs }: SilencedCheck,
  silences: readonly Silence[],
  { kind, nowMs }: Pick<Silence, "kind"> & { readonly nowMs: number },
): readonly Silence[] {
  return silences.filter((silence) =>
    silence.kind === kind && (silence.check === null || silence.check === name) &&
    nowMs < silence.untilMs &&
    // Not by their times: the clock may have been set back since.
    (silence.problemBeganAtMs === null
      ? silence.fromMs <= nowMs
      : silence.problemBeganAtMs === problemBeganAtMs)
  );
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
