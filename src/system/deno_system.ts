import { fileURLToPath } from "node:url";
import type { Clock } from "../domain/clock.ts";
import type { StoreMachine, Stores } from "../domain/stores.ts";
import type { System } from "../domain/system.ts";
import { createFiles } from "./files.ts";
import { createHost } from "./host.ts";
import { systemTimeZone } from "./deno_workarounds/unknown_time_zone.ts";
import { acquireLock, isLocked, lockHolder } from "./lock.ts";
import { lazyPart } from "./lazy_part.ts";
import { createPermissions } from "./permission_access.ts";
import { RUNTIME } from "./runtime.ts";
import { createStoreFiles } from "./store_files.ts";
import { trustMachine } from "./tls/trust.ts";
import { createTerminalInput } from "./terminal_input.ts";
import { onSignal } from "./on_signal.ts";
import { createTextSink } from "./text_sink.ts";

export interface SystemOptions {
  /** Makes the stores over the rest of the machine. */
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
