import { messageOf, systemCodeOf } from "../../shared/describe_error.ts";
import type { Clock } from "../../domain/clock.ts";
import { inTime } from "../files.ts";

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
