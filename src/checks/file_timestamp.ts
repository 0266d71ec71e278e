import { startDeadline, unlessAborted } from "../shared/deadline.ts";
import { describeFileError } from "../shared/describe_error.ts";
import type { FileTimestampCheck, FileTimestampParameters } from "../domain/check.ts";
import type { Condition } from "../domain/condition.ts";
import { describeDuration, exactDuration } from "../domain/duration.ts";
import type { Caveat, CheckKindEntry, ObserveContext } from "../domain/observe.ts";
import type { Observation } from "../domain/result.ts";
import type { FileFacts } from "../domain/files.ts";

/** The `file_timestamp` kind. */
export const fileTimestampKind: CheckKindEntry<"file_timestamp"> = {
  observe: observeFileTimestamp,
  limit: "none",
  caveats: findCaveats,
  needs: ({ parameters }) => ({ read: [parameters.path] }),
};

/**
 * Looks at how long ago a file, or what a symlink leads to, was changed.
 *
 * The age is in whole seconds, truncated toward zero, so that a clock a fraction of a second off makes no file
 * one from the future. Where the machine does not let us look (no permission, no answer in time), the condition
 * is `unknown`: only a file that is surely not there is a missing one.
 */
export async function observeFileTimestamp(
  check: FileTimestampCheck,
  { system: { clock, files }, signal }: ObserveContext,
): Promise<Observation> {
  signal.throwIfAborted();
  const { parameters } = check;
  const { timeoutMs } = check;
  let facts: FileFacts;
  using deadline = startDeadline(clock, timeoutMs, signal);
  try {
    facts = await unlessAborted(files.stat(parameters.path, { timeoutMs }), deadline.signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!deadline.isTimeUp && !(error instanceof Deno.errors.TimedOut)) {
      return judgeFailure(error, parameters);
    }
    const reason = `the file system did not respond within ${describeDuration(timeoutMs)}`;
    return unknown(parameters.path, reason);
  }
  // The time after the answer: with a slow file system, the file may have changed after the question.
  return judgeFacts(facts, { parameters, nowMs: clock.wallMs() });
}

function judgeFailure(error: unknown, { path, conditionOnMissing }: FileTimestampParameters): Observation {
  if (error instanceof Deno.errors.NotFound) {
    return observation(conditionOnMissing, `"${path}" does not exist`);
  }
  if (error instanceof Deno.errors.NotADirectory) {
    return observation(conditionOnMissing, `"${path}" does not exist: a directory of this path is a file`);
  }
  return unknown(path, describeFileError(error, { path }));
}

interface JudgeOptions {
  readonly parameters: FileTimestampParameters;
  readonly nowMs: number;
}

function judgeFacts({ modifiedAtMs }: FileFacts, { parameters, nowMs }: JudgeOptions): Observation {
  if (modifiedAtMs === null) return unknown(parameters.path, "its file system keeps no modification time");
  // The sum makes 0 of -0.
  const ageSeconds = Math.trunc((nowMs - modifiedAtMs) / 1000) + 0;
  const metrics = { age_seconds: ageSeconds };
  const ageMs = ageSeconds * 1000;
  if (ageMs < 0) {
    const output = `changed ${describeDuration(-ageMs)} in the future`;
    return observation(parameters.conditionOnImplausible, output, metrics);
  }
  const { warningAgeMs, criticalAgeMs } = parameters;
  const condition = ageMs > criticalAgeMs ? "critical" : ageMs > warningAgeMs ? "warning" : "ok";
  const limits = {
    ok: warningAgeMs < criticalAgeMs ? { warning: warningAgeMs } : { critical: criticalAgeMs },
    warning: { warning: warningAgeMs, critical: criticalAgeMs },
    critical: { critical: criticalAgeMs },
  }[condition];
  return observation(condition, describeAge(ageMs, limits), metrics);
}

/** The age beside the limits that matter: `changed 2 h 5 min ago, critical after 1 d`. */
function describeAge(ageMs: number, limits: Readonly<Record<string, number>>): string {
  // So that nobody reads "changed 1 h 30 min ago, warning after 1 h 30 min" and wonders.
  const reached = Object.values(limits).filter((limit) => ageMs > limit);
  const isJustOver = reached.some((limit) => describeDuration(ageMs) === describeDuration(limit));
  const age = isJustOver ? `just over ${exactDuration(Math.max(...reached))}` : describeDuration(ageMs);
  const after = Object.entries(limits).map(([name, limit]) => `, ${name} after ${exactDuration(limit)}`);
  return `changed ${age} ago${after.join("")}`;
}

function unknown(path: string, reason: string): Observation {
  return observation("unknown", `cannot read "${path}": ${reason}`);
}

function observation(
  condition: Condition,
  output: string,
  metrics: Observation["metrics"] = {},
): Observation {
  return { condition, output, detail: "", metrics, performanceData: "" };
}

function findCaveats({ parameters: { warningAgeMs, criticalAgeMs } }: FileTimestampCheck): readonly Caveat[] {
  if (criticalAgeMs >= warningAgeMs) return [];
  const [critical, warning] = [exactDuration(criticalAgeMs), exactDuration(warningAgeMs)];
  return [{
    path: ["critical_age"],
    message: `critical_age is ${critical} and warning_age is ${warning}: the warning is never reached`,
  }];
}
