import type { Clock } from "../../domain/clock.ts";
import { messageOf, systemCodeOf } from "../../shared/describe_error.ts";
import { inTime } from "../files.ts";

/**
 * Terminates a command with all processes that it started.
 *
 * A command is started as the leader of its own process group, so the group's id is the leader's process id and `-id`
 * reaches every process that did not leave the group by itself.
 *
 * Why signalling an id is safe after the leader was reaped: the kernel does not assign an id again while any process
 * has it as its group, so a group with remaining processes is ours. Once the group is empty its id is free, but ids
 * are assigned in a cycle: it is reused only after every other id of the system (32768 at the very least). Callers
 * therefore stop signalling as soon as one signal found no process, and never signal later than a fraction of a
 * second after the leader has exited. Signal 0 and SIGKILL to an empty group do nothing.
 */
export interface ProcessGroups {
  /**
   * Returns the reason why the group of the command at `path` could not be terminated, or `undefined` if it can be.
   * Otherwise no command is started: termination keeps a hanging target from affecting anything else.
   */
  obstacle(path: string): Promise<string | undefined>;
  /** Signals every process of the group, the leader being one while it lives. */
  signal(leader: Deno.ChildProcess, signal: GroupSignal): Promise<GroupAnswer>;
  /** Kills a group without waiting, for the moment this process exits. */
  killAtExit(leader: Deno.ChildProcess): void;
}

type GroupSignal = "SIGTERM" | "SIGKILL" | 0;

/**
 * The targets of a signal: a process, none, or only processes that may not be signalled (another user's). A dead
 * process that its parent has not waited for yet counts as a process.
 */
type GroupAnswer = "sent" | "nobody" | "refused";

/** Signals a group: `Deno.kill` needs `--allow-run` without a list. A list must contain this. */
export const KILL_COMMAND_PATH = Deno.build.os === "darwin" ? "/bin/kill" : "/usr/bin/kill";

export function createProcessGroups(clock: Clock, killPath: string = KILL_COMMAND_PATH): ProcessGroups {
  return Deno.build.os === "windows" ? createWindowsGroups() : createUnixGroups(clock, killPath);
}

function createUnixGroups(clock: Clock, killPath: string): ProcessGroups {
  let isKillCommandKnownToRun = false;
  return {
    obstacle: async (path) => {
      if (isKillCommandKnownToRun) return undefined;
      if (Deno.permissions.querySync({ name: "run" }).state === "granted") return undefined;
      try {
        await killCommand(killPath, ["-l"]).output();
        isKillCommandKnownToRun = true;
        return undefined;
      } catch (error) {
        if (error instanceof Deno.errors.NotCapable) return `needs --allow-run=${path},${killPath}`;
        const reason = await explainSpawnFailure(error, { path: killPath, directory: "/", clock });
        return `cannot run "${killPath}", which terminates leftover processes: ${reason}`;
      }
    },
    signal: async (leader, signal) => {
      try {
        return signalDirectly(leader, signal);
      } catch (error) {
        if (!(error instanceof Deno.errors.NotCapable)) throw error;
      }
      try {
        const { success } = await killCommand(killPath, groupArguments(leader, signal)).output();
        return success ? "sent" : "nobody";
      } catch {
        // It ran before, so the system is short of something, such as processes. The leader can be had without.
        signalLeader(leader, signal);
        return "refused";
      }
    },
    killAtExit: (leader) => {
      try {
        signalDirectly(leader, "SIGKILL");
      } catch {
        try {
          killCommand(killPath, groupArguments(leader, "SIGKILL")).outputSync();
        } catch {
          // Nothing more can be done while exiting, and the other groups still wait for their turn.
        }
      }
    },
  };
}

/** Windows has no groups: only the command itself is terminated. */
function createWindowsGroups(): ProcessGroups {
  return {
    obstacle: () => Promise.resolve(undefined),
    signal: (leader, signal) => Promise.resolve(signalLeader(leader, signal)),
    killAtExit: (leader) => {
      signalLeader(leader, "SIGKILL");
    },
  };
}

/** @throws {Deno.errors.NotCapable} If `--allow-run` was given with a list, or not at all. */
function signalDirectly(leader: Deno.ChildProcess, signal: GroupSignal): GroupAnswer {
  try {
    // The runtime accepts 0 as the system does; its types have only names.
    Deno.kill(-leader.pid, signal as Deno.Signal);
    return "sent";
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "nobody";
    if (error instanceof Deno.errors.PermissionDenied) return "refused";
    throw error;
  }
}

function signalLeader(leader: Deno.ChildProcess, signal: GroupSignal): GroupAnswer {
  if (signal === 0) return "nobody";
  try {
    leader.kill(signal);
    return "sent";
  } catch {
    return "nobody"; // the runtime's error once it has waited for the child
  }
}

function killCommand(path: string, killArguments: readonly string[]): Deno.Command {
  return new Deno.Command(path, {
    args: [...killArguments],
    clearEnv: true,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  });
}

function groupArguments(leader: Deno.ChildProcess, signal: GroupSignal): readonly string[] {
  return [signal === 0 ? "-0" : `-${signal.slice("SIG".length)}`, "--", `-${leader.pid}`];
}

interface SpawnAttempt {
  readonly path: string;
  /** Working directory, absolute. */
  readonly directory: string;
  /** Limits how long the file system may take. */
  readonly clock: Clock;
}

/**
 * Describes the error of `Deno.Command.spawn`, without the command's path: one line, no final period.
 *
 * The system's error is the same for several causes (a script whose interpreter is missing is "not found", as a
 * missing file is), so this examines the file as far as the permissions allow, and names only a certain cause.
 */
export async function explainSpawnFailure(error: unknown, attempt: SpawnAttempt): Promise<string> {
  const message = messageOf(error);
  if (error instanceof Deno.errors.NotCapable) return explainMissingPermission(message, attempt);
  if (message.includes("No such cwd")) return `working directory "${attempt.directory}" does not exist`;
  if (message.includes("cwd is not a directory")) {
    return `working directory "${attempt.directory}" is not a directory`;
  }
  if (error instanceof Deno.errors.NotFound) return await explainNotFound(attempt);
  if (error instanceof Deno.errors.PermissionDenied) return await explainPermissionDenied(attempt);
  if (message.includes("Exec format error")) return NEITHER_BINARY_NOR_SCRIPT;
  return REASONS_BY_CODE[systemCodeOf(error)] ?? systemWords(message);
}

const NEITHER_BINARY_NOR_SCRIPT = 'file is neither a program for this machine nor a script with a "#!" line';

const REASONS_BY_CODE: Readonly<Record<string, string>> = {
  E2BIG: "arguments and environment together are longer than the system accepts",
  EAGAIN: "the system allows no more processes",
  EINVAL: "an argument or a variable of the environment contains a NUL character",
  ELOOP: "symbolic links on its path form a loop",
  EMFILE: "too many files are open",
  ENAMETOOLONG: "its path is longer than the system accepts",
  ENFILE: "too many files are open on this system",
  ENOEXEC: NEITHER_BINARY_NOR_SCRIPT,
  ENOMEM: "the system is out of memory",
  ENOTDIR: "its path leads through something that is not a directory",
  ETXTBSY: "file is being written to",
};

function explainMissingPermission(message: string, { path }: SpawnAttempt): string {
  const loaderVariable = /with (\S+) environment variable/.exec(message)?.[1];
  if (loaderVariable !== undefined) {
    return `the variable ${loaderVariable} in its environment needs --allow-run without a list of programs`;
  }
  return `needs --allow-run=${path}`;
}

async function explainNotFound({ path, clock }: SpawnAttempt): Promise<string> {
  const found = await look(path, clock);
  if (found === "missing") {
    return await isSymlink(path) ? "file is a symbolic link to nothing" : "file does not exist";
  }
  if (found === "hidden") return "the file, or the interpreter that its first line names, does not exist";
  const interpreter = await interpreterOf(path);
  if (interpreter === "hidden") return "the interpreter that its first line names does not exist";
  if (interpreter === "none") return "the loader that this program needs does not exist on this system";
  return interpreter.endsWith("\r")
    ? `its interpreter ${JSON.stringify(interpreter)} does not exist; the file has Windows newlines (CRLF)`
    : `its interpreter "${interpreter}" does not exist`;
}

async function explainPermissionDenied({ path, clock }: SpawnAttempt): Promise<string> {
  const found = await look(path, clock);
  if (found === "denied") return "no permission to enter a directory on its path";
  if (found === "hidden" || found === "missing") return "file is not executable, or is a directory";
  if (found.isDirectory) return "path is a directory, not a program";
  // Opening a pipe to look for an interpreter would block.
  if (!found.isFile) return "path is not a regular file";
  if (!isExecutable(found)) return "file is not executable";
  const interpreter = await interpreterOf(path);
  if (interpreter !== "hidden" && interpreter !== "none") {
    const target = await look(interpreter, clock);
    if (typeof target === "object" && (target.isDirectory || !isExecutable(target))) {
      return `its interpreter "${interpreter}" is not executable`;
    }
  }
  return "this user or its file system does not allow to execute it";
}

function isExecutable({ mode }: Deno.FileInfo): boolean {
  return mode === null || (mode & 0o111) !== 0;
}

/** Returns the facts of a file; `hidden` if this process lacks the permission to read them. */
async function look(path: string, clock: Clock): Promise<Deno.FileInfo | "missing" | "denied" | "hidden"> {
  try {
    return await inTime(Deno.stat(path), clock);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "missing";
    if (error instanceof Deno.errors.PermissionDenied) return "denied";
    return "hidden";
  }
}

async function isSymlink(path: string): Promise<boolean> {
  try {
    return (await Deno.lstat(path)).isSymlink;
  } catch {
    return false;
  }
}

/** Returns the command after `#!`; `none` if the file does not begin so, `hidden` if it is unreadable. */
async function interpreterOf(path: string): Promise<string> {
  try {
    using file = await Deno.open(path);
    // Linux reads no more of the first line than this.
    const head = new Uint8Array(256);
    const length = await file.read(head) ?? 0;
    const firstLine = new TextDecoder().decode(head.subarray(0, length)).split("\n", 1)[0] ?? "";
    return /^#![ \t]*([^ \t]+)/.exec(firstLine)?.[1] ?? "none";
  } catch {
    return "hidden";
  }
}

/** Returns whether a command was not started because this process, or the system, has too many open files. */
export function isOutOfDescriptors(error: unknown): boolean {
  return error instanceof Error && /Too many open files|\(os error 2[34]\)/.test(error.message);
}

/** The system's own words: the text between the runtime's `Failed to spawn '…': ` and ` (os error N)`. */
function systemWords(message: string): string {
  return message.replace(/^Failed to spawn '.*': /s, "").replace(/ \(os error \d+\)$/, "");
}
