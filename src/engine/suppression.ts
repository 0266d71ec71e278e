/** The suppression of notifications of a check. Pure. */
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
import { silencesOf } from "./silences.ts";

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

function silencesOfKind(
  kind: Silence["kind"],
  { name, tags }: Check,
  { silences, stateOf, nowMs }: SuppressionOptions,
): readonly Silence[] {
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
  return {
    problemBeganAtMs: isAhead ? Math.min(lastMs ?? nowMs, nowMs) : beganAtMs ?? nowMs,
    observedAtMs,
  };
}
