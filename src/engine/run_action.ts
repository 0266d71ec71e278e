import { withEndedAction } from "../condition/action.ts";
import type { Action, Check } from "../domain/check.ts";
import type { ActionRun, ConditionState } from "../domain/condition.ts";
import type { ProcessEnd } from "../domain/processes.ts";
import type { System } from "../domain/system.ts";
import { chosenEnvironment, PASSED_VARIABLES } from "../shared/find_command.ts";
import { oneLine } from "../shared/text.ts";
import type { StateRepository } from "../state/state_repository.ts";
import { bareUpdate } from "../state/write_behind.ts";
import type { RequiredPermissions } from "../domain/runtime_permissions.ts";

interface ActionOptions {
  /** Its processes print no secrets. */
  readonly system: Pick<System, "clock" | "processes" | "environment">;
  readonly repository: Pick<StateRepository, "recordOf" | "keep" | "isWritable">;
  readonly directory: string;
  readonly signal: AbortSignal;
}

const OUTPUT_BYTES_MAX = 4 * 1024;

/**
 * Runs the action of a check that was persisted as begun, and records its end. Returns the run; `null`: another process
 * has decided about the check meanwhile, so that nothing starts.
 *
 * A command starts at most once for each decision: not while the state cannot be written, since after a crash it would
 * start again.
 */
export async function runAction(
  check: Check,
  begun: ActionRun,
  options: ActionOptions,
): Promise<ActionRun | null> {
  const { system: { clock }, repository } = options;
  const stateOf = (): ConditionState => repository.recordOf(check.name, clock.wallMs()).condition;
  const isKnown = (): boolean => stateOf().actions?.some(({ atMs }) => atMs === begun.atMs) === true;
  if (!isKnown()) return null;
  const obstacle = repository.isWritable ? obstacleIn(stateOf(), begun) : "the state cannot be written";
  const outcome = obstacle === null
    ? await startAction(check, options)
    : { outcome: "not_started" as const, reason: obstacle };
  const ended: ActionRun = { ...begun, ...outcome, endedAtMs: clock.wallMs() };
  if (isKnown()) {
    const record = repository.recordOf(check.name, clock.wallMs());
    const condition = withEndedAction(record.condition, ended);
    repository.keep(bareUpdate({ ...record, condition }), { isUrgent: true });
  }
  return ended;
}

/** A run waits while too many processes run; `null`: it is due all the same. */
function obstacleIn({ observed, actions }: ConditionState, begun: ActionRun): string | null {
  if (observed !== "critical") return "the check is not critical any more";
  return actions?.at(-1)?.atMs === begun.atMs ? null : "a later run began before";
}

async function startAction(
  { name, action }: Check,
  { system, directory, signal }: ActionOptions,
): Promise<Pick<ActionRun, "outcome" | "reason">> {
  if (action === undefined) return { outcome: "not_started", reason: "the config has no action" };
  const { path, timeoutMs } = action;
  try {
    const end = await system.processes.run({
      path,
      arguments: action.arguments,
      environment: chosenEnvironment(system.environment, {
        ...action.environment,
        // A variable cannot contain a NUL.
        MONITOR_CHECK: name.replaceAll("\0", "\uFFFD"),
      }),
      directory,
      timeoutMs,
      outputBytesMax: OUTPUT_BYTES_MAX,
    }, signal);
    return outcomeOf(end, timeoutMs);
  } catch (error) {
    if (!signal.aborted) throw error;
    return { outcome: "failed", reason: "terminated, because the monitor stopped" };
  }
}

function outcomeOf(end: ProcessEnd, timeoutMs: number): Pick<ActionRun, "outcome" | "reason"> {
  if (end.ended === "not_started") return { outcome: "not_started", reason: end.reason };
  if (end.ended === "exited" && end.code === 0) return { outcome: "succeeded", reason: "" };
  const what = end.ended === "exited"
    ? `exit code ${end.code}`
    : end.ended === "signalled"
    ? `terminated by ${end.signal}`
    : `timeout after ${timeoutMs / 1000} s`;
  const [printed = ""] = (end.stderr.text.trim() || end.stdout.text.trim()).split("\n");
  return { outcome: "failed", reason: oneLine(printed === "" ? what : `${what}: ${printed}`) };
}

export function permissionsOfAction({ path }: Action): RequiredPermissions {
  return { run: [path], env: PASSED_VARIABLES };
}
