/** The suppression of notifications of a check, and its silences. Pure. */
import {
  dependencyHolds,
  dependencyIsUnknown,
  type DependentTimes,
  hasRecoveredSince,
} from "../condition/condition_state.ts";
import { alternativesOf, type Check } from "../domain/check.ts";
import type { ConditionState, Suppression } from "../domain/condition.ts";
import type { Silence } from "../domain/outbox.ts";
import { isInWindow } from "./maintenance_windows.ts";
import type { CheckRecord } from "../domain/store.ts";

export interface SuppressionOptions {
  readonly notifies: boolean;
  readonly silences: readonly Silence[];
  /** The checks that run here, by name; a dependency that does not run suppresses nothing. */
  readonly running: ReadonlyMap<string, Check>;
  stateOf(check: string): ConditionState;
  /** The time of the last result of the check. @default that of its state */
  readonly observedAtMs?: number;
  readonly nowMs: number;
}

/** Returns the first reason that applies; `null`: nothing suppresses notifications of the check. */
export function suppressionOf(check: Check, options: SuppressionOptions): Suppression | null {
  // An option of the command line rules out all else.
  if (!options.notifies) return "no_notify";

  // An administrator asked for silence.
  const silences = silencesOfKind("silence", check, options);
  if (silences.some(({ problemBeganAtMs }) => problemBeganAtMs === null)) return "silence";

  // The config names the time, or an administrator started it.
  if (isInMaintenance(check, options)) return "maintenance";

  // Last, since a recovery passes it.
  if (silences.length > 0) return "until_ok";
  return holdingDependencies(check, options).length > 0 ? "dependency" : null;
}

/**
 * Returns whether the action of a check may run. In maintenance, people work on the target; while a dependency has a
 * problem, it may be the cause; and after an acknowledgement, a person has taken over. A silence does not matter.
 */
export function mayAct(check: Check, options: SuppressionOptions): boolean {
  return options.notifies && !isInMaintenance(check, options) &&
    silencesOfKind("acknowledgement", check, options).length === 0 &&
    holdingDependencies(check, options).length === 0;
}

export function isInMaintenance(check: Check, options: SuppressionOptions): boolean {
  return isInWindow(check.maintenanceWindows, options.nowMs) ||
    silencesOfKind("maintenance", check, options).length > 0;
}

/** Returns the silences, acknowledgements or started maintenance windows that apply to a check now. */
export function silencesOfKind(
  kind: Silence["kind"],
  { name, tags }: Check,
  { silences, stateOf, nowMs }: Pick<SuppressionOptions, "silences" | "stateOf" | "nowMs">,
): readonly Silence[] {
  if (silences.length === 0) return silences;
  const { problemBeganAtMs } = stateOf(name);
  return silencesOf({ name, tags, problemBeganAtMs }, silences, { kind, nowMs });
}

/** Returns the dependencies that suppress notifications, each with its alternatives. */
export function holdingDependencies(
  check: Pick<Check, "name" | "dependsOn">,
  options: Pick<SuppressionOptions, "stateOf" | "observedAtMs" | "nowMs"> & {
    readonly running: Pick<SuppressionOptions["running"], "has">;
  },
): readonly (readonly string[])[] {
  if (check.dependsOn.length === 0) return [];
  const times = timesOf(options.stateOf(check.name), options);
  return check.dependsOn
    .map((dependency) => alternativesOf(dependency).filter((name) => options.running.has(name)))
    .filter((names) =>
      names.length > 0 && names.every((name) => dependencyHolds(options.stateOf(name), times))
    );
}

/** Returns the checks that have to run before their suppression can be decided: dependencies, or the check itself. */
export function checksToRun(check: Check, options: SuppressionOptions): readonly Check[] {
  const { running, stateOf } = options;
  const times = timesOf(stateOf(check.name), options);
  // One that does not suppress decides about its alternatives.
  const holding = holdingDependencies(check, options).flat();
  const itself = holding.some((name) => hasRecoveredSince(stateOf(name), times)) ? [check] : [];
  return [
    ...itself,
    ...holding.filter((name) => dependencyIsUnknown(stateOf(name), times.problemBeganAtMs))
      .flatMap((name) => running.get(name) ?? []),
  ];
}

/** If the clock was set back since the problem began, its last result counts, so that dependencies need no later one. */
function timesOf(
  { problemBeganAtMs: beganAtMs, observedAtMs: lastMs }: ConditionState,
  { nowMs, observedAtMs = lastMs ?? nowMs }: Pick<SuppressionOptions, "nowMs" | "observedAtMs">,
): DependentTimes {
  const isAhead = beganAtMs !== null && beganAtMs > nowMs;
  return { problemBeganAtMs: isAhead ? Math.min(lastMs ?? nowMs, nowMs) : beganAtMs ?? nowMs, observedAtMs };
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
