import { MINUTE_MS } from "../shared/time_units.ts";
import { timeText } from "../shared/local_time.ts";
import { truncate } from "../shared/text.ts";
import { type CheckOf, type CheckResult, unknownResult } from "../domain/check.ts";
import { type Condition, highestSeverity } from "../domain/condition.ts";
import { describeDuration, exactDuration } from "../domain/duration.ts";
import { type EndedJobRun, type JobEnd, type JobFacts, type JobRun, StoreError } from "../domain/store.ts";
import type { CheckKindEntry, ObserveContext, ParameterProblem } from "../domain/check_kind.ts";
import { isCron } from "../domain/schedule.ts";

export const jobKind: CheckKindEntry<"job"> = {
  observe: observeJob,
  hasCheckIns: true,
  withoutLocations: "a job check reads check-ins and runs at no location",
  pingKey: ({ parameters }) => parameters.pingKey,
  target: {
    form: "INTERVAL or CRON",
    parametersOf: ({ text }) =>
      /^@|\s\S+\s+\S+\s+\S+\s/.test(text) ? { cron: text } : { expected_every: text },
    nameOf: () => "job",
    // Each failed run counts: the next one may be a day away.
    threshold: 1,
    subjectsOf: ({ name }) => [`job ${name}`],
  },
  errors: findErrors,
  warnings: findWarnings,
  // The state that it reads is the monitor's own.
  requiredPermissions: () => ({}),
};

/**
 * Evaluates the runs of a job: whether the last one failed, whether one ended in time, and whether one takes or took
 * too long. The output lists all failures; the condition is the most severe.
 *
 * A job that never ran has no condition until its first run is overdue, counted from the first run of this check.
 */
async function observeJob(check: CheckOf<"job">, context: ObserveContext) {
  context.signal.throwIfAborted();
  const nowMs = context.system.clock.wallMs();
  const facts = await recallRuns(check.name, nowMs, context);
  return "condition" in facts ? facts : evaluate(facts, { ...check, timeZone: context.timeZone?.(), nowMs });
}

/** Returns what the state has of the runs of a job; a result: why it is not known. */
export async function recallRuns(
  name: string,
  nowMs: number,
  { jobs, signal }: ObserveContext,
): Promise<JobFacts | CheckResult> {
  if (jobs === null) return unknownResult("no data: no state is stored");
  try {
    const facts = await jobs.recall(name, nowMs);
    signal.throwIfAborted();
    return facts;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return unknownResult(`no data: ${error.message}`);
  }
}

interface EvaluateOptions extends Pick<CheckOf<"job">, "parameters" | "jobTimes"> {
  /** Of times in the output. */
  readonly timeZone: string | undefined;
  readonly nowMs: number;
}

interface Fault {
  readonly condition: Condition;
  readonly text: string;
}

/** The output names times, not ages: it is shown until the next run, with ages of that moment. */
function evaluate(facts: JobFacts, options: EvaluateOptions): CheckResult {
  const { last } = facts;
  const faults = [...failures(last, options), ...findLateRun(facts, options), ...longRuns(facts, options)];
  const isAwaited = last === null && faults.length === 0;
  return {
    condition: isAwaited ? "unknown" : highestSeverity(faults.map(({ condition }) => condition)),
    output: faults.length > 0 ? faults.map(({ text }) => text).join("; ") : describeWell(facts, options),
    detail: lastLines(unshownOutput(last)),
    metrics: last === null ? {} : metricsOf(last.end, options.nowMs),
    performanceData: "",
    ...isAwaited && { awaits: "job" },
  };
}

function failures(last: EndedJobRun | null, { parameters, timeZone }: EvaluateOptions): Fault[] {
  if (last === null || last.end.exitCode === 0) return [];
  const { end } = last;
  const printed = truncate(wholeLastLine(end.output).trim(), LINE_LENGTH_MAX);
  const manner = MANNERS[end.how](end);
  const text = `failed at ${timeText(end.atMs, timeZone)}${manner}${printed === "" ? "" : `: ${printed}`}`;
  return [{ condition: parameters.conditionOnFailure, text }];
}

/** The text after "failed at …". */
const MANNERS: Readonly<Record<JobEnd["how"], (end: JobEnd) => string>> = {
  exited: (end) => ` with exit code ${end.exitCode}${afterDuration(end)}`,
  signalled: (end) => `, terminated by ${end.reason}${afterDuration(end)}`,
  not_started: (end) => `, cannot start: ${end.reason}`,
  noted: (end) => `, recorded as failed${afterDuration(end)}`,
};

/** The tolerated clock skew of a machine that checks in. */
const FUTURE_MS_MAX = 5 * MINUTE_MS;

/** A run may start so long before its time, by the clock of its machine. */
const EARLY_MS_MAX = MINUTE_MS;

/**
 * Returns when the next run is expected, without grace. With cron, that is the first time after the last check-in, so
 * each missed time counts. A run in progress has checked in if `duration_max` limits it.
 */
function expectedAtMs({ sinceMs, last, inProgress }: JobFacts, options: EvaluateOptions): number {
  const { parameters: { expectedEveryMs = NaN, durationMaxMs }, jobTimes: times, nowMs } = options;
  if (times === undefined) return (last?.end.atMs ?? sinceMs) + expectedEveryMs;
  const startsMs = durationMaxMs === undefined ? [] : inProgress.map(({ startedAtMs }) => startedAtMs);
  const heardMs = [...last === null ? [] : [last.end.atMs], ...startsMs]
    .filter((ms) => ms <= nowMs + FUTURE_MS_MAX);
  return times.after(heardMs.length === 0 ? sinceMs : Math.max(...heardMs) + EARLY_MS_MAX);
}

function findLateRun(facts: JobFacts, options: EvaluateOptions): Fault[] {
  const { sinceMs, last, inProgress } = facts;
  const { parameters: { expectedEveryMs, graceMs, conditionOnOverdue }, timeZone, nowMs } = options;
  const times = options.jobTimes;
  const agoMs = nowMs - (last?.end.atMs ?? sinceMs);
  if (agoMs < -FUTURE_MS_MAX) {
    const text =
      `last ended at ${timeText(nowMs - agoMs, timeZone)}, in the future, so the clock was set back; ` +
      "wait for the next run";
    return [{ condition: "unknown", text }];
  }
  const dueMs = expectedAtMs(facts, options);
  if (nowMs <= dueMs + graceMs) return [];
  const heard = last === null
    ? `no run has ended since the check began at ${timeText(sinceMs, timeZone)}`
    : `last ended at ${timeText(last.end.atMs, timeZone)}`;
  const [begun] = inProgress;
  const state = begun === undefined
    ? ""
    : `, one started at ${timeText(begun.startedAtMs, timeZone)} and is still running or died`;
  const expected = times === undefined
    ? `every ${exactDuration(expectedEveryMs ?? NaN)}`
    : `at ${timeText(dueMs, times.timeZone)} by "${times.expression}"`;
  const text = `overdue: ${heard}, expected ${expected}${state}`;
  return [{ condition: conditionOnOverdue, text }];
}

function* longRuns(
  { last, inProgress }: JobFacts,
  { parameters, timeZone, nowMs }: EvaluateOptions,
): Generator<Fault> {
  const { durationMaxMs: maxMs, conditionOnLongRun: condition } = parameters;
  if (maxMs === undefined) return;
  const expected = `at most ${exactDuration(maxMs)} expected`;
  const [begun] = inProgress;
  if (begun !== undefined && nowMs - begun.startedAtMs > maxMs) {
    const text = `running since ${timeText(begun.startedAtMs, timeZone)}, ${expected}, unless it died`;
    yield { condition, text };
  }
  if (last !== null && last.end.durationMs !== null && last.end.durationMs > maxMs) {
    const took = justOver(last.end.durationMs, maxMs);
    const text = `the run that ended at ${timeText(last.end.atMs, timeZone)} took ${took}, ${expected}`;
    yield { condition, text };
  }
}

/** More digits prevent "took 2 h, at most 2 h expected". */
function justOver(durationMs: number, maxMs: number): string {
  const duration = describeDuration(durationMs);
  return duration === describeDuration(maxMs) ? `just over ${exactDuration(maxMs)}` : duration;
}

function describeWell(facts: JobFacts, options: EvaluateOptions) {
  const { last, inProgress } = facts;
  const { timeZone } = options;
  const running = describeRunning(inProgress, timeZone);
  if (last !== null) {
    const { end } = last;
    const when = `at ${timeText(end.atMs, timeZone)}`;
    const said = end.how === "noted"
      ? `recorded as successful ${when}${afterDuration(end)}`
      : `ended ${when} with exit code ${end.exitCode}${afterDuration(end)}`;
    return [said, running].filter((part) => part !== "").join("; ");
  }
  if (running !== "") return `${running}, none has ended yet`;
  const untilMs = expectedAtMs(facts, options);
  const until = timeText(untilMs, options.jobTimes?.timeZone ?? timeZone);
  return `no run yet, the first one ${untilMs > options.nowMs ? "is" : "was"} expected by ${until}`;
}

function describeRunning(inProgress: readonly JobRun[], timeZone: string | undefined): string {
  const [oldest] = inProgress;
  if (oldest === undefined) return "";
  const since = `since ${timeText(oldest.startedAtMs, timeZone)}`;
  return inProgress.length === 1
    ? `running ${since}`
    : `${inProgress.length} runs in progress, the longest ${since}`;
}

function metricsOf(end: JobEnd, nowMs: number): CheckResult["metrics"] {
  return {
    exit_code: end.exitCode,
    ...(end.durationMs !== null && { duration_seconds: end.durationMs / 1000 }),
    // The sum makes 0 of -0.
    age_seconds: Math.trunc(Math.max(0, nowMs - end.atMs) / 1000) + 0,
  };
}

function afterDuration({ durationMs }: JobEnd): string {
  return durationMs === null ? "" : ` after ${describeDuration(durationMs)}`;
}

/** Longer texts are in the detail. */
const LINE_LENGTH_MAX = 300;

/** A terminal shows the beginning of a detail, and the relevant part of a job's output is its end. */
const DETAIL_LINES = 10;

function lastLines(output: string): string {
  const newlines = output.endsWith("\n") ? 1 : 0;
  return output.split("\n").slice(-DETAIL_LINES - newlines).join("\n");
}

function wholeLastLine(output: string): string {
  return output.split("\n").findLast((line) => line.trim() !== "") ?? "";
}

/** The output of a job, without the line that the check's output has already. */
function unshownOutput(last: EndedJobRun | null): string {
  if (last === null) return "";
  const { exitCode, output } = last.end;
  const line = wholeLastLine(output);
  const isShown = exitCode !== 0 && line !== "" && line.trim().length <= LINE_LENGTH_MAX;
  return isShown ? output.slice(0, output.lastIndexOf(line)) : output;
}

function* findErrors({ parameters }: CheckOf<"job">): Generator<ParameterProblem> {
  const { cron, timeZone, expectedEveryMs } = parameters;
  if (cron === undefined && expectedEveryMs === undefined) {
    const example = 'write when the job starts, such as "cron": "30 2 * * *"';
    yield { path: [], message: `missing key "cron" or "expected_every": ${example}` };
  }
  if (cron !== undefined && expectedEveryMs !== undefined) {
    yield { path: ["expected_every"], message: 'cannot be used with "cron": remove one of them' };
  }
  if (timeZone !== undefined && cron === undefined) {
    yield { path: ["time_zone"], message: 'has no effect without "cron"' };
  }
}

function* findWarnings({ parameters, schedule }: CheckOf<"job">): Generator<ParameterProblem> {
  const { expectedEveryMs, graceMs, durationMaxMs } = parameters;
  // With cron, a run in progress is not overdue.
  if (expectedEveryMs === undefined) return;
  const [every, grace] = [exactDuration(expectedEveryMs), exactDuration(graceMs)];
  if (!isCron(schedule) && schedule.regularIntervalMs > expectedEveryMs) {
    const both = `${every} and the check looks every ${exactDuration(schedule.regularIntervalMs)}`;
    const reason = "a run that fails is not seen when a good one follows before the next look";
    yield { path: ["expected_every"], message: `expected_every is ${both}: ${reason}` };
  }
  if (durationMaxMs !== undefined && durationMaxMs > expectedEveryMs + graceMs) {
    const message = `duration_max is ${exactDuration(durationMaxMs)}, expected_every ${every} and grace ` +
      `${grace}: a run that takes so long is overdue before it is too long`;
    yield { path: ["duration_max"], message };
  }
}
