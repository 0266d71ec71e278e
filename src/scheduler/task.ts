/**
 * One check of the scheduler as a pure state machine: a task and an event give the next task, and effects that the
 * scheduler carries out. Times are those of `local_time.ts`.
 *
 * Invariant: an idle task has a timer, and no other has one; a task that is not idle has one run in progress.
 */
import type { Check } from "../domain/check.ts";
import { isCron } from "../domain/schedule.ts";
import { type CheckRecord, isEdited } from "../domain/store.ts";
import { firstRun, type FirstRunOptions, isLeft, missedUntil, overdueRun } from "./next_run.ts";
import { AFTER_SUSPEND_MS, JUMP_MS, STALL_MS } from "./stall_safe.ts";

export interface Task {
  /** As the config has it now; a run in progress may be of the one before. */
  readonly check: Check;
  /** Runs skipped since the last result. */
  readonly missedRuns: number;
  readonly state: TaskState;
}

/**
 * - `idle`: its next run is planned. `isSpread` once that was postponed because many were late: once only, or a slow
 *   machine would run nothing.
 * - `queued`: its run waits for a free slot.
 * - `running`: its run began `lateMs` after its planned time.
 * - `discarding`: its run is being ended. The result doesn't count, and the check runs again after `againAfterMs`.
 * - `removed`: the check left the config, and its run is being ended.
 */
type TaskState =
  | { readonly status: "idle"; readonly plannedMs: number; readonly isSpread: boolean }
  | { readonly status: "queued"; readonly plannedMs: number }
  | { readonly status: "running"; readonly plannedMs: number; readonly lateMs: number }
  | {
    readonly status: "discarding";
    readonly plannedMs: number;
    readonly hasStarted: boolean;
    readonly againAfterMs: number;
  }
  | { readonly status: "removed"; readonly hasStarted: boolean };

export type TaskEvent =
  | { readonly event: "due" }
  /** The result is needed at once. */
  | { readonly event: "requested" }
  /** Its run has a slot. */
  | { readonly event: "started" }
  /** Its run has ended, and the result counts. */
  | { readonly event: "recorded"; readonly nextRunAtMs: number }
  /** Its run has ended, and there is no result, or one that doesn't count. */
  | { readonly event: "ended" }
  /** A reload has read its check again. */
  | { readonly event: "reloaded"; readonly check: Check }
  /** A reload has not found its check. */
  | { readonly event: "removed" }
  /** The wall clock moved against the monotonic clock: it was set, or the system was suspended. */
  | { readonly event: "clock_jumped"; readonly jumpMs: number };

/**
 * An effect of a transition for the scheduler: set its timer instead of the one before, start its run, abort it,
 * report that it is late, or delete the task with its timer.
 */
export type TaskEffect =
  | { readonly effect: "plan"; readonly atMs: number }
  | { readonly effect: "start" }
  | { readonly effect: "abort"; readonly reason: string }
  | { readonly effect: "report_late"; readonly lateMs: number }
  | { readonly effect: "forget" };

interface TaskContext {
  readonly nowMs: number;
  readonly record: Pick<CheckRecord, "condition" | "nextRunAtMs" | "last">;
}

export interface TaskTransition {
  readonly task: Task;
  /** In the order in which they are carried out. */
  readonly effects: readonly TaskEffect[];
}

/** How long after a reload a check runs again whose run in progress was of another target. */
const AFTER_RELOAD_MS = 1_000;

export function createTask(check: Check, options: FirstRunOptions): TaskTransition {
  const state = { status: "idle", plannedMs: 0, isSpread: false } as const;
  return planAt({ check, missedRuns: 0, state }, firstRun(check, options));
}

export function hasStarted({ state }: Task): boolean {
  return state.status === "running" || "hasStarted" in state && state.hasStarted;
}

/** Returns the task after an event. An event that doesn't fit the state changes nothing. */
export function transitionTask(task: Task, event: TaskEvent, context: TaskContext): TaskTransition {
  switch (event.event) {
    case "due":
      return afterDue(task, context);
    case "requested":
      return task.state.status === "idle" ? planAt(task, context.nowMs) : stay(task);
    case "started":
      return afterStart(task, context);
    case "recorded":
      return planAt({ ...task, missedRuns: 0 }, event.nextRunAtMs);
    case "ended":
      return afterEnd(task, context);
    case "reloaded":
      return afterReload(task, event.check, context);
    case "removed":
      return afterRemoval(task);
    case "clock_jumped":
      return afterClockJump(task, event.jumpMs, context);
  }
}

/** A timer that is so late finds many others due: after a stall, runs are spread as after a start. */
function afterDue(task: Task, { nowMs, record }: TaskContext): TaskTransition {
  const { state } = task;
  if (state.status !== "idle") return stay(task);
  const lateMs = nowMs - state.plannedMs;
  if (lateMs < STALL_MS || state.isSpread) {
    return { task: withState(task, { status: "queued", plannedMs: state.plannedMs }), effects: [START] };
  }
  const next = planOverdue(task, { plannedMs: state.plannedMs, fromMs: nowMs, record, isSpread: true });
  return { ...next, effects: [{ effect: "report_late", lateMs }, ...next.effects] };
}

const START: TaskEffect = { effect: "start" };

function afterStart(task: Task, { nowMs }: TaskContext): TaskTransition {
  if (task.state.status !== "queued") return stay(task);
  const { plannedMs } = task.state;
  const lateMs = nowMs - plannedMs;
  return {
    task: withState(task, { status: "running", plannedMs, lateMs }),
    effects: [{ effect: "report_late", lateMs }],
  };
}

function afterEnd(task: Task, { nowMs, record }: TaskContext): TaskTransition {
  const { state } = task;
  if (state.status === "idle") return stay(task);
  if (state.status === "removed") return { task, effects: [{ effect: "forget" }] };
  const againAfterMs = state.status === "discarding" ? state.againAfterMs : 0;
  // If the clock was set back, the run that has ended was planned for later than now.
  const plannedMs = Math.min(state.plannedMs, nowMs);
  return planOverdue(task, { plannedMs, fromMs: nowMs + againAfterMs, record });
}

function afterReload(before: Task, check: Check, { nowMs, record }: TaskContext): TaskTransition {
  const task = { ...before, check };
  const { status } = task.state;
  if (status === "idle") {
    const isPlanned = isSame(before.check.schedule, check.schedule) && !isEdited(check, record) &&
      !isLeft(record);
    return isPlanned ? stay(task) : planAt(task, firstRun(check, { record, nowMs }));
  }
  if (status !== "removed" && isSame(targetOf(before.check), targetOf(check))) return stay(task);
  return discard(task, { nowMs, againAfterMs: AFTER_RELOAD_MS, reason: "the config was changed" });
}

/** It stays until its run has ended, so that a check that comes back does not run twice at a time. */
function afterRemoval(task: Task): TaskTransition {
  if (task.state.status === "idle") return { task, effects: [{ effect: "forget" }] };
  const reason = `Cannot go on with "${task.check.name}": it left the config`;
  return {
    task: withState(task, { status: "removed", hasStarted: hasStarted(task) }),
    effects: [{ effect: "abort", reason }],
  };
}

/** A run in progress does not count; a skipped run is made up for once. A small step leaves all that to happen in time. */
function afterClockJump(task: Task, jumpMs: number, { nowMs, record }: TaskContext): TaskTransition {
  const { state, check } = task;
  const isCalendar = isCron(check.schedule);
  const isJump = Math.abs(jumpMs) > JUMP_MS;
  if (state.status === "removed") return stay(task);
  if (state.status !== "idle") {
    if (isJump) {
      return discard(task, { nowMs, againAfterMs: AFTER_SUSPEND_MS, reason: "the system was suspended" });
    }
    return isCalendar ? stay(task) : stay(withState(task, shifted(state, jumpMs)));
  }
  const { plannedMs, isSpread } = state;
  if (isJump && jumpMs > 0) {
    return planOverdue(task, { plannedMs, fromMs: nowMs + AFTER_SUSPEND_MS, record, isSpread });
  }
  // The timer stays: the run comes as soon as without the step, and the next one is at its fixed offset.
  if (!isCalendar) return stay(withState(task, shifted(state, jumpMs)));
  // Cron schedules follow the wall clock, also if it was set back.
  const isSetBack = isJump && plannedMs > nowMs;
  const planned = { ...record, nextRunAtMs: plannedMs };
  return planAt(task, isSetBack ? firstRun(check, { record: planned, nowMs }) : plannedMs, isSpread);
}

function shifted<State extends { readonly plannedMs: number }>(state: State, byMs: number): State {
  return { ...state, plannedMs: state.plannedMs + byMs };
}

/** Plans overdue runs soon after `fromMs` and skips the runs in between; later plans stay. */
function planOverdue(
  task: Task,
  { plannedMs, fromMs, record, isSpread = false }: {
    readonly plannedMs: number;
    readonly fromMs: number;
    readonly record: TaskContext["record"];
    readonly isSpread?: boolean;
  },
): TaskTransition {
  const { check } = task;
  const { condition: state } = record;
  const atMs = plannedMs > fromMs ? plannedMs : overdueRun(check, { state, nowMs: fromMs });
  const missedRuns = task.missedRuns + missedUntil(check, { state, plannedMs, nowMs: atMs });
  return planAt({ ...task, missedRuns }, atMs, isSpread);
}

function planAt(task: Task, atMs: number, isSpread = false): TaskTransition {
  return {
    task: withState(task, { status: "idle", plannedMs: atMs, isSpread }),
    effects: [{ effect: "plan", atMs }],
  };
}

/** Ends a run whose result is not to count, and runs the check again soon. */
function discard(
  task: Task,
  { nowMs, againAfterMs, reason }: {
    readonly nowMs: number;
    readonly againAfterMs: number;
    readonly reason: string;
  },
): TaskTransition {
  const { state, check } = task;
  const plannedMs = "plannedMs" in state ? state.plannedMs : nowMs;
  return {
    task: withState(task, { status: "discarding", plannedMs, hasStarted: hasStarted(task), againAfterMs }),
    effects: [{ effect: "abort", reason: `cannot use the result of "${check.name}": ${reason}` }],
  };
}

function stay(task: Task): TaskTransition {
  return { task, effects: [] };
}

function withState(task: Task, state: TaskState): Task {
  return { ...task, state };
}

/** Returns the part of a check that decides its result; the rest of a check concerns later steps. */
function targetOf({ kind, parameters, timeoutMs }: Check): unknown {
  return { kind, parameters, timeoutMs };
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
