import { setImmediate } from "node:timers";
import type { PermissionClass } from "../src/domain/runtime_permissions.ts";
import type { StoreMachine } from "../src/domain/stores.ts";
import type { System, TextSink } from "../src/domain/system.ts";
import { testRandom } from "./seed.ts";
import { createRealClock } from "./real_clock.ts";
import { createStores } from "../src/state/open_stores.ts";
import { createConnections } from "../src/system/tcp/connections.ts";
import { createControlSockets } from "../src/system/control_sockets.ts";
import { createDns } from "../src/system/dns.ts";
import { createFiles, createStoreFiles } from "../src/system/files.ts";
import { createHost } from "../src/system/deno_system.ts";
import { acquireLock, isLocked, lockHolder } from "../src/system/lock.ts";
import { createForeground } from "../src/system/process/foreground.ts";
import { createHttpServers } from "../src/system/http/http_servers.ts";
import { createMail } from "../src/system/mail/mail.ts";
import { createProcesses } from "../src/system/process/processes.ts";
import { createRequests } from "../src/system/http/requests.ts";

/** A sink that keeps its output. */
export interface MemorySink extends TextSink {
  text(): string;
}

/** Makes a sink that is no terminal, unless a width is given. */
export function createMemorySink(columns: number | null = null): MemorySink {
  let text = "";
  return {
    write: (piece) => void (text += piece),
    closed: false,
    isTerminal: columns !== null,
    columns: () => columns,
    text: () => text,
  };
}

/** The real machine, but with an environment, a working directory and standard streams of the test's own. */
export interface MemorySystem extends System {
  readonly stdout: MemorySink;
  readonly stderr: MemorySink;
  /** The dropped classes of permissions. The test's own process keeps them. */
  readonly dropped: ReadonlySet<PermissionClass>;
  /** Sends a reload signal to all listeners. */
  reload(): void;
  /** Sends a stop signal to all listeners. */
  stop(signal: "SIGINT" | "SIGTERM"): void;
}

export interface MemorySystemOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** Lines that are typed on a terminal. @default standard input is no terminal */
  readonly typed?: readonly string[];
  readonly workingDirectory?: string;
  readonly columns?: number;
  /** @default Europe/Zurich */
  readonly timeZone?: string;
  /** Another user's id, to see files as they do. */
  readonly userId?: number;
  /** Returns whether a permission of the runtime is granted; by default all are. */
  isGranted?(permission: PermissionClass, value?: string): boolean;
}

/** Makes a system for a test. */
export function createMemorySystem(options: MemorySystemOptions = {}): MemorySystem {
  const clock = createRealClock();
  const environment = options.environment ?? { PATH: "/usr/local/bin:/usr/bin:/bin" };
  const typed = [...options.typed ?? []];
  const listeners = new Set<(signal: "SIGINT" | "SIGTERM") => void>();
  const dropped = new Set<PermissionClass>();
  const reloaders = new Set<() => void>();
  const machine: StoreMachine = {
    clock,
    connections: createConnections(clock),
    state: { files: createStoreFiles(clock), lock: acquireLock, holder: lockHolder, isLocked },
    userId: options.userId ?? Deno.uid(),
    randomId: () => crypto.randomUUID(),
    random: testRandom("system").next,
  };
  return {
    ...machine,
    stores: createStores(machine),
    files: createFiles(clock),
    processes: createProcesses(clock),
    foreground: createForeground(clock),
    requests: createRequests({ clock: createRealClock() }),
    dns: createDns(createRealClock()),
    mail: createMail(clock),
    host: createHost(),
    httpServers: createHttpServers(clock),
    controlSockets: createControlSockets(clock, Deno.uid()),
    settle: () => new Promise((resolve) => void setImmediate(resolve)),
    stdout: createMemorySink(options.columns ?? null),
    stderr: createMemorySink(options.columns ?? null),
    readStdin: () => Promise.resolve(new TextEncoder().encode(options.stdin ?? "")),
    terminal: {
      isTerminal: options.typed !== undefined,
      readLine: () => Promise.resolve(typed.shift() ?? null),
    },
    environment: (name) => environment[name],
    mayReadEnvironment: () => true,
    permissions: {
      isGranted: (permission, value) =>
        !dropped.has(permission) && (options.isGranted?.(permission, value) ?? true),
      drop: (permission) => void dropped.add(permission),
      isDropped: (permission) => dropped.has(permission),
      killPath: "/usr/bin/kill",
    },
    dropped,
    ownConfig: null,
    executable: "/usr/local/bin/monitor",
    sourceModule: null,
    workingDirectory: options.workingDirectory ?? Deno.cwd(),
    platform: "linux",
    runtime: { name: "Deno", version: "0.0.0", target: "test" },
    hostName: () => "test-host",
    timeZone: () => options.timeZone ?? "Europe/Zurich",
    trustMachine: () => {},
    onReloadSignal: (callback) => {
      reloaders.add(callback);
      return () => reloaders.delete(callback);
    },
    onStopSignal: (callback) => {
      listeners.add(callback);
      return () => listeners.delete(callback);
    },
    reload: () => reloaders.forEach((reloader) => reloader()),
    stop: (signal) => listeners.forEach((listener) => listener(signal)),
  };
}
