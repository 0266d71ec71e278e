import { didYouMean } from "../../config/nearest.ts";
import { type Command, EXIT, type Invocation, OPTION, option, UsageError } from "../command_definition.ts";
import { CHECK_KINDS } from "../../checks/registry.ts";
import { readJobIndex } from "../../config/job_index.ts";
import { locateConfig } from "../../config/source.ts";
import type { CheckKind } from "../../domain/check.ts";
import { type JobEnd, type JobRun, StoreError } from "../../domain/store.ts";
import { isShared } from "../../domain/membership.ts";
import type { MonitorRun } from "../../domain/monitor_run.ts";
import type { ForegroundEnd } from "../../domain/processes.ts";
import type { System } from "../../domain/system.ts";
import { withStallSafeTimeout } from "../../shared/deadline.ts";
import { lastLines, printable } from "../../shared/text.ts";
import { createRedactor } from "../../shared/redact.ts";
import type { ControlRequest } from "../check/control.ts";
import { describeFailure } from "../failure.ts";
import { locateState, stateAlongside, type StateLocation } from "../open_state.ts";
import { createSteadySink, usesColor } from "../terminal.ts";

export const beatCommand: Command = {
  name: "beat",
  group: "run",
  summary: "run a command and record its result for a job check",
  operands: "NAME [-- COMMAND…]",
  takesCommand: true,
  uses: ["read", "write", "net", "run", "env", "sys"],
  description:
    "Runs COMMAND and records its start, end, exit code and last output for the check NAME of kind job. COMMAND gets " +
    "this process's environment, working directory, input, output and signals, and its exit code is passed on. It runs even " +
    "if the name, the config or the state has an error; the error is printed to stderr. Without COMMAND a successful run is " +
    "recorded.",
  page: "guides/job_check_ins.md",
  options: [
    OPTION.config,
    OPTION.state,
    option("--failed", "a failed run instead of a successful one; only without COMMAND"),
  ],
  examples: [
    ["monitor beat backup -- /usr/local/bin/backup --full", "run a cron job"],
    ["monitor beat backup -- sh -c 'dump | gzip > x'", "run a shell pipeline"],
    ["monitor beat backup", "record a success, at the end of a script"],
    ["monitor beat backup --failed", "record a failure"],
  ],
  endings: ["done", "command", "name", "state", "permission", "config"],
  run: (invocation, system) =>
    invocation.trailing === undefined
      ? note(invocation, system)
      : runJob(invocation.trailing, invocation, system),
};

/** Scanned for secrets; less of it is stored. */
const TAIL_BYTES_MAX = 64 * 1024;

/** The command does not wait longer than this for a config whose files all hang. */
const LOOK_MS_MAX = 10_000;

const LATE = `cannot find the state: the file system did not respond within ${LOOK_MS_MAX / 1000} s`;

/** How long the command waits for its start to be recorded; after that, the start is recorded while it runs. */
const START_MS_MAX = 250;

/** How long recording the end of a run is retried while others write. */
const END_MS_MAX = 120_000;

/** How long a service that is frozen delays the command. */
const REQUEST_MS_MAX = 1_000;

/** Records a check-in without a command. There is no command to protect: a failure is an error. */
async function note(invocation: Invocation, system: System): Promise<number> {
  const jobLog = await openJobLog(invocation, system);
  const nowMs = system.clock.wallMs();
  const exitCode = invocation.has("failed") ? 1 : 0;
  const end: JobEnd = { atMs: nowMs, durationMs: null, how: "noted", exitCode, reason: "", output: "" };
  await keep(jobLog, { id: system.randomId(), startedAtMs: nowMs, end }, { system, timeoutMs: END_MS_MAX });
  return EXIT.ok;
}

/** Nothing of ours may keep the command from running, nor change its exit code. */
async function runJob(command: readonly string[], invocation: Invocation, system: System): Promise<number> {
  const { clock } = system;
  const stderr = createSteadySink(system.stderr, () => {});
  const warn = (error: unknown, consequence: string): void => {
    const { text } = describeFailure(error, { color: usesColor(system.stderr, system) });
    stderr.write(`${text}monitor: warning: ${consequence}\n`);
  };
  const attempt = async <T>(work: () => Promise<T>, otherwise: string): Promise<T | null> => {
    try {
      return await work();
    } catch (error) {
      warn(error, otherwise);
      return null;
    }
  };
  const opening = { clock, timeoutMs: LOOK_MS_MAX, late: () => new StoreError(LATE, "other") };
  const jobLog = await attempt(
    () => withStallSafeTimeout(openJobLog(invocation, system, command), opening),
    "this run is not recorded; COMMAND runs anyway",
  );
  const begun: JobRun = { id: system.randomId(), startedAtMs: clock.wallMs(), end: null };
  /** Returns whether the start is still to be kept, because others write. */
  const keepStart = async (patience: Omit<KeepOptions, "system">): Promise<boolean> => {
    if (jobLog === null) return false;
    try {
      await keep(jobLog, begun, { system, ...patience });
      return false;
    } catch (error) {
      if (error instanceof StoreError && error.failure === "busy") return true;
      warn(error, "start of this run not recorded; COMMAND runs anyway");
      return false;
    }
  };
  const ended = new AbortController();
  const keepingStart = await keepStart({ timeoutMs: START_MS_MAX })
    ? keepStart({ timeoutMs: Infinity, signal: ended.signal })
    : Promise.resolve(false);
  const startedMonotonicMs = clock.monotonicMs();
  const end = await system.foreground.run(command, { tailBytesMax: TAIL_BYTES_MAX });
  const durationMs = clock.monotonicMs() - startedMonotonicMs;
  if (end.ended === "not_started") {
    const problem = `cannot start ${JSON.stringify(command[0])}: ${end.reason}`;
    stderr.write(`monitor: error: ${printable(problem)}\n`);
  }
  ended.abort();
  const isStartUnkept = await keepingStart;
  if (jobLog !== null) {
    const run = { ...begun, end: endOf(end, { atMs: clock.wallMs(), durationMs, redact: jobLog.redact }) };
    await attempt(
      () => keep(jobLog, run, { system, timeoutMs: END_MS_MAX }),
      isStartUnkept ? "this run is not recorded" : "end of this run not recorded",
    );
  }
  return end.code;
}

interface OpenJobLog {
  readonly name: string;
  readonly place: StateLocation;
  /** Removes the secrets of the config from a text, as far as they can be read here. */
  redact(text: string): string;
}

async function openJobLog(invocation: Invocation, system: System, command: readonly string[] = []) {
  const { usageError, operands: [name], options } = invocation;
  if (usageError !== undefined) throw usageError;
  if (name === undefined) {
    throw new UsageError("beat requires the name of a check", "monitor beat NAME -- COMMAND");
  }
  const config = invocation.text("config");
  if (command.length > 0 && options.has("failed")) {
    throw new UsageError("--failed cannot be used with a command");
  }
  if (command.length > 0 && config === "-") {
    throw new UsageError("--config - cannot be used with a command, which reads stdin");
  }
  const jobIndex = await readJobIndex(await locateConfig(config, system), system);
  await refuseOthers(name, jobIndex.kinds);
  const place = await locateState(invocation, jobIndex, system);
  if (place.path === null) {
    const why = place.obstacle === undefined ? "" : `: ${place.obstacle}`;
    throw new UsageError(`no stored state to record a run in${why}`, "set --state PATH");
  }
  return { name, place, redact: createRedactor(jobIndex.secrets) };
}

async function refuseOthers(name: string, kinds: ReadonlyMap<string, unknown>): Promise<void> {
  if (await hasCheckIns(kinds.get(name))) return;
  if (kinds.has(name)) {
    const problem = `the check "${name}" is not a job: its kind is ${JSON.stringify(kinds.get(name))}`;
    throw new UsageError(problem, 'name a check of the kind "job"');
  }
  const jobs: string[] = [];
  for (const [known, kind] of kinds) if (await hasCheckIns(kind)) jobs.push(known);
  throw new UsageError(`unknown check "${name}"`, didYouMean(name, jobs) ?? "list them with: monitor status");
}

/** The kind is as it is written, so it may be anything. */
async function hasCheckIns(kind: unknown): Promise<boolean> {
  if (typeof kind !== "string" || !Object.hasOwn(CHECK_KINDS, kind)) return false;
  return (await CHECK_KINDS[kind as CheckKind]()).hasCheckIns === true;
}

/** The state is open only for a moment: a run may last for days, and a monitor may give it another file meanwhile. */
async function keep({ name, place }: OpenJobLog, run: JobRun, { system, ...patience }: KeepOptions) {
  const store = await stateAlongside(place, system, patience);
  try {
    await store.keepJobRun(name, run, system.clock.wallMs());
    // The members of a shared state read it with a heartbeat.
    if (run.end !== null && !isShared(store)) await requestRun(name, await store.monitorRun(), system);
  } finally {
    await store.close();
  }
}

/** Has the check run at once in a service that this user can reach; in any other it runs at its interval. */
async function requestRun(name: string, service: MonitorRun | null, system: System): Promise<void> {
  if (service === null || service.ended !== null || service.controlPath === null) return;
  const request: ControlRequest = { command: "run", names: [name] };
  await system.controlSockets
    .send(service.controlPath, JSON.stringify(request), { timeoutMs: REQUEST_MS_MAX }).catch(() => {});
}

type KeepOptions = Parameters<typeof stateAlongside>[2] & { readonly system: System };

function endOf(
  end: ForegroundEnd,
  { atMs, durationMs, redact }: Pick<OpenJobLog, "redact"> & Record<"atMs" | "durationMs", number>,
): JobEnd {
  const common = { atMs, how: end.ended, exitCode: end.code };
  if (end.ended === "not_started") return { ...common, durationMs: null, reason: end.reason, output: "" };
  return {
    ...common,
    durationMs,
    reason: end.ended === "signalled" ? end.signal : "",
    output: lastLines(redact(end.tail)),
  };
}
