import type { Check } from "../domain/check.ts";
import type { ConditionState } from "../domain/condition.ts";
import type { Silence } from "../domain/outbox.ts";
import type { CheckRecord } from "../domain/store.ts";

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
  check: Pick<Check, "name" | "tags"> & Pick<ConditionState, "problemBeganAtMs">,
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

/**
 * Returns new silences or acknowledgements, and as `replaced` the stored ones of the same checks, ended: they stay stored
 * for `monitor why --at`.
 */
export function newSilences(
  chosen: readonly Pick<Silence, "check" | "problemBeganAtMs">[],
  stored: readonly Silence[],
  common: Pick<Silence, "fromMs" | "untilMs" | "reason" | "by"> & {
    readonly kind: "silence" | "acknowledgement";
  },
): { readonly made: readonly Silence[]; readonly replaced: readonly Silence[] } {
  const { kind, fromMs } = common;
  const made = chosen.map(({ check, problemBeganAtMs }): Silence => ({
    id: check === null
      ? `all checks ${fromMs}`
      : `${kind === "silence" ? "check" : "acknowledgement"} ${fromMs} ${check}`,
    ...{ check, tag: null, problemBeganAtMs },
    ...common,
  }));
  const replaced = stored.filter((one) =>
    one.kind === kind && one.tag === null && chosen.some(({ check }) => check === one.check)
  );
  return { made, replaced: endedAt(replaced, fromMs) };
}

/** Returns a maintenance window with an ID for people, which has no spaces. Earlier windows stay stored under the same ID. */
export function newWindow(
  id: string,
  { check, tag }: Pick<Silence, "check" | "tag">,
  common: Pick<Silence, "fromMs" | "untilMs" | "reason" | "by">,
): Silence {
  const target = tag === null ? check === null ? "all" : `check ${check}` : `tag ${tag}`;
  const key = `maintenance ${id} ${target} ${common.fromMs}`;
  return { id: key, kind: "maintenance", check, tag, problemBeganAtMs: null, ...common };
}

export function windowId({ id }: Pick<Silence, "id">): string {
  return id.split(" ")[1] ?? "";
}

export function endedAt(silences: readonly Silence[], atMs: number): readonly Silence[] {
  return silences.map((one) => ({ ...one, untilMs: atMs }));
}

/** Describes the reason and the author of a silence, such as `deploy, by Ada from 192.0.2.7`; may be empty. */
export function describeNote({ reason, by }: Pick<Silence, "reason" | "by">): string {
  return [...reason === "" ? [] : [reason], ...by === null ? [] : [`by ${by}`]].join(", ");
}

/** Returns a started maintenance window with the reason that people see. */
export function shownWindow(silence: Silence): Silence {
  return { ...silence, reason: describeNote(silence) };
}
