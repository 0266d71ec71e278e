import type { RequiredPermission } from "../permissions/required_permissions.ts";
import type { System } from "../domain/system.ts";
import { describeFileError } from "../shared/describe_error.ts";
import { findCommand } from "../shared/find_command.ts";
import { truncate } from "../shared/text.ts";
import { type CronJob, CronLineError, readCronLine } from "./cron_line.ts";

export interface Proposal {
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

/** Proposes the failed units, and the enabled services that run. */
export async function discoverUnits(discovery: Discovery): Promise<readonly Proposal[]> {
  if (discovery.system.platform !== "linux") return [];
  const plain = ["--plain", "--no-legend", "--no-pager", "--full"];
  const list = (words: readonly string[]): Promise<string | null> =>
    printedBy({ name: "systemctl", arguments: [...words, ...plain], what: "systemd units" }, discovery);
  const units = await list(["list-units", "--all"]);
  const files = units === null ? null : await list(["list-unit-files", "--type=service", "--state=enabled"]);
  if (units === null || files === null) return [];
  const enabled = new Set(rowsOf(files).map(([name = ""]) => name));
  return rowsOf(units).flatMap(([name = "", load, active, sub]) => {
    if (load !== "loaded") return [];
    if (active === "failed") return [{ words: [name], reason: "unit that failed" }];
    // An instance such as getty@tty1.service is enabled by its template.
    const isEnabled = enabled.has(name) || enabled.has(name.replace(/@.*(?=\.)/, "@"));
    const isOurs = active === "active" && sub === "running" && isEnabled;
    return isOurs ? [{ words: [name], reason: "enabled service that runs" }] : [];
  });
}

function rowsOf(text: string): readonly (readonly string[])[] {
  return text.split("\n").map((line) => line.trim().split(/\s+/)).filter(([first]) => first !== "");
}

/** Types of file systems without a disk of this machine, or that are always full. */
const OTHER_TYPES =
  /^(?:tmpfs|devtmpfs|ramfs|squashfs|overlay|efivarfs|iso9660|udf|erofs|cramfs|autofs|proc|sysfs|nsfs|fuse\..*)$/;

const ROW = /^(\S.*?)\s+(\S+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(?:(\d+)%|-)\s+(\/.*)$/;

export async function discoverFileSystems(discovery: Discovery): Promise<readonly Proposal[]> {
  const isLinux = discovery.system.platform === "linux";
  const printed = await printedBy({
    name: "df",
    arguments: isLinux ? ["-P", "-T", "-l"] : ["-P", "-l"],
    what: "file systems",
    // Of one that it can't read, it prints the others.
    codes: [0, 1],
  }, discovery);
  const seen = new Set<string>();
  return (printed ?? "").split("\n").flatMap((line) => {
    const [, device = "", type = "", , , , used = "0", path = ""] =
      ROW.exec(isLinux ? line : line.replace(/^(\S+)/, "$1 -")) ?? [];
    const isOurs = path === "/" || (isLinux ? isDisk(type, path) : path.startsWith("/Volumes/"));
    // Mounted again elsewhere, it is the same space.
    if (path === "" || !isOurs || seen.has(device)) return [];
    if (device.startsWith("/")) seen.add(device);
    const name = path === "/" ? "root file system" : "file system";
    return [{ words: [path], reason: `${name}${isLinux ? ` (${type})` : ""}, ${used}% used` }];
  });
}

/** A file mounted on another one, as in containers, is no separate file system. */
function isDisk(type: string, path: string): boolean {
  return !OTHER_TYPES.test(type) && !/^\/(?:dev|proc|sys|run|snap)(?:\/|$)|^\/etc\/[^/]+$/.test(path);
}

const WHAT = "cron jobs";

export async function discoverCronJobs(discovery: Discovery): Promise<readonly Proposal[]> {
  const files = ["/etc/crontab"];
  // Cron ignores names with a dot.
  for (const name of await namesIn("/etc/cron.d", WHAT, discovery)) {
    if (/^[\w-]+$/.test(name)) files.push(`/etc/cron.d/${name}`);
  }
  const proposals: Proposal[] = [];
  for (const file of files) {
    const text = await textOf(file, WHAT, discovery);
    if (text !== null) proposals.push(...jobsIn(text, { place: file, hasUser: true }));
  }
  if (discovery.system.platform === "windows") return proposals;
  // Without a crontab, it exits with 1.
  const own = await printedBy({ name: "crontab", arguments: ["-l"], what: WHAT, codes: [0, 1] }, discovery);
  return [...proposals, ...jobsIn(own ?? "", { place: "the crontab", hasUser: false })];
}

function jobsIn(text: string, options: Parameters<typeof readCronLine>[1]): readonly Proposal[] {
  return text.split("\n").flatMap((line) => {
    // A job that checks in already, the monitor itself, and the directories of jobs.
    if (/\bmonitor\s+(?:beat|check)\b|\brun-parts\b/.test(line)) return [];
    try {
      const cronJob = readCronLine(line, options);
      if (cronJob === null) return [];
      const { words, cron, place } = cronJob;
      return [{ words, reason: `job that runs at ${cron}, in ${place}`, cronJob }];
    } catch (error) {
      if (error instanceof CronLineError) return [];
      throw error;
    }
  });
}
