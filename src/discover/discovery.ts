import type { RequiredPermission } from "../permissions/required_permissions.ts";
import type { System } from "../domain/system.ts";
import { describeFileError } from "../shared/describe_error.ts";
import { findCommand } from "../shared/find_command.ts";
import { shellWord, truncate } from "../shared/text.ts";
import { X509Certificate } from "node:crypto";
import { serverOf } from "../checks/domain_expiry.ts";
import { isLoopback } from "../shared/ip_address.ts";
import { hostAndPort } from "../domain/runtime_permissions.ts";
import { nameFor } from "../checks/targets.ts";
import { createCronReader } from "../config/cron_times.ts";
import { HOUR_MS } from "../shared/time_units.ts";

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

/** Every place where proposals come from, in the order of the list. */
export const PROPOSAL_SOURCES = {
  fileSystems: discoverFileSystems,
  machine: () =>
    Promise.resolve(["memory", "load"].map((kind) => ({ words: [kind], reason: "this machine" }))),
  units: discoverUnits,
  ports: discoverPorts,
  certificates: discoverCertificates,
  cronJobs: discoverCronJobs,
} satisfies Readonly<Record<string, (discovery: Discovery) => Promise<readonly Proposal[]>>>;

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
async function printedBy(command: PrintingCommand, { system, note, deny }: Discovery) {
  const { name, arguments: words, what, codes = [0], missing } = command;
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
async function textOf(path: string, what: string, discovery: Discovery): Promise<string | null> {
  const { files } = discovery.system;
  return await unlessUnreadable(path, { ...discovery, what }, async (place) => {
    const { kind, sizeBytes } = await files.stat(place);
    if (kind !== "file" || sizeBytes > FILE_BYTES_MAX) return null;
    return new TextDecoder().decode(await files.read(place));
  });
}

/** Returns the names in a directory, in order; none if there is none, or, with a note, if it can't be read. */
async function namesIn(path: string, what: string, discovery: Discovery): Promise<readonly string[]> {
  const list = async (place: string) => [...await discovery.system.files.list(place)].sort();
  return await unlessUnreadable(path, { ...discovery, what }, list) ?? [];
}

async function unlessUnreadable<T>(
  path: string,
  { what, root = "", note, deny }: Discovery & { readonly what: string },
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
async function discoverUnits(discovery: Discovery): Promise<readonly Proposal[]> {
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

/** A file mounted on another one, as in containers, is no separate file system. */
const OTHER_PLACES = /^\/(?:dev|proc|sys|run|snap)(?:\/|$)|^\/etc\/[^/]+$/;

const ROW = /^(\S.*?)\s+(\S+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(?:(\d+)%|-)\s+(\/.*)$/;

async function discoverFileSystems(discovery: Discovery): Promise<readonly Proposal[]> {
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
    const isOurs = path === "/" ||
      (isLinux ? !OTHER_TYPES.test(type) && !OTHER_PLACES.test(path) : path.startsWith("/Volumes/"));
    // Mounted again elsewhere, it is the same space.
    if (path === "" || !isOurs || seen.has(device)) return [];
    if (device.startsWith("/")) seen.add(device);
    const name = path === "/" ? "root file system" : "file system";
    return [{ words: [path], reason: `${name}${isLinux ? ` (${type})` : ""}, ${used}% used` }];
  });
}

const CRON_JOBS = "cron jobs";

async function discoverCronJobs(discovery: Discovery): Promise<readonly Proposal[]> {
  const files = ["/etc/crontab"];
  // Cron ignores names with a dot.
  for (const name of await namesIn("/etc/cron.d", CRON_JOBS, discovery)) {
    if (/^[\w-]+$/.test(name)) files.push(`/etc/cron.d/${name}`);
  }
  const proposals: Proposal[] = [];
  for (const file of files) {
    const text = await textOf(file, CRON_JOBS, discovery);
    if (text !== null) proposals.push(...jobsIn(text, { place: file, hasUser: true }));
  }
  if (discovery.system.platform === "windows") return proposals;
  // Without a crontab, it exits with 1.
  const command = { name: "crontab", arguments: ["-l"], what: CRON_JOBS, codes: [0, 1] };
  const own = await printedBy(command, discovery);
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

const CERTIFICATES = "certificates";

/** The directories of servers' certificates, and how many levels are below. */
const DIRECTORIES: readonly (readonly [path: string, levels: number])[] = [
  ["/etc/letsencrypt/live", 1],
  ["/etc/nginx/ssl", 1],
  ["/etc/nginx/certs", 1],
  ["/etc/apache2/ssl", 1],
  ["/etc/httpd/ssl", 1],
  ["/etc/haproxy/certs", 0],
  ["/etc/dehydrated/certs", 1],
  ["/var/lib/acme", 1],
  ["/var/lib/dehydrated/certs", 1],
  ["/var/lib/caddy/.local/share/caddy/certificates", 2],
];

const FILES_MAX = 500;

async function discoverCertificates(discovery: Discovery): Promise<readonly Proposal[]> {
  const files: string[] = [];
  const collect = async (directory: string, levels: number): Promise<void> => {
    for (const name of await namesIn(directory, CERTIFICATES, discovery)) {
      if (files.length >= FILES_MAX) return;
      if (/\.(?:pem|crt|cer)$/.test(name)) files.push(`${directory}/${name}`);
      else if (levels > 0 && !name.includes(".key")) await collect(`${directory}/${name}`, levels - 1);
    }
  };
  for (const [path, levels] of DIRECTORIES) await collect(path, levels);
  const proposals = new Map<string, Proposal>();
  for (const path of files) {
    const text = await textOf(path, CERTIFICATES, discovery);
    const host = text === null ? null : hostOf(text);
    if (host === null || proposals.has(host)) continue;
    proposals.set(host, { words: ["tls_certificate", host], reason: `certificate in ${path}` });
    const domain = registeredIn(host);
    if (domain === null || proposals.has(`domain ${domain}`)) continue;
    proposals.set(`domain ${domain}`, { words: ["domain_expiry", domain], reason: `domain of ${host}` });
  }
  return [...proposals.values()];
}

/** Returns the registered domain where that is certain: of two labels, in a zone whose registry answers. */
function registeredIn(host: string): string | null {
  const [, domain, zone = ""] = /^(?:www\.)?([\w-]+\.(\w+))$/.exec(host) ?? [];
  return domain === undefined || serverOf(zone) === null ? null : domain;
}

/** Returns the first name of the first certificate that is no pattern; `null`: none, or it is of a CA. */
function hostOf(text: string): string | null {
  const [block] = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/.exec(text) ?? [];
  if (block === undefined) return null;
  try {
    const { ca, subjectAltName } = new X509Certificate(block);
    if (ca) return null;
    return (subjectAltName ?? "").split(", ").map((name) => /^DNS:([\w-]+(?:\.[\w-]+)+)$/.exec(name)?.[1])
      .find((name) => name !== undefined) ?? null;
  } catch {
    return null;
  }
}

interface Listener {
  /** Without brackets; `*`: every address. */
  readonly host: string;
  readonly port: number;
  /** Of the process; `null`: it belongs to another user. */
  readonly process: string | null;
}

/** Ports from here on are given to clients and to services that choose none. */
const EPHEMERAL_MIN = 32_768;

async function discoverPorts(discovery: Discovery): Promise<readonly Proposal[]> {
  let isMissing = false;
  const printed = await printedBy({
    name: "ss",
    arguments: ["-H", "-l", "-n", "-t", "-p"],
    what: "listening ports",
    missing: () => isMissing = true,
  }, discovery);
  const listeners = printed !== null
    ? printed.split("\n").flatMap(readLine)
    : isMissing
    ? await readKernelTables(discovery)
    : [];
  const byPort = Map.groupBy(listeners, ({ port }) => port);
  return [...byPort].filter(([port]) => port < EPHEMERAL_MIN).sort(([one], [other]) => one - other)
    .flatMap(([port, group]) => {
      const { host, process } = group.find((listener) => listener.host === EVERY_ADDRESS) ??
        group.find((listener) => isLoopback(listener.host)) ?? group[0] ?? NONE;
      // The endpoint of the monitor itself is gone whenever it could check it.
      if (process === "monitor") return [];
      const subject = process === null ? `port ${port} is open` : `${process} listens to port ${port}`;
      const isEvery = host === EVERY_ADDRESS;
      const place = hostAndPort(isEvery ? "127.0.0.1" : host, port);
      const protocol = PROTOCOLS[port];
      const words = [protocol === undefined ? place : `${protocol}://${place}`];
      return [{ words, reason: isEvery ? subject : `${subject} at ${host}` }];
    });
}

/** Those with a greeting, by their usual ports. */
const PROTOCOLS: Readonly<Record<number, string>> = {
  21: "ftp",
  22: "ssh",
  25: "smtp",
  110: "pop3",
  143: "imap",
  587: "smtp",
  6379: "redis",
};

const EVERY_ADDRESS = "*";
const NONE = { host: EVERY_ADDRESS, process: null };

/** Parses a line of `ss`: state, two queues, the local and the other address, processes. */
function readLine(line: string): readonly Listener[] {
  const [, , , local = "", , ...rest] = line.trim().split(/\s+/);
  const [, address = "", port = ""] = /^(.*):(\d+)$/.exec(local) ?? [];
  if (port === "") return [];
  const host = address.replace(/%[^\]]*/, "").replace(/^\[(.*)\]$/, "$1").replace(/^::ffff:(?=\d+\.)/, "");
  const process = /\(\("([^"]+)"/.exec(rest.join(" "))?.[1] ?? null;
  return [{ host: ["0.0.0.0", "::"].includes(host) ? EVERY_ADDRESS : host, port: Number(port), process }];
}

/** Reads the tables of the kernel, which take every permission of the runtime. */
async function readKernelTables({ system, root = "", note }: Discovery): Promise<readonly Listener[]> {
  try {
    const paths = ["tcp", "tcp6"].map((name) => `${root}/proc/net/${name}`);
    const tables = await Promise.all(paths.map((path) => system.files.read(path)));
    return tables.flatMap((table) => new TextDecoder().decode(table).split("\n").flatMap(readRow));
  } catch {
    note("listening ports: ss is not installed");
    return [];
  }
}

/** State 0A is LISTEN (proc_net_tcp.txt of Linux). Addresses are words of four bytes, in the byte order of the machine. */
function readRow(row: string): readonly Listener[] {
  const [, address = "", port = ""] = /^\s*\d+: ([\dA-F]+):([\dA-F]{4}) \S+ 0A /.exec(row) ?? [];
  if (port === "") return [];
  const hostOf = (): string | null => {
    if (/^0+$/.test(address)) return EVERY_ADDRESS;
    if (address.length > 8) return address === LOOPBACK_V6 ? "::1" : null;
    return address.match(/../g)?.reverse().map((byte) => Number.parseInt(byte, 16)).join(".") ?? address;
  };
  const host = hostOf();
  return host === null ? [] : [{ host, port: Number.parseInt(port, 16), process: null }];
}

const LOOPBACK_V6 = `${"0".repeat(24)}01000000`;

export interface CronJob {
  readonly name: string;
  readonly command: string;
  readonly place: string;
  /** Its schedule, as the config accepts it. */
  readonly cron: string;
  readonly words: readonly string[];
  /** Returns the line with its command after the words of `monitor beat`. */
  lineBehind(words: readonly string[]): string;
}

/** A line of a crontab whose schedule has no times, such as `@reboot`. */
export class CronLineError extends Error {
  override readonly name = "CronLineError";
}

/** From here on a run may take hours. */
const LONG_MS = 6 * HOUR_MS;

const LINE = /^\s*(@\w+|\S+(?:\s+\S+){4})\s+(\S.*)$/;
const FIELDS = /^(?:@\w+|[\d*/,\-\s\w?#]+)$/;

/**
 * Reads a line of a crontab; `null`: it is none. A line of `/etc/crontab` and `/etc/cron.d` has a user, which is only
 * recognized if it is `root`.
 *
 * @throws {CronLineError} If its schedule has no times.
 */
export function readCronLine(line: string, { hasUser = false, place = "the crontab" } = {}): CronJob | null {
  const [, schedule = "", rest = ""] = LINE.exec(line) ?? [];
  if (!/^[@\d*]/.test(schedule) || !FIELDS.test(schedule)) return null;
  const [, user = "", command = ""] = (hasUser ? /^(\S+\s+)(.*)$/ : /^(root\s+)?(.*)$/).exec(rest) ?? [];
  const name = nameOfCommand(command);
  const cron = NAMED[schedule.toLowerCase()] ?? schedule.split(/\s+/).join(" ");
  return {
    name,
    command,
    place,
    cron,
    words: ["job", cron, ...firstGapMs(cron) < LONG_MS ? [] : ["grace=2 hours"]],
    lineBehind: (words) => `${schedule} ${user}${words.map(shellWord).join(" ")} ${asArguments(command)}`,
  };
}

const NAMED: Readonly<Record<string, string>> = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
};

/** Returns the time between the first two runs of a schedule of five fields. */
function firstGapMs(fields: string): number {
  try {
    const times = createCronReader()(fields, "UTC");
    if (times === null) throw new RangeError("It never comes");
    const firstMs = times.after(START_MS);
    return times.after(firstMs) - firstMs;
  } catch {
    const expected = "five fields of cron, or a name such as @daily";
    throw new CronLineError(`"${fields}" has no times, expected ${expected}`);
  }
}

const START_MS = Date.UTC(2026, 0, 1);

/** Words that only a shell understands. */
const SHELL_WORDS: ReadonlySet<string> = new Set(
  "[ . : cd eval exec export for if set source test ulimit umask while".split(" "),
);

/** Returns the command as arguments. The stdin that cron sends, after the first `%`, stays at the end of the line. */
function asArguments(command: string): string {
  const [, plain = "", input = ""] = /^((?:\\.|[^%\\])*)(%.*)?$/s.exec(command) ?? [, command];
  const [first = ""] = plain.split(/\s+/);
  const isPlain = /^[\w@%+=:,./ \\-]+$/.test(plain) && !first.includes("=") && !SHELL_WORDS.has(first);
  return (isPlain ? plain : `sh -c ${shellWord(plain.trimEnd())}`) + input;
}

/** The beginning of a command that only decides where and whether it runs. */
const GUARD = /^(?:(?:cd|test|\[)\s[^;&|]*(?:&&|\|\||;)\s*)+/;

/** The first word that is no variable, shell word or option; the name of a script without its ending. */
function nameOfCommand(command: string): string {
  const words = command.replace(GUARD, "").split(/[\s;&|()]+/).filter((word) =>
    /^[\w/.]/.test(word) && !word.includes("=")
  );
  const first = words.find((word) => !PREFIXES.has(word)) ?? "";
  return nameFor((first.split("/").at(-1) ?? "").replace(/(?<=.)\.\w+$/, ""));
}

const PREFIXES: ReadonlySet<string> = new Set(
  [...SHELL_WORDS, ..."env flock ionice nice sh sudo timeout".split(" ")],
);
