import type { RequiredPermission } from "../permissions/required_permissions.ts";
import type { System } from "../domain/system.ts";
import { describeFileError } from "../shared/describe_error.ts";
import { findCommand } from "../shared/find_command.ts";
import { truncate } from "../shared/truncate.ts";
import type { CronJob } from "./cron_line.ts";

export interface Proposal {
  /** The operands of `monitor add`. */
  readonly words: readonly string[];
  readonly reason: string;
  readonly cronJob?: CronJob;
}

export interface Discovery {
  readonly system: System;
  /** The root of absolute paths. @default the root directory */
  readonly root?: string;
  note(text: string): void;
  /** Notes that a permission of the runtime is missing to look at something. */
  deny(what: string, need: Pick<RequiredPermission, "permission" | "value">): void;
}

export type ProposalSource = (discovery: Discovery) => Promise<readonly Proposal[]>;

const TIMEOUT_MS = 10_000;
const OUTPUT_BYTES_MAX = 8 * 1024 * 1024;
const REASON_LENGTH_MAX = 120;

interface PrintingCommand {
  readonly name: string;
  readonly arguments: readonly string[];
  /** A description of its output, for notes. */
  readonly what: string;
  /** Exit codes with a usable output. @default 0 */
  readonly codes?: readonly number[];
  /** Called instead of a note if the command is missing. */
  missing?(): void;
}

/** Returns the output of a command; `null`, with a note, if it can't be run. */
export async function printedBy(
  { name, arguments: words, what, codes = [0], missing }: PrintingCommand,
  { system, note, deny }: Discovery,
): Promise<string | null> {
  if (!system.mayReadEnvironment("PATH")) {
    deny(what, { permission: "env", value: "PATH" });
    return null;
  }
  const { path, denied } = await findCommand(name, system);
  if (path === null) {
    if (denied !== null) deny(what, denied);
    else if (missing !== undefined) missing();
    else note(`${what}: ${name} is not installed`);
    return null;
  }
  const end = await system.processes.run({
    path,
    arguments: words,
    environment: { LC_ALL: "C.UTF-8" },
    directory: "/",
    timeoutMs: TIMEOUT_MS,
    outputBytesMax: OUTPUT_BYTES_MAX,
  }, new AbortController().signal);
  if (end.ended === "exited" && codes.includes(end.code)) return end.stdout.text;
  note(`${what}: ${name} failed: ${reasonOf(end)}`);
  return null;
}

function reasonOf(end: Exclude<Awaited<ReturnType<System["processes"]["run"]>>, undefined>): string {
  if (end.ended === "not_started") return end.reason;
  if (end.ended === "timed_out") return `timeout after ${TIMEOUT_MS / 1000} s`;
  if (end.ended === "signalled") return end.signal;
  const [line = ""] = end.stderr.text.trim().split("\n");
  return line === "" ? `exit code ${end.code}` : truncate(line, REASON_LENGTH_MAX);
}

const FILE_BYTES_MAX = 1024 * 1024;

/** Returns the text of a file; `null` if there is none, or, with a note, if it can't be read. */
export async function textOf(path: string, what: string, discovery: Discovery): Promise<string | null> {
  const { files } = discovery.system;
  return await unlessUnreadable(path, { what, discovery }, async (place) => {
    const { kind, sizeBytes } = await files.stat(place);
    if (kind !== "file" || sizeBytes > FILE_BYTES_MAX) return null;
    return new TextDecoder().decode(await files.read(place));
  });
}

/** Returns the names in a directory, in order; none if there is none, or, with a note, if it can't be read. */
export async function namesIn(path: string, what: string, discovery: Discovery): Promise<readonly string[]> {
  const list = async (place: string) => [...await discovery.system.files.list(place)].sort();
  return await unlessUnreadable(path, { what, discovery }, list) ?? [];
}

async function unlessUnreadable<T>(
  path: string,
  { what, discovery: { root = "", note, deny } }: { readonly what: string; readonly discovery: Discovery },
  read: (place: string) => Promise<T>,
): Promise<T | null> {
  try {
    return await read(root + path);
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) deny(what, { permission: "read", value: path });
    else if (!(error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory)) {
      note(`${what}: cannot read "${path}": ${describeFileError(error, { path })}`);
    }
    return null;
  }
}
