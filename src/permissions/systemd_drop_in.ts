import { LIBRARIES, type Sandbox, type SandboxNetwork } from "./sandbox.ts";

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
