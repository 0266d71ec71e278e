import { describeFileError } from "../shared/describe_error.ts";
import { shellWord } from "../shared/text.ts";
import { missingUserId } from "../domain/runtime_permissions.ts";
import { readRegularFile, type RegularFile, UnreadableFileError } from "../shared/regular_file.ts";
import type { Files, System } from "../domain/system.ts";
import { positionOf } from "./positions.ts";
import { ConfigError, quoteValue, type Source } from "./problem.ts";

export interface ConfigLocation {
  /** A path, or `-` for standard input. */
  readonly path: string;
  /** The name in messages. @default the path */
  readonly label?: string;
  /** Whether the user named it. One that was only found must belong to the user or to root. */
  readonly named: boolean;
  readonly text?: string;
  /** All files as read before, the config itself first; if present, no file is read again. */
  readonly sources?: readonly Source[];
}

export const CONFIG_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Reads and decodes a config.
 *
 * @throws {ConfigError} If it cannot be read, is not UTF-8, or is not to be trusted.
 * @throws {Deno.errors.NotCapable} If it may not be read.
 */
export async function readSource(location: ConfigLocation, system: System): Promise<Source> {
  if (location.path === "-") {
    const label = "<stdin>";
    const place = { label, path: null, directory: workingDirectoryOf(system), mode: null };
    return { ...place, text: location.text ?? decode(await system.readStdin(), place) };
  }
  const { label = location.path, text } = location;
  const path = pathFromHere(location.path, system);
  if (text !== undefined) return { label, path, directory: parentDirectory(path), text, mode: null };
  const { bytes, mode, ownerId } = await readFile(path, label, system.files);
  if (!location.named) refuseStranger(label, ownerId, system.userId);
  const place = { label, path, directory: parentDirectory(path), mode };
  return { ...place, text: decode(bytes, place) };
}

/** @throws {ConfigError} If it is relative and the working directory has no path. */
export function pathFromHere(path: string, system: Pick<System, "workingDirectory">): string {
  return path.startsWith("/") ? path : absolutePath(path, workingDirectoryOf(system));
}

function workingDirectoryOf(system: Pick<System, "workingDirectory">): string {
  try {
    return system.workingDirectory;
  } catch (cause) {
    if (cause instanceof Deno.errors.NotCapable) throw cause;
    throw new ConfigError("cannot find the working directory: it was deleted, or its name is not UTF-8", {
      hint: "write absolute paths",
      cause,
    });
  }
}

/** `.` and `..` are left to the system. The directory shows whether the paths are those of Windows. */
export function absolutePath(path: string, directory: string): string {
  if (path.startsWith("/")) return path;
  if (isWindowsPath(directory) && (/^[A-Za-z]:[\\/]/.test(path) || path.startsWith("\\"))) return path;
  const plain = path.startsWith("./") ? path.slice(2) : path;
  return directory.endsWith("/") || directory.endsWith("\\") ? directory + plain : `${directory}/${plain}`;
}

function isWindowsPath(path: string): boolean {
  return !path.startsWith("/");
}

function parentDirectory(path: string): string {
  const end = Math.max(path.lastIndexOf("/"), isWindowsPath(path) ? path.lastIndexOf("\\") : -1);
  const directory = path.slice(0, end);
  return directory === "" || /^[A-Za-z]:$/.test(directory) ? path.slice(0, end + 1) : directory;
}

function refuseStranger(label: string, ownerId: number | null, userId: number | null): void {
  if (ownerId === null || ownerId === 0 || ownerId === userId) return;
  if (userId === null) throw missingUserId(`to compare the owner of config ${quoteValue(label)} is`);
  throw new ConfigError(
    `cannot use config "${label}": it was found, not named, and belongs to another user (id ${ownerId})`,
    { hint: `name it if you trust it: --config ${label}` },
  );
}

async function readFile(path: string, label: string, files: Files): Promise<RegularFile> {
  try {
    return await readRegularFile(path, { files, bytesMax: CONFIG_BYTES_MAX });
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    throw new ConfigError(`cannot read config "${label}": ${describeFileError(error, { path })}`, {
      cause: error,
      ...(error instanceof Deno.errors.NotFound &&
        { hint: `create one with: monitor init ${shellWord(label)}` }),
      ...(error instanceof UnreadableFileError && PIPE_PATH.test(path) &&
        { hint: "to read the config from a pipe: --config -" }),
    });
  }
}

/** The paths of `<(command)` in a shell, and the standard streams. */
const PIPE_PATH = /^\/(dev|proc)\//;

function decode(bytes: Uint8Array, place: Omit<Source, "text">): string {
  if (bytes.length > CONFIG_BYTES_MAX) {
    const size = `it has ${bytes.length} bytes, expected at most ${CONFIG_BYTES_MAX}`;
    throw new ConfigError(`cannot read config "${place.label}": ${size}`);
  }
  refuseUtf16(bytes, place);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw invalidUtf8(bytes, place);
  }
}

/** A config begins with a character of ASCII: half of its first two bytes is zero in UTF-16. */
function refuseUtf16(bytes: Uint8Array, { label, path }: Omit<Source, "text">): void {
  const [first, second] = bytes;
  if (first === undefined || second === undefined) return;
  const hasMark = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  if (!hasMark && (first === 0) === (second === 0)) return;
  const encoding = hasMark ? "UTF-16" : first === 0 ? "UTF-16BE" : "UTF-16LE";
  throw new ConfigError(`cannot read config "${label}": it is UTF-16, expected UTF-8`, {
    hint: `convert it: iconv -f ${encoding} -t UTF-8${path === null ? "" : ` ${label}`}`,
  });
}

/** Names the place of the first byte that is not UTF-8: the first U+FFFD that is not in the file itself. */
function invalidUtf8(bytes: Uint8Array, place: Omit<Source, "text">): ConfigError {
  const text = new TextDecoder().decode(bytes);
  const markLength = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  const indexOf = (at: number): number => markLength + new TextEncoder().encode(text.slice(0, at)).length;
  const isWritten = (index: number): boolean => bytes.subarray(index, index + 3).toHex() === "efbfbd";
  let offset = text.indexOf("\ufffd");
  while (isWritten(indexOf(offset))) offset = text.indexOf("\ufffd", offset + 1);
  const byte = (bytes[indexOf(offset)] ?? 0).toString(16).padStart(2, "0");
  const message = `byte 0x${byte} is not valid UTF-8, expected a config in UTF-8`;
  return new ConfigError(`cannot use config "${place.label}": it is not UTF-8`, {
    source: { ...place, text },
    problems: [{ path: "", message, hint: null, ...positionOf(text, offset), offset }],
    hint: "save it as UTF-8",
  });
}

const FILE_NAMES = ["monitor.jsonc", "monitor.json"];

/**
 * Finds the config: the one that is named, else the one this executable was made for, else `$MONITOR_CONFIG`, else the
 * first that exists in the working directory, the user's configuration directory and `/etc/monitor`.
 *
 * @throws {ConfigError} If none is named and none exists.
 * @throws {Deno.errors.NotCapable} If none is found where looking is allowed, and somewhere it is not.
 */
export async function locateConfig(named: string | undefined, system: System): Promise<ConfigLocation> {
  const path = named ?? system.ownConfig ?? (system.environment("MONITOR_CONFIG") || undefined);
  if (path !== undefined) return { path, named: true };
  const candidates = candidatePaths(system);
  let denied: Error | undefined;
  for (const candidate of candidates) {
    try {
      await system.files.stat(candidate);
      return { path: candidate, named: false };
    } catch (error) {
      if (error instanceof Deno.errors.NotCapable) denied ??= error;
      // A directory without permission to read has no config for us; other errors are reported by reading it.
      else if (!isMissing(error)) return { path: candidate, named: false };
    }
  }
  if (denied !== undefined) throw denied;
  throw new ConfigError(`cannot find a config: looked for ${candidates.join(", ")}`, {
    hint: "set --config PATH, or create one with: monitor init",
  });
}

function candidatePaths(system: System): readonly string[] {
  const home = system.environment("HOME");
  const named = system.environment("XDG_CONFIG_HOME");
  // The XDG base directory specification: a relative path is to be ignored.
  const own = named?.startsWith("/") ? named : home ? `${home}/.config` : undefined;
  const directories = [".", ...(own === undefined ? [] : [`${own}/monitor`]), "/etc/monitor"];
  return directories.flatMap((directory) => FILE_NAMES.map((name) => `${directory}/${name}`));
}

function isMissing(error: unknown): boolean {
  return error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied ||
    error instanceof Deno.errors.NotADirectory;
}
