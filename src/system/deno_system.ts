import { fileURLToPath } from "node:url";
import type { Clock } from "../domain/clock.ts";
import type { StoreMachine, Stores } from "../domain/stores.ts";
import type { FileSystemFacts, Host, Permissions, System, TerminalInput } from "../domain/system.ts";
import { createFiles, createStoreFiles } from "./files.ts";
import { systemTimeZone } from "./deno_workarounds/unknown_time_zone.ts";
import { acquireLock, isLocked, lockHolder } from "./lock.ts";
import { createTextSink, RUNTIME } from "./runtime.ts";
import { trustMachine } from "./tls/trust.ts";
import { onSignal } from "./process_events.ts";
import type { PermissionClass } from "../domain/runtime_permissions.ts";
import { KILL_COMMAND_PATH } from "./process/process_group.ts";
import { lazily } from "../shared/lazily.ts";

export interface SystemOptions {
  createStores(machine: StoreMachine): Stores;
  /** See {@linkcode System}. @default null */
  readonly ownConfig?: string;
}

export function createSystem(clock: Clock, { createStores, ownConfig }: SystemOptions): System {
  const { environment, mayReadEnvironment, hostName, ...permissions } = createPermissions();
  const userId = permissions.isGranted("sys", "uid") ? Deno.uid() : null;
  const machine: StoreMachine = {
    clock,
    connections: lazyPart({
      connect: "async",
      connectDatabase: "async",
      resolve: "async",
      readCertificate: "async",
      readTime: "async",
      explain: "sync",
    }, async () => (await import("./tcp/connections.ts")).createConnections(clock)),
    state: { files: createStoreFiles(clock), lock: acquireLock, holder: lockHolder, isLocked },
    userId,
    randomId: () => crypto.randomUUID(),
    random: () => Math.random(),
  };
  return {
    ...machine,
    stores: createStores(machine),
    files: createFiles(clock),
    processes: lazyPart(
      { run: "async" },
      async () => (await import("./process/processes.ts")).createProcesses(clock),
    ),
    foreground: lazyPart(
      { run: "async" },
      async () => (await import("./process/foreground.ts")).createForeground(clock),
    ),
    requests: lazyPart(
      { send: "async", explain: "sync" },
      async () => (await import("./http/requests.ts")).createRequests({ clock, environment }),
    ),
    dns: lazyPart(
      { lookUp: "async", machineServers: "async" },
      async () => (await import("./dns.ts")).createDns(clock),
    ),
    mail: lazyPart({ send: "async" }, async () => (await import("./mail/mail.ts")).createMail(clock)),
    host: createHost(),
    httpServers: lazyPart(
      { listen: "async" },
      async () => (await import("./http/http_servers.ts")).createHttpServers(clock),
    ),
    controlSockets: lazyPart(
      { listen: "async", send: "async" },
      async () => (await import("./control_sockets.ts")).createControlSockets(clock, userId),
    ),
    settle: async () => {
      const { nextTick } = await import("node:process");
      await new Promise<void>((resolve) => nextTick(resolve));
    },
    stdout: createTextSink(Deno.stdout),
    stderr: createTextSink(Deno.stderr),
    readStdin: async () => new Uint8Array(await new Response(Deno.stdin.readable).arrayBuffer()),
    terminal: createTerminalInput(),
    environment,
    mayReadEnvironment,
    permissions,
    trustMachine,
    ownConfig: ownConfig ?? null,
    get workingDirectory() {
      return Deno.cwd();
    },
    platform: Deno.build.os === "windows" || Deno.build.os === "darwin" ? Deno.build.os : "linux",
    runtime: RUNTIME,
    hostName,
    get executable() {
      return Deno.execPath();
    },
    get sourceModule() {
      return Deno.build.standalone ? null : fileURLToPath(Deno.mainModule);
    },
    timeZone: systemTimeZone,
    onReloadSignal: (callback) => {
      // Windows has no hangup to send.
      return Deno.build.os === "windows" ? () => {} : onSignal("SIGHUP", callback);
    },
    onStopSignal: (callback) => {
      // Windows has no SIGTERM; the nearest is the break key.
      const terminate = Deno.build.os === "windows" ? "SIGBREAK" : "SIGTERM";
      const ends = [
        onSignal("SIGINT", () => callback("SIGINT")),
        onSignal(terminate, () => callback("SIGTERM")),
      ];
      return () => ends.forEach((end) => end());
    },
  };
}

export function createHost(): Host {
  const pending = new Map<string, Promise<FileSystemFacts>>();
  return {
    // A call that hangs occupies a thread of the runtime for ever, so it is joined instead of repeated.
    fileSystem: (path) =>
      pending.getOrInsertComputed(path, () => readFileSystem(path).finally(() => pending.delete(path))),
    memory: () => {
      const { available: availableBytes, total: totalBytes, swapFree, swapTotal } = Deno.systemMemoryInfo();
      return { availableBytes, totalBytes, swapUsedBytes: swapTotal - swapFree, swapTotalBytes: swapTotal };
    },
    loadAverages: () => {
      const [one = 0, five = 0, fifteen = 0] = Deno.loadavg();
      return [one, five, fifteen];
    },
    processors: navigator.hardwareConcurrency,
    processId: Deno.pid,
  };
}

/** Uses `statfs` of Node: the runtime has none of its own. The module is loaded only here. */
async function readFileSystem(path: string): Promise<FileSystemFacts> {
  const { statfs } = await import("node:fs/promises");
  const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(path);
  // Some file systems count below zero once root uses its reserve.
  const freeBytes = Math.max(0, bavail) * bsize;
  return {
    freeBytes,
    totalBytes: (blocks - bfree) * bsize + freeBytes,
    inodes: files > 0 ? { free: ffree, total: files } : null,
  };
}

type Granted = Permissions & Pick<System, "environment" | "mayReadEnvironment" | "hostName">;

/** Values that were read once are cached, whether their class is dropped or not. */
function createPermissions(): Granted {
  const variables = new Map<string, string | undefined>();
  const dropped = new Set<PermissionClass>();
  let hostName: string | null = null;
  const isGranted = (permission: PermissionClass, value?: string): boolean =>
    Deno.permissions.querySync(DESCRIBE[permission](value)).state === "granted";
  const mayReadEnvironment = (name: string): boolean => variables.has(name) || isGranted("env", name);
  const askHostName = (): string => isGranted("sys", "hostname") ? Deno.hostname() : "localhost";
  return {
    isGranted,
    killPath: Deno.build.os === "windows" ? null : KILL_COMMAND_PATH,
    drop: (permission) => {
      if (permission === "sys") hostName ??= askHostName();
      Deno.permissions.revokeSync({ name: permission });
      dropped.add(permission);
    },
    isDropped: (permission) => dropped.has(permission),
    mayReadEnvironment,
    environment: (name) => {
      if (!mayReadEnvironment(name)) return undefined;
      if (!variables.has(name)) variables.set(name, Deno.env.get(name));
      return variables.get(name);
    },
    hostName: () => hostName ??= askHostName(),
  };
}

const DESCRIBE: Readonly<Record<PermissionClass, (value?: string) => Deno.PermissionDescriptor>> = {
  read: (path) => ({ name: "read", ...(path !== undefined && { path }) }),
  write: (path) => ({ name: "write", ...(path !== undefined && { path }) }),
  net: (host) => ({ name: "net", ...(host !== undefined && { host }) }),
  run: (command) => ({ name: "run", ...(command !== undefined && { command }) }),
  env: (variable) => ({ name: "env", ...(variable !== undefined && { variable }) }),
  sys: (kind) => ({ name: "sys", ...(kind !== undefined && { kind: kind as "hostname" }) }),
};

/**
 * Returns a part of the machine whose module is loaded at its first use: loading all of them takes longer than a run
 * without them. A method that is synchronous can be called only after another one.
 */
export function lazyPart<Part extends object>(
  methods: Readonly<Record<keyof Part, "async" | "sync">>,
  load: () => Promise<Part>,
): Part {
  let made: Part | null = null;
  const use = lazily(async () => made = await load());
  const call = (name: string, words: readonly unknown[]): unknown => {
    if (made === null) throw new Error(`${name}() is called of a part that was never used`);
    const method: unknown = Reflect.get(made, name);
    return typeof method === "function" ? Reflect.apply(method, made, words) : undefined;
  };
  const forwarded = Object.entries(methods).map(([name, manner]) => [
    name,
    manner === "sync"
      ? (...words: readonly unknown[]) => call(name, words)
      : async (...words: readonly unknown[]) => await use().then(() => call(name, words)),
  ]);
  return Object.fromEntries(forwarded) as Part;
}

function createTerminalInput(): TerminalInput {
  const decoder = new TextDecoder();
  let text = "";
  return {
    get isTerminal() {
      return Deno.stdin.isTerminal();
    },
    readLine: async () => {
      const buffer = new Uint8Array(4096);
      while (!text.includes("\n")) {
        const count = await Deno.stdin.read(buffer);
        if (count === null) return null;
        text += decoder.decode(buffer.subarray(0, count), { stream: true });
      }
      const end = text.indexOf("\n");
      const line = text.slice(0, end);
      text = text.slice(end + 1);
      return line;
    },
  };
}
