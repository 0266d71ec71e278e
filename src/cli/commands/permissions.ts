import { type Command, EXIT, formatOption, OPTION, option } from "../command_definition.ts";
import { dirname, resolve } from "node:path";
import { NET_ALL, PERMISSION_CLASSES } from "../../domain/runtime_permissions.ts";
import type { System } from "../../domain/system.ts";
import {
  groupPermissions,
  missingPermissions,
  permissionFlags,
  type PermissionList,
  type PermissionsByClass,
} from "../../permissions/required_permissions.ts";
import {
  type CommandContext,
  type OpenConfig,
  openConfig,
  readSelection,
  refuseLacks,
  selectChecks,
} from "../open_config.ts";
import { listenOf, permissionsOfConfig, PROXY_VARIABLES } from "../config_permissions.ts";
import { MissingPermissionsError } from "../failure.ts";
import { shellWord } from "../../shared/text.ts";
import { warn } from "../terminal.ts";
import { canonicalAddress } from "../../shared/ip_address.ts";

const FORMATS = ["flags", "json", "deno", "systemd", "bwrap"] as const;

export const permissionsCommand: Command = {
  name: "permissions",
  group: "set_up",
  summary: "print the minimal permissions for the config",
  operands: "[NAME…]",
  description:
    "Prints the minimal runtime flags for the active checks of the config, or for the named or tagged ones, including " +
    "their channels and the state. With --check it prints only what the running process lacks, and exits 77.",
  page: "guides/least_privilege.md",
  options: [
    OPTION.config,
    OPTION.state,
    OPTION.tag,
    formatOption(FORMATS, "flags, json, deno (a permission set), systemd (a drop-in) or bwrap (a command)"),
    option("--check", "comparison with the permissions of the running process"),
  ],
  examples: [
    ["monitor permissions", "print the flags on one line"],
    ["monitor permissions --format deno", 'print a set for "deno run -P=monitor"'],
    ["monitor permissions --format systemd", "print a drop-in that confines the service"],
    ["monitor permissions --check", "fail if a permission is missing"],
  ],
  endings: ["done", "name", "permission", "config"],
  run: async (invocation, system) => {
    const render = RENDERERS[invocation.choice("format", FORMATS) ?? "flags"];
    const config = await openConfig(invocation, system);
    refuseLacks(config);
    const checks = selectChecks(config.checks, readSelection(invocation))
      .filter((check) => check.active || invocation.operands.length > 0);
    const required = await permissionsOfConfig(config, { invocation, system, checks });
    if (!invocation.has("check")) {
      const cautions = required.flatMap(({ caution, neededBy }) =>
        caution === undefined ? [] : [`${neededBy}: ${caution}`]
      );
      for (const text of new Set(cautions)) warn(text, system);
      const text = await render(required, {
        ...programOf(system, required),
        arguments: argumentsOf({ invocation, system, config }),
        files: system.files,
        listen: listenOf(invocation, config)?.address ?? null,
      });
      system.stdout.write(text);
      return EXIT.ok;
    }
    warnOfProxies(required, system);
    const missing = missingPermissions(required, system.permissions);
    if (missing.length > 0) throw new MissingPermissionsError(missing, system);
    return EXIT.ok;
  },
};

interface RenderContext {
  /** Absolute path of the executable; from source, the command of the runtime. */
  readonly program: readonly string[];
  /** The source files that the runtime reads, absolute paths. */
  readonly source: readonly string[];
  /** The arguments of a service with the same config, state and checks. */
  readonly arguments: readonly string[];
  readonly files: System["files"];
  /** The address of the HTTP endpoint; `null`: none. */
  readonly listen: string | null;
}

type Render = (required: PermissionList, context: RenderContext) => string | Promise<string>;

const RENDERERS: Readonly<Record<typeof FORMATS[number], Render>> = {
  flags: (required) =>
    `${["--no-prompt", ...permissionFlags(groupPermissions(required))].map(shellWord).join(" ")}\n`,
  json: (required) => {
    const machine_specific = required.flatMap(({ isOfMachine = false, value }) => isOfMachine ? [value] : []);
    return `${JSON.stringify({ ...groupPermissions(required), machine_specific }, null, 2)}\n`;
  },
  deno: (required) => {
    const groups = Object.entries(groupPermissions(required));
    const set = groups.map(([name, values]) => [name, values.includes(NET_ALL) ? true : values]);
    return `${JSON.stringify({ permissions: { monitor: Object.fromEntries(set) } }, null, 2)}\n`;
  },
  systemd: (required, context) => sandboxed(systemdDropIn, required, context),
  bwrap: (required, context) => sandboxed(bwrapCommand, required, context),
};

async function sandboxed(write: typeof bwrapCommand, required: PermissionList, all: RenderContext) {
  const { program, source, arguments: words, ...context } = all;
  const sandbox = await sandboxOf(groupPermissions(required), context);
  return write({ ...sandbox, readOnly: [...sandbox.readOnly, ...source] }, [...program, ...words]);
}

function programOf({ executable, sourceModule, environment }: System, required: PermissionList) {
  if (sourceModule === null) return { program: [executable], source: [] };
  const flags = permissionFlags(groupPermissions(required));
  const caches = environment("XDG_CACHE_HOME") ?? `${environment("HOME") ?? ""}/.cache`;
  return {
    program: [executable, "run", "--quiet", "--no-prompt", ...flags, sourceModule],
    source: [dirname(sourceModule), environment("DENO_DIR") ?? `${caches}/deno`],
  };
}

function argumentsOf({ invocation, system, config }: CommandContext & { readonly config: OpenConfig }) {
  const path = config.sources[0]?.path ?? null;
  const state = invocation.text("state");
  return [
    "check",
    ...path === null ? [] : ["--config", resolve(system.workingDirectory, path)],
    // The URL of a database may contain a password.
    ...state === undefined || state.includes("://")
      ? []
      : ["--state", state === "none" ? state : resolve(system.workingDirectory, state)],
    ...invocation.texts("tag").flatMap((tag) => ["--tag", tag]),
    ...invocation.operands,
  ];
}

/** The runtime connects to the proxy, whatever hosts are granted. */
function warnOfProxies(required: PermissionList, system: System): void {
  if (required.some(({ permission }) => permission === "net")) {
    for (const name of PROXY_VARIABLES.filter((variable) => system.environment(variable))) {
      warn(`${name} is set: requests may use this proxy, whatever hosts are granted`, system);
    }
  }
  const whole = PERMISSION_CLASSES.filter((permission) => system.permissions.isGranted(permission));
  const flags = whole.map((name) => `--allow-${name}`).join(", ");
  if (flags !== "") warn(`more permissions than the config needs: ${flags}`, system);
}

// The access that a sandbox of the system must grant, so that a config can run in it.

/** The granted access; everything else is denied. */
export interface Sandbox {
  /** Paths that are read, directories with their content; some may not exist. `/` is everything. */
  readonly readOnly: readonly string[];
  /** Directories that are written, with all that is in them, and files in directories of the system. */
  readonly writable: readonly string[];
  /** Files that are executed: the commands of the config. */
  readonly commands: readonly string[];
  /**
   * The IP addresses, or `localhost`, that are connected to; empty: none. `null`: any, as a command may connect
   * anywhere, or the IP addresses of a name are unknown.
   */
  readonly addresses: readonly string[] | null;
}

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
  const isOpen = listen !== null && !/^(?:127\.|\[::1\]|localhost:)/.test(listen);
  const readOnly = [
    ...LIBRARIES,
    ...SETTINGS,
    ...isOnNetwork ? NETWORK_SETTINGS : [],
    ...run.length > 0 ? COMMAND_PLACES : [],
    ...run,
    ...await Promise.all(read.map(place)),
  ];
  return {
    readOnly: outermost(readOnly).filter((path) => !MOUNTED.test(path) && !isWithin(path, writable)),
    writable,
    commands: run,
    addresses: !isOnNetwork ? [] : isOpen ? null : addressesOf(net, run),
  };
}

/** Mounted for every sandbox. */
const MOUNTED = /^\/(?:proc|sys|dev)(?:\/|$)/;
/** A sandbox has its own one, also if everything else is visible. */
const OWN = /^\/tmp(?:\/|$)/;

async function placeOf(path: string, files: System["files"]): Promise<string> {
  const directory = dirname(path);
  const isDirectory = await files.stat(path).then(({ kind }) => kind === "directory", () => false);
  return isDirectory || SHARED_DIRECTORIES.has(directory) ? path : directory;
}

function isWithin(path: string, directories: readonly string[]): boolean {
  return directories.some((directory) =>
    path === directory || (directory === "/" ? !OWN.test(path) : path.startsWith(`${directory}/`))
  );
}

/** Sorted, without duplicates and without paths within another one. */
function outermost(paths: readonly string[]): readonly string[] {
  const all = [...new Set(paths)].sort();
  return all.filter((path) => !isWithin(path, all.filter((other) => other !== path)));
}

function addressesOf(hosts: readonly string[], commands: readonly string[]): Sandbox["addresses"] {
  const names = hosts.map((host) => host.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1"));
  const isKnown = !hosts.includes(NET_ALL) && commands.every((command) => LOCAL_COMMANDS.test(command)) &&
    names.every((name) => canonicalAddress(name) !== null || name === "localhost");
  return isKnown ? [...new Set(names)].sort() : null;
}

/** Returns a command that runs `monitor` with bubblewrap, in the syntax of a POSIX shell: one option a line. */
export function bwrapCommand(sandbox: Sandbox, command: readonly string[]): string {
  const { readOnly, writable, addresses } = sandbox;
  const isWhole = readOnly.includes("/");
  const lines: readonly (readonly string[])[] = [
    ["bwrap", "--die-with-parent", "--cap-drop", "ALL"],
    // Otherwise root could read all files, as /proc/ID/root of the bwrap process outside, which has no more rights.
    ["--unshare-user", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
    ...addresses?.length === 0 ? [["--unshare-net"]] : [],
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
  const { readOnly, writable, commands, addresses } = sandbox;
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
    ...networkLines(addresses),
    "RestrictNamespaces=yes",
    "SystemCallArchitectures=native",
    "SystemCallFilter=@system-service",
    "SystemCallErrorNumber=EPERM",
    "",
  ].join("\n");
}

const INTERPRETERS: readonly string[] = ["/bin", "/sbin", "/usr"];

function networkLines(addresses: Sandbox["addresses"]): readonly string[] {
  if (addresses === null) {
    return [
      "# Names or commands may lead to any address.",
      "RestrictAddressFamilies=",
      "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
    ];
  }
  if (addresses.length === 0) {
    return ["PrivateNetwork=yes", "RestrictAddressFamilies=", "RestrictAddressFamilies=AF_UNIX"];
  }
  const hasName = addresses.includes("localhost");
  const v6 = addresses.filter((address) => address.includes(":"));
  const families = [
    "AF_UNIX",
    ...hasName || v6.length < addresses.length ? ["AF_INET"] : [],
    ...hasName || v6.length > 0 ? ["AF_INET6"] : [],
    ...hasName ? ["AF_NETLINK"] : [],
  ];
  return [
    "RestrictAddressFamilies=",
    `RestrictAddressFamilies=${families.join(" ")}`,
    "IPAddressDeny=any",
    `IPAddressAllow=${addresses.join(" ")}`,
  ];
}

/** A word as systemd reads it back (systemd.syntax(7)): without specifiers, escapes, and separators of mounts. */
function unitWord(word: string): string {
  const escaped = word.replaceAll(/[\\"]/g, "\\$&").replaceAll("%", "%%").replaceAll("\n", "\\n");
  return /^[\w@+=,./~-]+$/.test(escaped) ? escaped : `"${escaped.replaceAll(":", "\\:")}"`;
}
