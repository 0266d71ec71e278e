import { dirname } from "node:path";
import type { Clock } from "../../src/domain/clock.ts";
import { ControlSocketError, ListenError } from "../../src/domain/http_servers.ts";
import type { Foreground, ProcessCommand, ProcessEnd } from "../../src/domain/processes.ts";
import { StoreError } from "../../src/domain/store.ts";
import type { Lock, StoreFiles, Stores } from "../../src/domain/stores.ts";
import type { System, TextSink } from "../../src/domain/system.ts";
import { createWheelClock } from "../../src/scheduler/wheel_clock.ts";
import { describeFileError } from "../../src/shared/describe_error.ts";
import { openInMemoryStore, openSqliteStore } from "../../src/state/sqlite/sqlite_store.ts";
import { explainConnectionError, explainRequestError } from "../../src/system/network_failure.ts";
import { captured } from "./machine.ts";
import { connectToFile } from "./memory_databases.ts";
import type { Output, Program } from "./program.ts";
import { Random } from "./random.ts";

const BUSY_MS_MAX = 10_000;
/** The program looks so often whether its lock file is in place. */
const LOOK_MS = 1_000;

/** Makes the machine of a program, as the program knows it. */
export function createSimulatedSystem(program: Program): System {
  const { machine } = program;
  const { world, files, name, userId } = machine;
  const clock = createClock(program);
  const random = new Random(world.seed, `${name} ${program.id}`);
  const fileAccess = <T>(what: string, path: string, work: () => T): Promise<T> =>
    program.ask(`${what} ${path}`, world.latency("file"), work);
  const storeFiles: StoreFiles = {
    look: (path) => fileAccess("look at", path, () => files.look(path)),
    readStart: (path, bytes) => fileAccess("read", path, () => files.read(path).slice(0, bytes)),
    createFile: (path) => fileAccess("create", path, () => files.create(path, { mode: 0o600 })),
    createDirectory: (path) => fileAccess("create", path, () => files.createDirectory(path)),
    rename: (from, to) => fileAccess("rename", from, () => files.rename(from, to)),
  };
  const dropped = new Set<string>();
  const typed = [...program.options.typed ?? []];
  return {
    clock,
    files: {
      stat: (path) => fileAccess("look at", path, () => files.facts(path)),
      read: (path) => fileAccess("read", path, () => files.read(path)),
      readPart: (path, { fromByte, bytesMax }) =>
        fileAccess("read", path, () => {
          const bytes = files.read(path);
          return { id: path, sizeBytes: bytes.length, bytes: bytes.slice(fromByte).slice(0, bytesMax) };
        }),
      list: (path) => fileAccess("list", path, () => files.list(path)),
      realPath: (path) => fileAccess("look at", path, () => files.realPath(path)),
      // Files of machines in memory have no symlinks of their own.
      readLink: (path) => fileAccess("look at", path, () => files.realPath(path)),
      touch: (path) => fileAccess("touch", path, () => files.touch(path)),
      write: (path, text, options) => fileAccess("write", path, () => files.write(path, text, options)),
      replace: (path, text) => fileAccess("replace", path, () => files.replace(path, text)),
      rewrite: (path, edit) => fileAccess("rewrite", path, () => files.rewrite(path, edit)),
    },
    processes: { run: (command, signal) => runCommand(program, command, signal) },
    foreground: createForeground(program),
    requests: {
      send: (request, signal) => world.network.send(program, request, signal),
      explain: explainRequestError,
    },
    connections: {
      connect: (target, { signal }) => world.connect(program, target, signal),
      connectDatabase: () => Promise.reject(new Deno.errors.ConnectionRefused("Connection refused")),
      resolve: ({ host }) => Promise.resolve([{ address: host, family: 4, token: null }]),
      readCertificate: () => Promise.reject(new Deno.errors.ConnectionRefused("Connection refused")),
      readTime: () => Promise.reject(new Deno.errors.ConnectionRefused("Connection refused")),
      explain: explainConnectionError,
    },
    dns: {
      lookUp: () => Promise.resolve({ reason: "no such name", isObstacle: false }),
      machineServers: () => Promise.resolve([]),
    },
    mail: { send: (mail, { signal }) => world.network.sendMail(program, mail, signal) },
    host: {
      fileSystem: () => Promise.resolve(world.hostFacts.fileSystem),
      memory: () => world.hostFacts.memory,
      loadAverages: () => world.hostFacts.loadAverages,
      processors: 2,
      processId: program.id,
    },
    httpServers: {
      listen: ({ host, port }, options) =>
        program.ask(`listen on ${port}`, 0, () => {
          if (machine.listeners.has(port)) {
            throw new ListenError(`cannot listen on "${host}:${port}": the address is in use`);
          }
          machine.listeners.set(port, { ...options, program });
          return {
            port,
            close: () => {
              machine.listeners.delete(port);
              return Promise.resolve();
            },
          };
        }),
    },
    controlSockets: {
      listen: (path, handle) =>
        program.ask("listen for commands", 0, () => {
          files.createDirectory(dirname(path));
          if ((files.facts(dirname(path)).mode ?? 0) & 0o077) {
            throw new ControlSocketError(`other users may enter "${dirname(path)}"`);
          }
          machine.controlSockets.set(path, { program, handle });
          return () => {
            machine.controlSockets.delete(path);
            return Promise.resolve();
          };
        }),
      send: (path, line, options) => sendControl(program, path, line, options),
    },
    permissions: {
      isGranted: (permission) => !dropped.has(permission),
      drop: (permission) => void dropped.add(permission),
      isDropped: (permission) => dropped.has(permission),
      killPath: null,
    },
    state: {
      files: storeFiles,
      lock: (path) => acquireLock(program, path),
      holder: (path) => machine.locks.get(path)?.program.id ?? null,
      isLocked: (path) => machine.locks.has(path),
    },
    stores: createStores(program, clock, storeFiles),
    stdout: createSink(program, program.stdout),
    stderr: createSink(program, program.stderr),
    readStdin: () => Promise.resolve(new TextEncoder().encode(program.options.stdin ?? "")),
    terminal: {
      isTerminal: program.options.typed !== undefined,
      readLine: () => Promise.resolve(typed.shift() ?? null),
    },
    randomId: () => random.uuid(),
    settle: () => new Promise((resolve) => void world.timeline.after(0, resolve, program)),
    random: () => random.next(),
    hostName: () => name,
    timeZone: () => machine.zone,
    environment: (variable) => (program.options.environment ?? machine.environment)[variable],
    trustMachine: () => {},
    mayReadEnvironment: () => true,
    ownConfig: null,
    workingDirectory: machine.workingDirectory,
    platform: "linux",
    executable: "/usr/local/bin/monitor",
    sourceModule: null,
    runtime: { name: "Deno", version: "0.0.0", target: "simulation" },
    userId,
    onReloadSignal: (callback) => {
      program.reloadListeners.add(callback);
      return () => program.reloadListeners.delete(callback);
    },
    onStopSignal: (callback) => {
      program.stopListeners.add(callback);
      return () => program.stopListeners.delete(callback);
    },
  };
}

/** Sums of fractions of a millisecond are off by less. */
const ROUNDED_MS = 1e-6;

/**
 * The clock that `main.ts` makes, on the one timer of a process. An event that comes too early waits on, so a timer that
 * is set to a later time costs no event.
 */
function createClock(program: Program): Clock {
  const { machine } = program;
  const { timeline } = machine.world;
  const startMs = timeline.nowMs - machine.suspendedMs;
  const monotonicMs = (): number => timeline.nowMs - machine.suspendedMs - startMs;
  let due: { readonly atMs: number; callback(): void } | null = null;
  /** The times of its events that are still to come. */
  const pending = new Set<number>();
  const wait = (): void => {
    if (due === null) return;
    const atMs = timeline.nowMs + Math.max(0, due.atMs - monotonicMs());
    for (const earlierMs of pending) if (earlierMs <= atMs) return;
    pending.add(atMs);
    timeline.after(atMs - timeline.nowMs, () => {
      pending.delete(atMs);
      // Of a machine that was suspended meanwhile, the time has not come.
      if (due === null || due.atMs - monotonicMs() > ROUNDED_MS) return wait();
      const { callback } = due;
      due = null;
      callback();
    }, program);
  };
  return createWheelClock({
    wallMs: () => machine.wallMs,
    monotonicMs,
    set: (delayMs, callback) => {
      due = { atMs: monotonicMs() + Math.ceil(delayMs), callback };
      wait();
    },
    clear: () => due = null,
  });
}

function createStores(program: Program, clock: Clock, files: StoreFiles): Stores {
  const { machine } = program;
  return {
    openFile: (path, { access, damage, ...patience }) =>
      openSqliteStore(path, {
        access,
        ...damage !== undefined && { damage },
        files,
        userId: machine.userId,
        nowMs: clock.wallMs(),
        patience: { clock, timeoutMs: BUSY_MS_MAX, ...patience },
        connect: (path, options) => connectToFile(program, path, options),
      }),
    openShared: (place, options) => machine.world.openShared(program, place, { ...options, clock }),
    openInMemory: openInMemoryStore,
  };
}

function createSink(program: Program, output: Output): TextSink {
  return {
    write: (text) => {
      if (output.isClosed) return;
      program.step("before output");
      output.write(text);
    },
    get closed() {
      return output.isClosed;
    },
    isTerminal: program.options.typed !== undefined,
    columns: () => program.options.typed === undefined ? null : 100,
  };
}

function acquireLock(program: Program, path: string): Lock | null {
  const { machine: { files, locks } } = program;
  program.step("before the lock");
  try {
    if (!files.has(path)) {
      files.createDirectory(dirname(path));
      files.create(path, { mode: 0o600 });
    }
    const node = files.node(path);
    if (!files.allows(node, 6)) throw new Deno.errors.PermissionDenied("Permission denied (os error 13)");
    const held = locks.get(path);
    if (held !== undefined && held.node === node) return null;
    const lock = { program, node };
    locks.set(path, lock);
    return {
      // It takes until the file is gone: an event each second would be most of the time of a quiet day.
      isInPlace: () =>
        new Promise((resolve) => {
          const { timeline, random } = program.machine.world;
          node.onGone = () => void timeline.after(random.between(0, LOOK_MS), () => resolve(false), program);
          if (!files.has(path) || files.node(path) !== node) node.onGone();
        }),
      release: () => {
        if (locks.get(path) === lock) locks.delete(path);
      },
    };
  } catch (error) {
    if (!(error instanceof Error) || error.name === "KilledError") throw error;
    const reason = describeFileError(error, { path, access: "write" });
    throw new StoreError(`cannot lock "${path}": ${reason}`, failureOf(error), { cause: error });
  }
}

function failureOf(error: Error): "full" | "denied" | "other" {
  const code = "code" in error ? error.code : undefined;
  if (code === "ENOSPC") return "full";
  return code === "EROFS" || error instanceof Deno.errors.PermissionDenied ? "denied" : "other";
}

async function sendControl(
  program: Program,
  path: string,
  line: string,
  { timeoutMs = TAKING_MS }: { readonly timeoutMs?: number } = {},
): Promise<string | null> {
  const { machine } = program;
  const { timeline } = machine.world;
  const socket = await program.ask("send a command", 0, () => machine.controlSockets.get(path) ?? null);
  if (socket === null) return null;
  return await new Promise((resolve, reject) => {
    const stopFollowing = socket.program.atEnd(() => timeline.after(0, () => resolve(""), program));
    const cancelTaking = timeline.after(0, () => {
      cancelSilence();
      void socket.handle(line).then((response) => {
        stopFollowing();
        timeline.after(0, () => resolve(response), program);
      });
    }, socket.program);
    const cancelSilence = timeline.after(timeoutMs, () => {
      cancelTaking();
      reject(new ControlSocketError(`no response for ${timeoutMs / 1000} s`));
    }, program);
  });
}

/** How long a service has to take a command. */
const TAKING_MS = 10_000;

/** How long a command has between SIGTERM and SIGKILL. */
const TERMINATION_MS = 2_000;

async function runCommand(
  program: Program,
  command: ProcessCommand,
  signal: AbortSignal,
): Promise<ProcessEnd> {
  const { world } = program.machine;
  signal.throwIfAborted();
  const end = await program.ask(`the start of ${command.path}`, 0, () => world.runCommand(program, command));
  if (end === null) return { ended: "not_started", reason: "no such file" };
  const bytesMax = command.outputBytesMax;
  const streams = {
    stdout: captured(end.stdout ?? "", bytesMax),
    stderr: captured(end.stderr ?? "", bytesMax),
  };
  const durationMs = end.durationMs ?? world.latency("script");
  const { promise, resolve, reject } = Promise.withResolvers<ProcessEnd>();
  const { timeline } = world;
  const later = (delayMs: number, act: () => void): () => void =>
    timeline.after(delayMs, () => {
      program.quietly(() => {
        program.step(`the end of ${command.path}`);
        act();
      });
    }, program);
  const cancels = [
    later(command.timeoutMs, () => resolve({ ended: "timed_out", ...streams, survives: false })),
  ];
  if (durationMs !== Infinity) {
    cancels.push(
      later(
        durationMs,
        () => resolve({ ended: "exited", code: end.code ?? 0, ...streams, leftovers: false }),
      ),
    );
  }
  const onAbort = (): void => void cancels.push(later(TERMINATION_MS, () => reject(signal.reason)));
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await promise;
  } finally {
    cancels.forEach((cancel) => cancel());
    signal.removeEventListener("abort", onAbort);
  }
}

function createForeground(program: Program): Foreground {
  const { world } = program.machine;
  return {
    run: async (command, { tailBytesMax }) => {
      const [path = "", ...args] = command;
      const end = await program.ask(`the start of ${path}`, 0, () =>
        world.runCommand(program, {
          path,
          arguments: args,
          environment: {},
          directory: "/",
          timeoutMs: Infinity,
          outputBytesMax: tailBytesMax,
        }));
      if (end === null) return { ended: "not_started", code: 127, reason: "command not found" };
      const durationMs = end.durationMs ?? world.latency("script");
      if (durationMs === Infinity) return await new Promise(() => {});
      const tail = `${end.stdout ?? ""}${end.stderr ?? ""}`.slice(-tailBytesMax);
      return await program.ask(
        `the end of ${path}`,
        durationMs,
        () => ({ ended: "exited", code: end.code ?? 0, tail }),
      );
    },
  };
}
