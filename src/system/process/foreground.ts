/**
 * Runs a foreign command in the place of this process: with its environment, working directory and standard streams,
 * so that command and caller hardly notice the process in between. Data is copied unchanged, and its end is kept.
 *
 * The command stays in our process group: signals of a terminal, a timeout or a supervisor to the group reach it
 * directly, and those to this process alone are forwarded.
 */
import { endsWithin, pause } from "../../shared/deadline.ts";
import type { Clock } from "../../domain/clock.ts";
import type { Foreground, ForegroundEnd } from "../../domain/processes.ts";
import { endOf } from "../deno_workarounds/real_time_signals.ts";
import { onSignal } from "../process_events.ts";
import { explainSpawnFailure, isOutOfDescriptors } from "./process_group.ts";
import { joinBytes } from "../../shared/text.ts";

/** The time that silent pipes may stay open after the command has exited while a leftover process has them open. */
const HELD_PIPES_MS = 200;

/** Maximum amount of data in a pipe when the command exited; later data is from its leftover processes. */
const PIPE_BYTES_MAX = 1024 * 1024;

/** On a pipe that another process made non-blocking. */
const BUSY_PIPE_WAIT_MS = 5;

/** The exit codes of a shell for a command that can't be run, and for one that doesn't exist. */
const CODES = { unusable: 126, missing: 127 } as const;

const IS_WINDOWS = Deno.build.os === "windows";

const SIGNALS: readonly Deno.Signal[] = IS_WINDOWS
  ? ["SIGINT", "SIGBREAK"]
  : ["SIGINT", "SIGTERM", "SIGQUIT", "SIGUSR1", "SIGUSR2"];

/** It is not forwarded, because `nohup` may have had it ignored; we stay to see how the command ends. */
const SURVIVED_SIGNALS: readonly Deno.Signal[] = IS_WINDOWS ? [] : ["SIGHUP"];

/** Signals that a terminal sends to the whole group by itself. */
const TERMINAL_SIGNALS: readonly Deno.Signal[] = ["SIGINT", "SIGQUIT", "SIGBREAK"];

export function createForeground(clock: Clock): Foreground {
  return {
    run: async (command, { tailBytesMax }) => {
      let spawned: Spawned;
      try {
        spawned = spawn(command);
      } catch (error) {
        return await notStarted(error, command, clock);
      }
      return await follow(spawned, { clock, tail: createOutputTail(tailBytesMax) });
    },
  };
}

/** Without file descriptors left for pipes, a command writes to our output, whose end is not kept then. */
interface Spawned {
  readonly child: Deno.ChildProcess;
  readonly isPiped: boolean;
}

function spawn(command: readonly string[]): Spawned {
  try {
    return { child: spawnWith("piped", command), isPiped: true };
  } catch (error) {
    if (!isOutOfDescriptors(error)) throw error;
    return { child: spawnWith("inherit", command), isPiped: false };
  }
}

/** A script without "#!" is run by the shell, as `execvp` and every shell do. */
function spawnWith(output: "piped" | "inherit", [executable = "", ...rest]: readonly string[]) {
  const options = { stdin: "inherit", stdout: output, stderr: output } as const;
  try {
    return new Deno.Command(executable, { ...options, args: rest }).spawn();
  } catch (error) {
    const path = triedPath(error);
    if (path === undefined || !(error instanceof Error && error.message.includes("Exec format error"))) {
      throw error;
    }
    return new Deno.Command("/bin/sh", { ...options, args: [path, ...rest] }).spawn();
  }
}

async function notStarted(
  error: unknown,
  [executable = ""]: readonly string[],
  clock: Clock,
): Promise<ForegroundEnd> {
  const isMissing = error instanceof Deno.errors.NotFound;
  const path = triedPath(error) ?? executable;
  return {
    ended: "not_started",
    code: isMissing ? CODES.missing : CODES.unusable,
    reason: isMissing && !executable.includes("/")
      ? "it is not in PATH"
      : await explainSpawnFailure(error, { path, directory: ".", clock }),
  };
}

function triedPath(error: unknown): string | undefined {
  return error instanceof Error ? /^Failed to spawn '(.*)': /s.exec(error.message)?.[1] : undefined;
}

async function follow(
  { child, isPiped }: Spawned,
  { clock, tail }: { readonly clock: Clock; readonly tail: OutputTail },
): Promise<ForegroundEnd> {
  const stopForwarding = hasDescriptors() ? forwardSignals(child) : () => {};
  try {
    const pipes = !isPiped ? [] : [
      passOn(child.stdout, { to: Deno.stdout, source: "stdout", tail, clock }),
      passOn(child.stderr, { to: Deno.stderr, source: "stderr", tail, clock }),
    ];
    const departure = await endOf(child);
    await Promise.all(pipes.map((pipe) => finish(pipe, clock)));
    const { code, signal } = departure;
    if (signal === null) return { ended: "exited", code, tail: tail.text() };
    const name = signal.startsWith("SIG") ? signal : `signal ${signal}`;
    return { ended: "signalled", code, signal: name, tail: tail.text() };
  } finally {
    stopForwarding();
  }
}

/** The runtime aborts if it has no file descriptors for its first signal listener. */
const LISTENER_DESCRIPTORS = 4;

function hasDescriptors(): boolean {
  const files: Deno.FsFile[] = [];
  try {
    while (files.length < LISTENER_DESCRIPTORS) files.push(Deno.openSync("/dev/null"));
    return true;
  } catch {
    return false;
  } finally {
    for (const file of files) file.close();
  }
}

/** Starts listening only after the command has started: signals that were ignored before are ignored there too. */
function forwardSignals(child: Deno.ChildProcess): () => void {
  const isOnTerminal = [Deno.stdin, Deno.stdout, Deno.stderr].some((stream) => stream.isTerminal());
  const forward = (signal: Deno.Signal): void => {
    if (isOnTerminal && TERMINAL_SIGNALS.includes(signal)) return;
    try {
      child.kill(signal);
    } catch {
      // It has ended.
    }
  };
  const ends = [
    ...SIGNALS.map((signal) => onSignal(signal, () => forward(signal))),
    ...SURVIVED_SIGNALS.map((signal) => onSignal(signal, () => {})),
  ];
  return () => ends.forEach((end) => end());
}

type Passing = ReturnType<typeof passOn>;

interface PassOptions {
  readonly to: { write(bytes: Uint8Array): Promise<number> };
  readonly source: string;
  readonly tail: OutputTail;
  readonly clock: Clock;
}

function passOn(from: ReadableStream<Uint8Array>, { to, source, tail, clock }: PassOptions) {
  const reader = from.getReader();
  let bytes = 0;
  let isWriting = false;
  let isLost = false;
  const passAll = async (): Promise<void> => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      bytes += value.length;
      tail.add(source, value);
      if (isLost) continue;
      isWriting = true;
      try {
        await writeAll(to, value, clock);
      } catch (error) {
        // With its reader gone the command gets SIGPIPE, as it would without us.
        if (error instanceof Deno.errors.BrokenPipe) return void await reader.cancel();
        // A full disk: the command continues, and its output is lost.
        isLost = true;
      } finally {
        isWriting = false;
      }
    }
  };
  const ended = passAll().catch(() => {}); // a pipe that fails is a pipe that ended
  return {
    /** Resolves when no process has the other end open, or our output is closed; never rejects. */
    ended,
    get bytes() {
      return bytes;
    },
    get isWriting() {
      return isWriting;
    },
    stop: async (): Promise<void> => {
      await reader.cancel().catch(() => {});
      await ended;
    },
  };
}

async function writeAll(to: PassOptions["to"], chunk: Uint8Array, clock: Clock): Promise<void> {
  let rest = chunk;
  while (rest.length > 0) {
    try {
      rest = rest.subarray(await to.write(rest));
    } catch (error) {
      if (!(error instanceof Deno.errors.WouldBlock)) throw error;
      await pause(clock, BUSY_PIPE_WAIT_MS);
    }
  }
}

/** Passes on the rest of a command's output in a pipe. Remaining processes that have the pipe open get only a moment. */
async function finish(pipe: Passing, clock: Clock): Promise<void> {
  const startBytes = pipe.bytes;
  let hasEnded = false;
  void pipe.ended.then(() => hasEnded = true);
  for (;;) {
    const before = pipe.bytes;
    await endsWithin(clock, HELD_PIPES_MS, pipe.ended);
    if (hasEnded) return;
    const isIdle = pipe.bytes === before && !pipe.isWriting;
    if (isIdle || pipe.bytes - startBytes > PIPE_BYTES_MAX) return await pipe.stop();
  }
}

interface OutputTail {
  add(source: string, bytes: Uint8Array): void;
  /** Returns the kept output, decoded as UTF-8; truncated at the start of a line if there is one. */
  text(): string;
}

/**
 * Keeps the last `bytesMax` bytes; memory use is bounded by twice that whatever comes. Where the source changes in
 * the middle of a line, a new line begins, so that two sources do not run into one another.
 */
export function createOutputTail(bytesMax: number): OutputTail {
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  let isCut = false;
  let lastSource: string | null = null;
  let isInLine = false;

  const keep = (piece: Uint8Array): void => {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes <= 2 * bytesMax && pieces.length <= PIECES_MAX) return;
    const whole = joinBytes(pieces);
    isCut ||= whole.length > bytesMax;
    pieces = [whole.slice(-bytesMax)];
    bytes = Math.min(whole.length, bytesMax);
  };

  return {
    add: (source, given) => {
      if (given.length === 0) return;
      if (isInLine && lastSource !== source) keep(LINE_FEED);
      lastSource = source;
      isInLine = given.at(-1) !== LINE_FEED[0];
      keep(given.slice());
    },
    text: () => {
      const whole = joinBytes(pieces);
      const isWhole = !isCut && whole.length <= bytesMax;
      const text = new TextDecoder().decode(whole.subarray(-bytesMax));
      const newlineAt = text.indexOf("\n");
      return isWhole || newlineAt < 0 || newlineAt === text.length - 1 ? text : text.slice(newlineAt + 1);
    },
  };
}

/** A command that writes byte by byte makes many. */
const PIECES_MAX = 1024;

const LINE_FEED = new Uint8Array([10]);
