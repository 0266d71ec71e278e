/** The access that a sandbox of the system must grant, so that a config can run in it. */
import { dirname } from "node:path";
import { NET_ALL } from "../domain/runtime_permissions.ts";
import type { System } from "../domain/system.ts";
import { canonicalAddress } from "../shared/ip_address.ts";
import type { PermissionsByClass } from "./required_permissions.ts";
import { shellWord } from "../shared/text.ts";

/** The granted access; everything else is denied. */
export interface Sandbox {
  /** Paths that are read, directories with their content; some may not exist. `/` is everything. */
  readonly readOnly: readonly string[];
  /** Directories that are written, with all that is in them, and files in directories of the system. */
  readonly writable: readonly string[];
  /** Files that are executed: the commands of the config. */
  readonly commands: readonly string[];
  readonly network: SandboxNetwork;
}

/** `any`: somewhere, as a command may connect anywhere, or the IP addresses of a name are unknown. */
type SandboxNetwork =
  | { readonly kind: "none" }
  | { readonly kind: "addresses"; readonly addresses: readonly string[] }
  | { readonly kind: "any" };

/** The libraries that commands load at their start. */
const LIBRARIES: readonly string[] = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"];

/** Local time, and the user's name. */
const SETTINGS: readonly string[] = ["/etc/localtime", "/usr/share/zoneinfo", "/etc/passwd", "/etc/group"];

/** The files for resolving names, and the CA certificates of Debian, Fedora and others. */
const NETWORK_SETTINGS: readonly string[] =
  ("/etc/resolv.conf /etc/hosts /etc/nsswitch.conf /etc/ssl /etc/pki /etc/ca-certificates " +
    "/usr/share/ca-certificates /usr/local/share/ca-certificates").split(" ");

/** The files that the interpreter of a script may require, and the sockets of the system's services. */
const COMMAND_PLACES = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/run"];

/** Directories of the system: only the required entries of one are granted. */
const SHARED_DIRECTORIES: ReadonlySet<string> = new Set(
  "/ /etc /home /root /run /srv /tmp /usr /var /var/cache /var/lib /var/log".split(" "),
);

/** System commands of `monitor` that use no network. */
const LOCAL_COMMANDS = /\/(?:kill|ps|systemctl)$/;

/**
 * Derives the sandbox of a config.
 *
 * Files are visible with their directory: a file that is replaced, as backups and edited configs are, would otherwise
 * keep its old content inside. `listen` is the address of the HTTP endpoint: its clients are unknown, unless only
 * this machine can connect.
 */
export async function sandboxOf(
  { read, write, run, net }: PermissionsByClass,
  { files, listen }: Pick<System, "files"> & { readonly listen: string | null },
): Promise<Sandbox> {
  const place = (path: string): Promise<string> => placeOf(path, files);
  const writable = outermost(await Promise.all(write.map(place)));
  const isOnNetwork = net.length > 0 || run.some((command) => !LOCAL_COMMANDS.test(command));
  const readOnly = [
    ...LIBRARIES,
    ...SETTINGS,
    ...isOnNetwork ? NETWORK_SETTINGS : [],
    ...run.length > 0 ? COMMAND_PLACES : [],
    ...run,
    ...await Promise.all(read.map(place)),
  ];
  return {
    readOnly: outermost(readOnly).filter((path) => !isApart(path) && !isWithin(path, writable)),
    writable,
    commands: run,
    network: !isOnNetwork ? { kind: "none" } : isOpen(listen) ? { kind: "any" } : networkOf(net, run),
  };
}

/** Mounted for every sandbox. */
function isApart(path: string): boolean {
  return /^\/(?:proc|sys|dev)(?:\/|$)/.test(path);
}

async function placeOf(path: string, files: System["files"]): Promise<string> {
  const directory = dirname(path);
  const isDirectory = await files.stat(path).then(({ kind }) => kind === "directory", () => false);
  return isDirectory || SHARED_DIRECTORIES.has(directory) ? path : directory;
}

function isWithin(path: string, directories: readonly string[]): boolean {
  return directories.some((directory) =>
    path === directory || (directory === "/" ? !isPrivate(path) : path.startsWith(`${directory}/`))
  );
}

/** A sandbox has its own `/tmp`, also if everything else is visible. */
function isPrivate(path: string): boolean {
  return /^\/tmp(?:\/|$)/.test(path);
}

/** Sorted, without duplicates and without paths within another one. */
function outermost(paths: readonly string[]): readonly string[] {
  const all = [...new Set(paths)].sort();
  return all.filter((path) => !isWithin(path, all.filter((other) => other !== path)));
}

function isOpen(listen: string | null): boolean {
  return listen !== null && !/^(?:127\.|\[::1\]|localhost:)/.test(listen);
}

function networkOf(hosts: readonly string[], commands: readonly string[]): SandboxNetwork {
  const names = hosts.map((host) => host.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1"));
  const isKnown = !hosts.includes(NET_ALL) && commands.every((command) => LOCAL_COMMANDS.test(command)) &&
    names.every((name) => canonicalAddress(name) !== null || name === "localhost");
  return isKnown ? { kind: "addresses", addresses: [...new Set(names)].sort() } : { kind: "any" };
}

/** Returns a command that runs `monitor` with bubblewrap, in the syntax of a POSIX shell: one option a line. */
export function bwrapCommand(sandbox: Sandbox, command: readonly string[]): string {
  const { readOnly, writable, network } = sandbox;
  const isWhole = readOnly.includes("/");
  const lines: readonly (readonly string[])[] = [
    ["bwrap", "--die-with-parent", "--cap-drop", "ALL"],
    // Otherwise root could read all files, as /proc/ID/root of the bwrap process outside, which has no more rights.
    ["--unshare-user", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
    ...network.kind === "none" ? [["--unshare-net"]] : [],
    ...isWhole ? [["--ro-bind", "/", "/"]] : [],
    ["--dev", "/dev"],
    // The process ids stay those of the machine: the state and checks of processes name them.
    ["--ro-bind", "/proc", "/proc"],
    ["--ro-bind-try", "/sys/fs/cgroup", "/sys/fs/cgroup"],
    ["--tmpfs", "/tmp"],
    ...readOnly.filter((path) => path !== "/").map((path) => ["--ro-bind-try", path, path]),
    ...writable.map((path) => ["--bind", path, path]),
    ["--ro-bind-try", command[0] ?? "", command[0] ?? ""],
    ...isWhole ? [] : [["--remount-ro", "/"]],
    ["--", ...command],
  ];
  return `${lines.map((words) => words.map(shellWord).join(" ")).join(" \\\n  ")}\n`;
}

export function systemdDropIn(sandbox: Sandbox, command: readonly string[]): string {
  const { readOnly, writable, commands, network } = sandbox;
  const executable = command[0] ?? "";
  const isWhole = readOnly.includes("/");
  const visible = ["/proc", "/sys/fs/cgroup", "/dev", "/bin/kill", ...readOnly, executable];
  const interpreters = commands.length > 0 ? INTERPRETERS : [];
  const executables = [...new Set([executable, "/bin/kill", ...LIBRARIES, ...interpreters, ...commands])];
  return [
    "# /etc/systemd/system/monitor.service.d/least_privilege.conf",
    `# It is for: ${command.map(unitWord).join(" ")}`,
    "[Service]",
    "NoNewPrivileges=yes",
    ...commands.length > 0 ? [] : ["CapabilityBoundingSet=", "AmbientCapabilities="],
    ...isWhole
      ? ["# The config reads the root directory, so that everything can be read.", "ProtectSystem=strict"]
      : [
        "# Nothing else is visible. Other settings for / itself would replace this one.",
        "ProtectSystem=no",
        "TemporaryFileSystem=/:ro",
        ...visible.map((path) => `BindReadOnlyPaths=${unitWord(`-${path}`)}`),
      ],
    ...writable.map((path) => `${isWhole ? "ReadWritePaths" : "BindPaths"}=${unitWord(path)}`),
    ...(isWhole ? ["/"] : [...readOnly, ...writable].filter((path) => !executables.includes(path)))
      .map((path) => `NoExecPaths=${unitWord(`-${path}`)}`),
    ...executables.map((path) => `ExecPaths=${unitWord(`-${path}`)}`),
    ...networkLines(network),
    "RestrictNamespaces=yes",
    "SystemCallArchitectures=native",
    "SystemCallFilter=@system-service",
    "SystemCallErrorNumber=EPERM",
    "",
  ].join("\n");
}

const INTERPRETERS: readonly string[] = ["/bin", "/sbin", "/usr"];

function networkLines(network: SandboxNetwork): readonly string[] {
  if (network.kind === "none") {
    return ["PrivateNetwork=yes", "RestrictAddressFamilies=", "RestrictAddressFamilies=AF_UNIX"];
  }
  if (network.kind === "any") {
    return [
      "# Names or commands may lead to any address.",
      "RestrictAddressFamilies=",
      "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
    ];
  }
  const { addresses } = network;
  const hasName = addresses.includes("localhost");
  const families = [
    "AF_UNIX",
    ...hasName || !addresses.every(isIpv6) ? ["AF_INET"] : [],
    ...hasName || addresses.some(isIpv6) ? ["AF_INET6"] : [],
    ...hasName ? ["AF_NETLINK"] : [],
  ];
  return [
    "RestrictAddressFamilies=",
    `RestrictAddressFamilies=${families.join(" ")}`,
    "IPAddressDeny=any",
    `IPAddressAllow=${addresses.join(" ")}`,
  ];
}

function isIpv6(address: string): boolean {
  return address.includes(":");
}

/** A word as systemd reads it back (systemd.syntax(7)): without specifiers, escapes, and separators of mounts. */
function unitWord(word: string): string {
  const escaped = word.replaceAll(/[\\"]/g, "\\$&").replaceAll("%", "%%").replaceAll("\n", "\\n");
  return /^[\w@+=,./~-]+$/.test(escaped) ? escaped : `"${escaped.replaceAll(":", "\\:")}"`;
}
