/** When the action of a check runs, such as a restart, and how long its notification waits for it. Pure. */
import type { Action, CheckSettings } from "../domain/check.ts";
import type { ActionRun, ConditionState } from "../domain/condition.ts";
import { HOUR_MS } from "../shared/time_units.ts";

type ActingCheck = Pick<CheckSettings, "action">;

type ActedState = Pick<
  ConditionState,
  "actions" | "atLeast" | "observed" | "observedAtMs" | "problemBeganAtMs"
>;

/**
 * - `none`: nothing is to run, or all that may run did not help.
 * - `due`: it is to run now.
 * - `settling`: it runs, or may still have an effect.
 */
type ActionPhase = "none" | "due" | "settling";

/**
 * Returns what the last result means for the action. A result counts that came after the last run had time to help, so
 * a run is never due again by the result that caused it. Runs count from their start: one that a crash cut short was one.
 */
export function actionPhase({ action }: ActingCheck, state: ActedState): ActionPhase {
  const last = state.actions?.at(-1);
  if (action === undefined || state.observedAtMs === null) return "none";
  if (last !== undefined) {
    const endMs = last.endedAtMs ?? last.atMs + action.timeoutMs;
    const settlesMs = last.outcome === "not_started" ? 0 : endMs - last.atMs + action.settleMs;
    // The absolute distance counts, so that a wall clock set back delays nothing for long.
    if (Math.abs(state.observedAtMs - last.atMs) < settlesMs) return "settling";
  }
  if (state.observed !== "critical" || state.atLeast.critical < action.after) return "none";
  return countedRuns(state).length < action.atMost && !hasNotStarted(state) ? "due" : "none";
}

/** Returns whether further results that are the same may lead to a run. */
export function mayActLater(check: ActingCheck, state: ActedState): boolean {
  const { action } = check;
  if (action === undefined || state.observed !== "critical" || hasNotStarted(state)) return false;
  return actionPhase(check, state) === "settling" || runsOfProblem(state).length < action.atMost;
}

/** Returns the state after an action has begun; the newest runs are kept. */
export function withAction<State extends Pick<ConditionState, "actions">>(state: State, atMs: number): State {
  const begun: ActionRun = { atMs, endedAtMs: null, outcome: "none", reason: "" };
  return { ...state, actions: [...state.actions ?? [], begun].slice(-RUNS_MAX) };
}

/** The greatest `at_most`. */
const RUNS_MAX = 20;

export function withEndedAction<State extends Pick<ConditionState, "actions">>(
  state: State,
  ended: ActionRun,
): State {
  return { ...state, actions: (state.actions ?? []).map((one) => one.atMs === ended.atMs ? ended : one) };
}

/** Returns the runs since the problem began. If the clock was set back in it, any run may be one of them. */
export function runsOfProblem(
  { actions = [], observedAtMs, problemBeganAtMs }: ActedState,
): readonly ActionRun[] {
  if (problemBeganAtMs === null) return [];
  const isSetBack = observedAtMs !== null && observedAtMs < problemBeganAtMs;
  return actions.filter(({ atMs }) => isSetBack || atMs >= problemBeganAtMs);
}

/** The runs of this problem and those of the last hour: a problem that comes back is no reason for more. */
function countedRuns(state: ActedState): readonly ActionRun[] {
  const { actions = [], observedAtMs } = state;
  const ofProblem = new Set(runsOfProblem(state));
  return actions.filter((run) => ofProblem.has(run) || Math.abs((observedAtMs ?? 0) - run.atMs) < HOUR_MS);
}

function hasNotStarted(state: ActedState): boolean {
  return runsOfProblem(state).some(({ outcome }) => outcome === "not_started");
}

/** Returns the outcome of a run, such as `exit code 5`. */
export function describeRun({ outcome, endedAtMs, reason }: ActionRun): string {
  if (outcome === "succeeded") return "exit code 0";
  if (endedAtMs === null) return "no end is known";
  return outcome === "not_started" ? `did not start: ${reason}` : reason;
}

/** Describes the runs of a problem that goes on; empty without any. */
export function describeActions({ action }: ActingCheck, state: ActedState): string {
  const runs = runsOfProblem(state);
  const last = runs.at(-1);
  if (action === undefined || last === undefined) return "";
  const title = `"${actionTitle(action)}"`;
  if (last.outcome === "not_started") return `${title} did not start: ${last.reason}`;
  const reason = last.reason === "" ? "" : `: ${last.reason}`;
  return `${title} ran ${TIMES[runs.length] ?? `${runs.length} times`} without success${reason}`;
}

const TIMES: readonly (string | undefined)[] = [undefined, "once", "twice"];

/** Returns the name of an action for people. Its arguments may be passwords. */
export function actionTitle({ title, path }: Action): string {
  return title ?? path.split("/").at(-1) ?? path;
}
