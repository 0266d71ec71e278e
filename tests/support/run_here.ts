import { run } from "../../src/cli/run.ts";
import type { TextSink } from "../../src/domain/system.ts";
import { createMemorySink, createMemorySystem, type MemorySystem } from "../../testing/memory_system.ts";
import { waitingFor } from "../../testing/test_notes.ts";

export interface RunHereOptions {
  /** The working directory. */
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly stdin?: string;
}

/** The exit code of the program and its whole output. */
export interface HereEnd {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs `monitor` to its end in this process, which costs a small part of a process of its own. One call waits for the
 * other: a working directory is that of the whole process.
 */
export function runHere(args: readonly string[], options: RunHereOptions): Promise<HereEnd> {
  const own = last.then(() => runInDirectory(args, options));
  last = own.catch(() => {});
  return waitingFor(`the end of monitor ${args.join(" ")}`, own);
}

async function runInDirectory(
  args: readonly string[],
  { directory, environment, stdin = "" }: RunHereOptions,
): Promise<HereEnd> {
  const before = Deno.cwd();
  Deno.chdir(directory);
  try {
    const system = systemFor({ directory, environment, stdin });
    const code = await run(args, system);
    return { code, stdout: system.stdout.text(), stderr: system.stderr.text() };
  } finally {
    Deno.chdir(before);
  }
}

function systemFor({ directory, environment, stdin = "" }: RunHereOptions): MemorySystem {
  const { TZ } = environment;
  return createMemorySystem({
    environment,
    stdin,
    workingDirectory: directory,
    ...TZ !== undefined && { timeZone: TZ },
  });
}

export interface Running {
  readonly pid: number;
  readonly stdout: ReadableStream<Uint8Array>;
  readonly stderr: ReadableStream<Uint8Array>;
  readonly status: Promise<{ readonly code: number }>;
  /** Stops or reloads it, as such a signal does. */
  kill(signal?: Deno.Signal): void;
}

/** Starts `monitor` in this process. Unlike `runHere()` it has a working directory of its own, but for `beat`. */
export function startHere(args: readonly string[], options: RunHereOptions): Running {
  const system = systemFor(options);
  const stdout = createPipe();
  const stderr = createPipe();
  const runToEnd = async (): Promise<{ readonly code: number }> => {
    try {
      return { code: await run(args, { ...system, stdout: stdout.sink, stderr: stderr.sink }) };
    } finally {
      stdout.close();
      stderr.close();
    }
  };
  return {
    pid: Deno.pid,
    stdout: stdout.readable,
    stderr: stderr.readable,
    status: runToEnd(),
    kill: (signal) => {
      if (signal === "SIGHUP") system.reload();
      else if (signal === "SIGTERM" || signal === "SIGINT") system.stop(signal);
      else throw new RangeError(`cannot send ${signal} to a program in this process`);
    },
  };
}

function createPipe(): {
  readonly readable: ReadableStream<Uint8Array>;
  readonly sink: TextSink;
  close(): void;
} {
  const { readable, writable } = new TextEncoderStream();
  const writer = writable.getWriter();
  const sink: TextSink = { ...createMemorySink(), write: (text) => void writer.write(text).catch(() => {}) };
  return { readable, sink, close: () => void writer.close().catch(() => {}) };
}
