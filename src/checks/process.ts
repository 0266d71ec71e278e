import { type CheckOf, type CheckResult, checkResult, unknownResult } from "../domain/check.ts";
import type { ProcessParameters } from "../domain/generated/config.ts";
import type { CheckKindEntry, ObserveContext, ParameterProblem } from "../domain/check_kind.ts";
import type { System } from "../domain/system.ts";
import type { Thresholds } from "../domain/limits.ts";
import { highestSeverity } from "../domain/condition.ts";
import { describeFileError, systemCodeOf } from "../shared/describe_error.ts";
import { firstItems, quote } from "../shared/text.ts";
import { unitOfControlGroup } from "../shared/unit_name.ts";
import { readText, UnreadableFileError } from "../shared/regular_file.ts";
import { createLineSearch } from "./body_pattern.ts";
import { describeFailure, runCommand, runSystemCommand } from "./system_command.ts";
import { evaluateMeasures, type Measure, thresholdsOf, thresholdWarnings } from "./thresholds.ts";

export const processKind: CheckKindEntry<"process"> = {
  observe: observeProcess,
  limit: "process",
  target: {
    form: "NAME",
    parametersOf: ({ text }) => ({ name: text }),
    subjectsOf: ({ parameters: { name, pattern, executable, pidFile, user } }) => [
      `process ${name ?? pattern ?? executable ?? pidFile ?? `of ${user}`}`,
    ],
    textOf: ({ parameters: { name, pattern, executable, pidFile, user } }) =>
      name ?? pattern ?? executable ?? pidFile ?? user,
    goesDown: true,
  },
  warnings: ({ parameters: { count, age, memory } }) => thresholdWarnings({ count, age, memory }),
  errors: findErrors,
  requiredPermissions: ({ parameters }, system) => ({
    run: [commandOf(parameters, system)],
    read: [
      ...parameters.pidFile === undefined ? [] : [parameters.pidFile],
      ...parameters.executable === undefined ? [] : [parameters.executable, PROCESSES],
    ],
  }),
};

interface Process {
  readonly id: number;
  readonly parentId: number;
  /** Of processes that were started together: the session on Linux, the process group elsewhere. */
  readonly group: string;
  /** Whether it is a zombie, which has ended already. */
  readonly isEnded: boolean;
  readonly ageSeconds: number;
  readonly residentBytes: number;
  /** The systemd unit; `null`: none. */
  readonly unit: string | null;
  /** The number and the name of the effective user; empty if they don't matter. */
  readonly users: readonly string[];
  /** The name, or with a pattern the whole command line. */
  readonly text: string;
}

async function observeProcess(check: CheckOf<"process">, context: ObserveContext): Promise<CheckResult> {
  const { parameters, timeoutMs } = check;
  const { system, signal } = context;
  if (system.platform === "windows") return unknownResult("Windows has no ps, which lists the processes");
  const command = commandOf(parameters, system);
  const isLinux = system.platform === "linux";
  const columns = [
    ...["pid=", "ppid=", isLinux ? "sess=" : "pgid=", "etime=", "rss=", "stat="],
    ...parameters.user === undefined ? [] : ["uid=", isLinux ? "user:64=" : "user="],
    ...isLinux ? CONTROL_GROUP : [],
    parameters.pattern === undefined ? "comm=" : "args=",
  ];
  const printed = await runSystemCommand({
    path: command,
    arguments: ["-A", "-ww", ...columns.flatMap((name) => ["-o", name])],
    timeoutMs,
  }, context);
  if (typeof printed !== "string") return printed;
  const lines = printed.split("\n").filter((line) => line.trim() !== "");
  const hasUsers = parameters.user !== undefined;
  const listed = lines.map((line) => readLine(line, { hasUsers, hasGroup: isLinux }));
  // Without the process of the monitor itself at least, ps printed something else.
  if (lines.length === 0) return unknownResult(`"${command}" listed no processes`);
  const unread = lines[listed.indexOf(null)];
  if (unread !== undefined) {
    return unknownResult(`"${command}" printed a line that is no process: ${quote(unread)}`);
  }
  const all = listed.filter((process) => process !== null);
  const own = ownProcesses(all, system.host.processId, { withWrappers: parameters.pattern !== undefined });
  const processes = all.filter(({ id, isEnded }) => !isEnded && !own.has(id));
  const found = await select(processes, parameters, system);
  if (!Array.isArray(found)) return found as CheckResult;
  const { files, platform } = system;
  const executed = await withExecutable(found, parameters.executable, { files, platform, signal });
  signal.throwIfAborted();
  if (typeof executed === "string") return unknownResult(executed);
  const { running, unreadable } = executed;
  if (!isDecided(running, { unreadable, parameters })) return unknownResult(describeUnreadable(executed));
  const result = {
    ...unreadable.length === 0 ? evaluate(running, parameters) : evaluatePartly(executed, parameters),
    units: [...new Set(running.flatMap(({ unit }) => unit ?? []))],
  };
  const { user } = parameters;
  if (user !== undefined && all.every(({ users }) => !users.includes(user))) {
    const reason = await describeMissingUser(command, { user, timeoutMs }, context);
    // A count that is a problem stays one: nothing runs as a user that does not exist.
    if (reason !== null) {
      return checkResult(highestSeverity([result.condition, "unknown"]), `${result.output}; ${reason}`);
    }
  }
  return parameters.pattern === undefined ? result : { ...result, detail: describeMatches(running) };
}

/** Returns why a user that runs nothing is not known to exist; `null`: it exists, or is a number. */
async function describeMissingUser(
  command: string,
  { user, timeoutMs }: { readonly user: string; readonly timeoutMs: number },
  context: ObserveContext,
): Promise<string | null> {
  if (/^\d+$/.test(user)) return null;
  // It fails if nothing is listed, too, but with a message only for an unknown user.
  const end = await runCommand({ path: command, arguments: ["-o", "pid=", "-u", user], timeoutMs }, context);
  if (end.ended === "exited" && end.stderr.text.trim() === "") return null;
  return `user ${quote(user)}: ${describeFailure(end, { path: command, timeoutMs }) ?? "not known to exist"}`;
}

/** Returns whether the condition is the same, whichever of the unreadable processes run the executable. */
function isDecided(
  running: readonly Process[],
  { unreadable, parameters }: {
    readonly unreadable: readonly Process[];
    readonly parameters: ProcessParameters;
  },
): boolean {
  const all = [...running, ...unreadable];
  const [below, above] = [sideOf(parameters.count, "Below"), sideOf(parameters.count, "Above")];
  const tooFew = (some: readonly Process[]) =>
    evaluate(some, { count: below, age: {}, memory: {} }).condition;
  const others = (some: readonly Process[]) => evaluate(some, { ...parameters, count: above }).condition;
  return highestSeverity([tooFew(all), others(running)]) === highestSeverity([tooFew(running), others(all)]);
}

/** A fixed path: looking it up would need to read every directory in `PATH`. */
function commandOf({ command }: ProcessParameters, { platform }: Pick<System, "platform">): string {
  return command ?? (platform === "darwin" ? "/bin/ps" : "/usr/bin/ps");
}

/** Ids of the process, its parent and its group, elapsed time, resident KiB, state, and the rest. */
const LINE =
  /^\s*(\d{1,10})\s+(\d{1,10})\s+(\S+)\s+(?:(?:(\d{1,10})-)?(\d{1,8}):)?(\d{1,8}):(\d{1,8})\s+(\d{1,15})\s+(\S+) (.*)$/;

/** Number and name of the user, and the rest. */
const USER = /^\s*(\d{1,10})\s+(\S+) (.*)$/;

/**
 * The control group ends with the id again: procps 3.3.12 has it. Its owner may give it a name of any characters, an end too
 * soon as well, so only texts that a process itself decides come after it.
 */
const CONTROL_GROUP = ["cgname:128=", "pid="];

/** The age of a process that has just started may be below 0, which procps prints as millions of days. */
const AGE_SECONDS_MAX = 1e10;

/** `null`: a line of another form. */
function readLine(
  line: string,
  { hasUsers, hasGroup }: { readonly hasUsers: boolean; readonly hasGroup: boolean },
): Process | null {
  const found = LINE.exec(line);
  if (found === null) return null;
  const [, id, parentId, group = "", days = 0, hours = 0, minutes, seconds, kibibytes, ...texts] = found;
  const [state = "", rest = ""] = texts;
  const parts = hasUsers ? USER.exec(rest) : [rest, rest];
  if (parts === null) return null;
  const end = parts.at(-1) ?? "";
  const groupEnd = hasGroup ? `${end} `.indexOf(` ${id} `) : 0;
  if (groupEnd === -1) return null;
  const ageSeconds = ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds);
  return {
    id: Number(id),
    parentId: Number(parentId),
    group,
    isEnded: state.startsWith("Z"),
    ageSeconds: ageSeconds > AGE_SECONDS_MAX ? 0 : ageSeconds,
    residentBytes: Number(kibibytes) * 1024,
    unit: unitOfControlGroup(end.slice(0, groupEnd).trim()),
    users: parts.slice(1, -1),
    text: (hasGroup ? end.slice(groupEnd + ` ${id} `.length) : end).trim(),
  };
}

/** Returns the ids of the monitor and of all that it has started; `withWrappers` adds the commands that have started it. */
function ownProcesses(
  processes: readonly Process[],
  monitorId: number,
  { withWrappers }: { readonly withWrappers: boolean },
): ReadonlySet<number> {
  const own = new Set([monitorId]);
  const children = Map.groupBy(processes, ({ parentId }) => parentId);
  for (const id of own) for (const child of children.get(id) ?? []) own.add(child.id);
  return withWrappers ? new Set([...own, ...wrappers(processes, monitorId)]) : own;
}

/**
 * Yields the ids of the shell, the sandbox and the like that have started the monitor, in whose command lines a pattern may be
 * because it is in that of the monitor. A service such as cron, which is in another session, is none.
 */
function* wrappers(processes: readonly Process[], monitorId: number): Generator<number> {
  const byId = new Map(processes.map((process) => [process.id, process]));
  const monitor = byId.get(monitorId);
  for (let child = monitor; child !== undefined;) {
    byId.delete(child.id);
    const parent = byId.get(child.parentId);
    if (parent?.group === monitor?.group || parent?.text.includes(child.text)) yield child.parentId;
    child = parent;
  }
}

async function select(
  processes: readonly Process[],
  { name, pattern, pidFile, user }: ProcessParameters,
  { files, platform }: Pick<System, "files" | "platform">,
): Promise<readonly Process[] | CheckResult> {
  let found = user === undefined ? processes : processes.filter(({ users }) => users.includes(user));
  if (pidFile !== undefined) {
    const id = await readProcessId(pidFile, files);
    if (typeof id === "string") return unknownResult(`cannot read pid_file "${pidFile}": ${id}`);
    found = found.filter((process) => process.id === id);
  }
  if (name !== undefined) {
    // Linux keeps 15 bytes of a name.
    const kept = new TextDecoder().decode(new TextEncoder().encode(name).subarray(0, 15), { stream: true });
    // Only elsewhere the name is a path. On Linux a process that has a slash in its name has chosen it.
    found = platform === "linux"
      ? found.filter(({ text }) => text === kept)
      : found.filter(({ text }) => text === name || text.endsWith(`/${name}`));
  }
  if (pattern === undefined) return found;
  const search = await createLineSearch(pattern);
  const length = found.reduce((sum, { text }) => sum + text.length, 0);
  if (length > search.lengthMax) {
    return unknownResult(
      `command lines have ${length} characters, pattern searches at most ${search.lengthMax}`,
    );
  }
  return found.filter(({ text }) => search.test(text));
}

const PID_FILE_BYTES_MAX = 4096;

/** The id in a file, `null` without a file, or why it can't be read. */
async function readProcessId(path: string, files: System["files"]): Promise<number | null | string> {
  let text: string;
  try {
    text = await readText(path, { files, bytesMax: PID_FILE_BYTES_MAX });
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    return error instanceof UnreadableFileError ? error.message : describeFileError(error, { path });
  }
  const id = /^\s*(\d{1,10})\s*(?:\n|$)/.exec(text)?.[1];
  return id === undefined ? "its first line is not a process id" : Number(id);
}

const MATCHES_SHOWN_MAX = 10;

/** The first words of the command lines: a password may follow. */
function describeMatches(found: readonly Process[]): string {
  const lines = found.map(({ id, text }) => `${id} ${quote(text.split(/\s/, 1)[0] ?? "")}`);
  return firstItems(lines, MATCHES_SHOWN_MAX).join("\n");
}

/** Evaluates those that are readable. With the others the numbers may differ, so there are no metrics. */
function evaluatePartly(executed: Executed<Process>, parameters: ProcessParameters): CheckResult {
  const { condition, output } = evaluate(executed.running, parameters, BOUND_NAMES);
  return checkResult(condition, `${output}; ${describeUnreadable(executed)}`);
}

function describeUnreadable({ unreadable: { length }, reason }: Executed<Process>): string {
  return `cannot read the executable of ${length} ${length === 1 ? "process" : "processes"}: ${reason}`;
}

const NAMES = { count: "count", ageMin: "age_min", ageMax: "age_max", memory: "memory" };

/** The same of some processes as bounds for all. */
const BOUND_NAMES: typeof NAMES = {
  count: "count_at_least",
  ageMin: "age_min_at_most",
  ageMax: "age_max_at_least",
  memory: "memory_at_least",
};

function evaluate(
  found: readonly Process[],
  { count, age, memory }: Pick<ProcessParameters, "count" | "age" | "memory">,
  names = NAMES,
): CheckResult {
  const measures: Measure[] = [{ name: names.count, value: found.length, unit: "number", thresholds: count }];
  if (found.length > 0) {
    const ages = found.map(({ ageSeconds }) => ageSeconds);
    const limits = thresholdsOf(age, 1000);
    const bytes = found.reduce((sum, { residentBytes }) => sum + residentBytes, 0);
    measures.push(
      { name: names.ageMin, value: Math.min(...ages), unit: "seconds", thresholds: sideOf(limits, "Below") },
      { name: names.ageMax, value: Math.max(...ages), unit: "seconds", thresholds: sideOf(limits, "Above") },
      { name: names.memory, value: bytes, unit: "bytes", thresholds: thresholdsOf(memory) },
    );
  }
  return evaluateMeasures(measures);
}

function sideOf<T extends Thresholds>(thresholds: T, side: "Below" | "Above"): Partial<T> {
  return Object.fromEntries(Object.entries(thresholds).filter(([key]) => key.endsWith(side))) as Partial<T>;
}

function findErrors({ parameters }: CheckOf<"process">): readonly ParameterProblem[] {
  const { name, pattern, pidFile, executable, user } = parameters;
  if (name !== undefined && pattern !== undefined) {
    return [{ path: ["pattern"], message: 'cannot be used with "name", expected one of them' }];
  }
  if ([name, pattern, pidFile, executable, user].some((key) => key !== undefined)) return [];
  const message = 'selects no process, expected "name", "pattern", "executable", "pid_file" or "user"';
  return [{ path: [], message }];
}

const PROCESSES = "/proc";

interface Executed<Process> {
  readonly running: readonly Process[];
  /** Those whose executable cannot be read, such as those of other users. */
  readonly unreadable: readonly Process[];
  /** Why the first of them cannot be read; empty: all can. */
  readonly reason: string;
}

/** Finds the processes that run the expected file, which may have been replaced; a text: why it can't be compared. */
async function withExecutable<Process extends { readonly id: number }>(
  found: readonly Process[],
  executable: string | undefined,
  { files, platform, signal }: Pick<System, "files" | "platform"> & { readonly signal: AbortSignal },
): Promise<Executed<Process> | string> {
  if (executable === undefined) return { running: found, unreadable: [], reason: "" };
  if (platform !== "linux") return "only Linux names the executable of a process";
  let expected = executable;
  try {
    expected = await files.realPath(executable);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) {
      return `cannot read executable "${executable}": ${describeFileError(error, { path: executable })}`;
    }
  }
  const running: Process[] = [];
  const unreadable: Process[] = [];
  let reason = "";
  for (const process of found) {
    signal.throwIfAborted();
    const link = `${PROCESSES}/${process.id}/exe`;
    try {
      const path = await files.readLink(link);
      if (path === expected || path === `${expected} (deleted)`) running.push(process);
    } catch (error) {
      // A process that has ended, or a thread of the kernel.
      if (error instanceof Deno.errors.NotFound || systemCodeOf(error) === "ESRCH") continue;
      if (error instanceof Deno.errors.NotCapable) return describeFileError(error, { path: PROCESSES });
      if (unreadable.length === 0) reason = describeFileError(error, { path: link });
      unreadable.push(process);
    }
  }
  return { running, unreadable, reason };
}
