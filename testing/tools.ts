/**
 * Every external program and library that the tests use, and the one place that starts child processes for them.
 *
 * A test that needs a tool declares it: `Deno.test({ ...requiresTools("promtool"), name, fn })` is ignored where `promtool` is
 * missing, and the test runner lists it at the end. `deno task test` ignores all of them, so that it does the same on
 * every machine. `deno task test:all` fails before it starts if a tool is missing.
 */
import { startsMonitor } from "./source.ts";
import { noteIgnored, noteStart, waitingFor } from "./test_notes.ts";

/** The environment variable that is `none` where tests of tools are ignored even if the tools are installed. */
export const TEST_TOOLS = "TEST_TOOLS";

/** An external tool. */
interface Tool {
  /** The Debian package that has it. */
  readonly package: string;
  /** Where it is, with `*` for one directory's name. @default a command of that name in `PATH` */
  readonly path?: string;
}

/** Tools that are not part of every Debian. */
export const TOOLS = {
  "busybox": { package: "busybox-static" },
  "borg": { package: "borgbackup" },
  "bwrap": { package: "bubblewrap" },
  "caddy": { package: "caddy" },
  "check_disk": plugin("check_disk"),
  "check_http": plugin("check_http"),
  "check_load": plugin("check_load"),
  "check_ping": plugin("check_ping"),
  "check_procs": plugin("check_procs"),
  "check_snmp": { package: "monitoring-plugins-standard", path: "/usr/lib/nagios/plugins/check_snmp" },
  "check_users": plugin("check_users"),
  "chromedriver": { package: "chromium-driver" },
  "chromium": { package: "chromium" },
  "curl": { package: "curl" },
  "chronyd": { package: "chrony", path: "/usr/sbin/chronyd" },
  "dbus-run-session": { package: "dbus" },
  "dnsmasq": { package: "dnsmasq-base", path: "/usr/sbin/dnsmasq" },
  "dovecot": { package: "dovecot-imapd", path: "/usr/sbin/dovecot" },
  "dovecot-pop3": { package: "dovecot-pop3d", path: "/usr/lib/dovecot/pop3" },
  "dropbear": { package: "dropbear-bin", path: "/usr/sbin/dropbear" },
  "dropbearkey": { package: "dropbear-bin" },
  "fish": { package: "fish" },
  "gammu-smsd-inject": { package: "gammu-smsd" },
  "initdb": postgresql("initdb"),
  "ip": { package: "iproute2" },
  "jq": { package: "jq" },
  "kill": { package: "procps", path: "/usr/bin/kill" },
  "man": { package: "man-db" },
  "mandoc": { package: "mandoc" },
  "mariadb-install-db": { package: "mariadb-server" },
  "mariadbd": { package: "mariadb-server", path: "/usr/sbin/mariadbd" },
  "nginx": { package: "nginx-light", path: "/usr/sbin/nginx" },
  "notify-send": { package: "libnotify-bin" },
  "nss_wrapper": { package: "libnss-wrapper", path: "/usr/lib/*/libnss_wrapper.so" },
  "pgbouncer": { package: "pgbouncer", path: "/usr/sbin/pgbouncer" },
  "postfix": { package: "postfix", path: "/usr/sbin/postfix" },
  "postfix-master": { package: "postfix", path: "/usr/lib/postfix/sbin/master" },
  "postgres": postgresql("postgres"),
  "ping": { package: "iputils-ping" },
  "promtool": { package: "prometheus" },
  "python3": { package: "python3", path: "/usr/bin/python3" },
  "python3-dbus": { package: "python3-dbus", path: "/usr/lib/python3/dist-packages/dbus/__init__.py" },
  "python3-gi": { package: "python3-gi", path: "/usr/lib/python3/dist-packages/gi/__init__.py" },
  "python3-grpcio": { package: "python3-grpcio", path: "/usr/lib/python3/dist-packages/grpc/__init__.py" },
  "redis-server": { package: "redis-server" },
  "restic": { package: "restic" },
  "snmpd": { package: "snmpd", path: "/usr/sbin/snmpd" },
  "snmpget": { package: "snmp" },
  "ssh-keygen": { package: "openssh-client" },
  "sshd": { package: "openssh-server", path: "/usr/sbin/sshd" },
  "systemd-analyze": { package: "systemd" },
  "vsftpd": { package: "vsftpd", path: "/usr/sbin/vsftpd" },
  "zsh": { package: "zsh" },
} as const satisfies Readonly<Record<string, Tool>>;

/** One of the Monitoring Plugins. */
function plugin(name: string): Tool {
  return { package: "monitoring-plugins-basic", path: `/usr/lib/nagios/plugins/${name}` };
}

/** A command of PostgreSQL, of any version. */
function postgresql(name: string): Tool {
  return { package: "postgresql", path: `/usr/lib/postgresql/*/bin/${name}` };
}

/** Packages that only the scripts of `.ci/run` need. */
export const CI_PACKAGES: readonly string[] = ["bash-completion", "lintian", "time"];

/** Tools of every Debian (essential packages), and those that run the tests: Deno and Node. */
export const ESSENTIAL = [
  "bash",
  "df",
  "dpkg-deb",
  "env",
  "mkfifo",
  "node",
  "nsenter",
  "setpriv",
  "sh",
  "sha256sum",
  "sleep",
  "tail",
  "tar",
  "true",
  "unshare",
] as const;

/** An entry of the table. */
export type ToolName = keyof typeof TOOLS;

/**
 * Returns the absolute path of a tool.
 *
 * @throws {Error} If it is not in the table, or not installed.
 */
export function tool(name: ToolName | (typeof ESSENTIAL)[number]): string {
  const entry: Tool | undefined = Object.hasOwn(TOOLS, name) ? TOOLS[name as ToolName] : undefined;
  if (entry === undefined && !(ESSENTIAL as readonly string[]).includes(name)) {
    throw new Error(`cannot use "${name}" in a test: add it to testing/tools.ts`);
  }
  const path = findPath(name, entry?.path);
  if (path === null) {
    const hint = entry === undefined ? "every Debian has it" : `apt-get install ${entry.package}`;
    throw new Error(`cannot find ${name}: ${hint}`);
  }
  return path;
}

/**
 * What a test may need besides a tool: `time` is seconds of processor time, `namespaces` the right to make those of users,
 * networks and mounts.
 */
type Need = ToolName | "root" | "time" | "namespaces";

/**
 * Returns whether a test is ignored because one of these tools is missing, or because no tools are used; spread it into
 * the test's definition.
 */
export function requiresTools(...names: readonly Need[]): { readonly ignore: boolean } {
  const usesNone = Deno.env.get(TEST_TOOLS) === "none";
  const missing = names.filter((name) => usesNone || !isPresent(name));
  if (missing.length > 0) noteIgnored(missing);
  return { ignore: missing.length > 0 };
}

/** Returns a function that adds a test as `Deno.test()` does, which is ignored if one of these is missing. */
export function testWith(...names: readonly Need[]): (name: string, run: Deno.TestDefinition["fn"]) => void {
  const options = requiresTools(...names);
  return (name, run) => Deno.test(name, options, run);
}

/** Returns the tools of the table that this machine lacks. */
export function missingTools(): readonly ToolName[] {
  return (Object.keys(TOOLS) as ToolName[]).filter((name) => !isInstalled(name));
}

/** Returns the packages of these tools, each once and sorted. */
export function packagesOf(names: readonly ToolName[]): readonly string[] {
  return [...new Set(names.map((name) => TOOLS[name].package))].sort();
}

function isPresent(name: Need): boolean {
  if (name === "time") return true;
  if (name === "namespaces") return mayMakeNamespaces();
  return name === "root" ? Deno.uid() === 0 : isInstalled(name);
}

function mayMakeNamespaces(): boolean {
  return new Deno.Command(tool("unshare"), { args: ["-rnm", tool("true")], stderr: "null" }).outputSync()
    .success;
}

function isInstalled(name: ToolName): boolean {
  return findPath(name, (TOOLS[name] as Tool).path) !== null;
}

function findPath(name: string, pattern: string | undefined): string | null {
  const candidates = pattern === undefined
    ? (Deno.env.get("PATH") ?? "").split(":").map((directory) => `${directory}/${name}`)
    : expand(pattern);
  return candidates.find((path) => isUsable(path, pattern === undefined)) ?? null;
}

function expand(pattern: string): readonly string[] {
  const [before = "", after] = pattern.split("*");
  if (after === undefined) return [pattern];
  return [...Deno.readDirSync(before)].map(({ name }) => `${before}${name}${after}`);
}

function isUsable(path: string, isCommand: boolean): boolean {
  try {
    const { isFile, mode } = Deno.statSync(path);
    return isFile && (!isCommand || ((mode ?? 0) & 0o111) !== 0);
  } catch {
    return false;
  }
}

export interface ChildOptions extends Omit<Deno.CommandOptions, "args" | "signal"> {
  /** It is killed after that time, so that no test waits longer for it. @default 5 minutes */
  readonly limitMs?: number;
}

/** The end of a child process and its output, decoded. */
export interface ChildEnd {
  readonly code: number;
  readonly signal: Deno.Signal | null;
  readonly success: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

/** Longer than anything takes on a slow machine beside other work: only a fault waits for it. */
const LIMIT_MS = 300_000;

/**
 * Starts a child process, by the path that `tool()` returned or that of a command of the project. A signal to one that
 * has ended meanwhile does nothing.
 */
export function startChild(
  path: string,
  args: readonly string[],
  { limitMs = LIMIT_MS, ...options }: ChildOptions = {},
): Deno.ChildProcess {
  if (!path.startsWith("/")) {
    throw new Error(`cannot start "${path}": it is not an absolute path; use tool()`);
  }
  if (startsMonitor([path, ...args])) noteStart();
  const child = new Deno.Command(path, { ...options, args: [...args] }).spawn();
  const signal = child.kill.bind(child);
  const kill: typeof signal = (name) => {
    try {
      signal(name);
    } catch (error) {
      // "Child process has already terminated"
      if (!(error instanceof TypeError)) throw error;
    }
  };
  const timer = setTimeout(kill, limitMs, "SIGKILL");
  // The runtime's own handling of a rejected status is the caller's.
  child.status.finally(() => clearTimeout(timer)).catch(() => {});
  return Object.assign(child, { kill });
}

/**
 * Runs a child process to its end.
 *
 * @throws {Error} If it does not end within its limit.
 */
export async function runChild(
  path: string,
  args: readonly string[],
  { stdin = "", limitMs = LIMIT_MS, ...options }:
    & Omit<ChildOptions, "stdin" | "stdout" | "stderr">
    & { readonly stdin?: string } = {},
): Promise<ChildEnd> {
  const command = [path.replace(/.*\//, ""), ...args].join(" ").slice(0, 200);
  const startedMs = performance.now();
  const child = startChild(path, args, {
    ...options,
    limitMs,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  });
  const writer = child.stdin.getWriter();
  const [{ code, signal, success, stdout, stderr }] = await waitingFor(
    `child process "${command}"`,
    Promise.all([
      child.output(),
      // It may end before it has read everything.
      writer.write(new TextEncoder().encode(stdin)).then(() => writer.close()).catch(() => {}),
    ]),
  );
  if (signal === "SIGKILL" && performance.now() - startedMs >= limitMs) {
    throw new Error(`"${command}" did not end within ${limitMs / 1000} s`);
  }
  const decoder = new TextDecoder();
  return { code, signal, success, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}
