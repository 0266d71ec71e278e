import { endsWithin, pause, startDeadline, unlessAborted } from "../../shared/deadline.ts";
import type { Clock } from "../../domain/clock.ts";
import type { CapturedText, ProcessCommand, ProcessEnd, Processes } from "../../domain/processes.ts";
import { type ChildEnd, endOf } from "../deno_workarounds/real_time_signals.ts";
import { createProcessGroups, explainSpawnFailure, type ProcessGroups } from "./process_group.ts";
import { joinBytes } from "../../shared/text.ts";

interface ProcessesOptions {
  /** How long a group has between SIGTERM and SIGKILL. @default {2000} */
  readonly terminationGraceMs?: number;
  /**
   * How long a killed command may take to exit. On a busy machine it takes its time; one that is stuck in the kernel (a hung
   * disk) never does. @default {5000}
   */
  readonly killWaitMs?: number;
  /** The command that signals groups under `--allow-run` with a list. @default {KILL_COMMAND_PATH} */
  readonly killPath?: string;
}

/** How long the pipes may stay open after the leader has gone. */
const HELD_PIPES_MS = 200;

/**
 * When to check whether the group is empty after the leader has gone, each a wait after the last check. So a process
 * that was about to end, or that the system's init had not reaped, is not reported as left behind.
 */
const EMPTY_GROUP_WAITS_MS = [0, 10, 40, 150] as const;

/**
 * Runs commands of this machine, each in its own process group that is terminated with it.
 *
 * Invariants: `run` returns at most `terminationGraceMs`, `killWaitMs` and about 0.5 s after the timeout or an abort, whatever
 * the command does. When this process exits by itself, the groups that still run are killed with it.
 */
export function createProcesses(clock: Clock, options: ProcessesOptions = {}): Processes {
  const groups = createProcessGroups(clock, options.killPath);
  const { terminationGraceMs = 2000, killWaitMs = 5000 } = options;
  const running = new Set<Deno.ChildProcess>();
  globalThis.addEventListener("unload", () => {
    for (const leader of running) groups.killAtExit(leader);
  });

  const run = async (command: ProcessCommand, signal: AbortSignal): Promise<ProcessEnd> => {
    signal.throwIfAborted();
    const obstacle = await groups.obstacle(command.path);
    if (obstacle !== undefined) return { ended: "not_started", reason: obstacle };
    signal.throwIfAborted();
    let leader: Deno.ChildProcess;
    try {
      leader = start(command);
    } catch (error) {
      const reason = await explainSpawnFailure(error, { ...command, clock });
      return { ended: "not_started", reason, ...(isShortage(error) && { isShortage: true }) };
    }
    running.add(leader);
    try {
      const end = await follow(leader, { command, signal, clock, groups, terminationGraceMs, killWaitMs });
      signal.throwIfAborted();
      return end;
    } finally {
      running.delete(leader);
    }
  };
  return { run };
}

function start(command: ProcessCommand): Deno.ChildProcess {
  return new Deno.Command(command.path, {
    args: [...command.arguments],
    clearEnv: true,
    env: { ...command.environment },
    cwd: command.directory,
    detached: true,
    stdin: command.input === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** Transient shortages: EAGAIN, ENOMEM, EMFILE, ENFILE, ETXTBSY. Not all have a code. */
const SHORTAGE =
  /Resource temporarily unavailable|Cannot allocate memory|Too many open files|Text file busy|\(os error (?:11|12|23|24|26)\)/;

function isShortage(error: unknown): boolean {
  return Deno.build.os !== "windows" && error instanceof Error && SHORTAGE.test(error.message);
}

/** Writes the input of the command. One that does not read it to the end is no error, and blocks nothing. */
function feed(leader: Deno.ChildProcess, input: string): void {
  const writer = leader.stdin.getWriter();
  writer.write(new TextEncoder().encode(input)).then(() => writer.close()).catch(() => {});
}

interface Following {
  readonly command: ProcessCommand;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly groups: ProcessGroups;
  readonly terminationGraceMs: number;
  readonly killWaitMs: number;
}

async function follow(leader: Deno.ChildProcess, following: Following): Promise<ProcessEnd> {
  const { command, clock, groups, terminationGraceMs, killWaitMs } = following;
  const stdout = capturePipe(leader.stdout, { bytesMax: command.outputBytesMax, clock });
  const stderr = capturePipe(leader.stderr, { bytesMax: command.outputBytesMax, clock });
  const pipesEnded = Promise.all([stdout.ended, stderr.ended]);
  const departure = endOf(leader);
  if (command.input !== undefined) feed(leader, command.input);

  const exited = await exitsInTime(departure, following);
  let hasGone = exited;
  if (!hasGone) {
    await groups.signal(leader, "SIGTERM");
    hasGone = await endsWithin(clock, terminationGraceMs, departure);
  }
  let leftovers = false;
  if (hasGone) {
    leftovers = await endRemains(leader, { pipesEnded, clock, groups });
  } else {
    await groups.signal(leader, "SIGKILL");
    // After a stall, timers fire before the runtime reports that the command has exited: the second wait sees that.
    hasGone = await endsWithin(clock, killWaitMs, departure) || await endsWithin(clock, 1, departure);
    // Its last output is still in the pipes.
    if (hasGone) await endsWithin(clock, HELD_PIPES_MS, pipesEnded);
  }

  const texts = { stdout: await stdout.stop(), stderr: await stderr.stop() };
  if (!exited) return { ended: "timed_out", survives: !hasGone, ...texts };
  const { code, signal } = await departure;
  return signal === null
    ? { ended: "exited", code, leftovers, ...texts }
    : { ended: "signalled", signal, ...texts };
}

/**
 * Ends the processes that a leader has left in its group, and returns whether there were any. Those with open pipes get a
 * moment to finish. One that left the group escapes, but our ends of the pipes are closed.
 */
async function endRemains(
  leader: Deno.ChildProcess,
  { pipesEnded, clock, groups }: {
    readonly pipesEnded: Promise<unknown>;
    readonly clock: Clock;
    readonly groups: ProcessGroups;
  },
): Promise<boolean> {
  if (await endsWithin(clock, HELD_PIPES_MS, pipesEnded)) {
    for (const waitMs of EMPTY_GROUP_WAITS_MS) {
      if (waitMs > 0) await pause(clock, waitMs);
      if (await groups.signal(leader, 0) !== "sent") return false;
    }
  }
  return await groups.signal(leader, "SIGKILL") === "sent";
}

/** Waits until a leader exits; `false`: time was up before, or the signal aborted. */
async function exitsInTime(
  departure: Promise<ChildEnd>,
  { command, signal, clock }: Following,
): Promise<boolean> {
  using deadline = startDeadline(clock, command.timeoutMs, signal);
  return await unlessAborted(departure, deadline.signal).then(() => true, () => false);
}

/** The number of bytes that are read at full speed; a command that writes more is slowed down. */
const FULL_SPEED_BYTES_MAX = 64 * 1024 * 1024;

/** After each read (64 KiB at most) beyond that: a flood without end then costs a tenth of a core instead of one. */
const PAUSE_MS = 1;

/** Starts reading `stream`. Memory use is bounded by `bytesMax` whatever is written. */
function capturePipe(
  stream: ReadableStream<Uint8Array>,
  { bytesMax, clock }: { readonly bytesMax: number; readonly clock: Clock },
) {
  const reader = stream.getReader();
  const kept: Uint8Array[] = [];
  let keptBytes = 0;
  let seenBytes = 0;

  const readToEnd = async (): Promise<void> => {
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        seenBytes += value.length;
        const part = value.subarray(0, bytesMax - keptBytes);
        if (part.length > 0) kept.push(part);
        keptBytes += part.length;
        if (seenBytes > FULL_SPEED_BYTES_MAX) await pause(clock, PAUSE_MS);
      }
    } catch {
      // A pipe that fails is a pipe that ended: the data read so far counts.
    }
  };

  const ended = readToEnd();
  return {
    /** Resolves when no process has the other end open any more, or after `stop`; never rejects. */
    ended,
    /** Closes our end, even if other processes have the other one open, and returns the kept text. */
    stop: async (): Promise<CapturedText> => {
      await reader.cancel().catch(() => {}); // a pipe that failed
      await ended;
      const truncated = seenBytes > keptBytes;
      // As a stream, the decoder keeps back a character that our cut has split, instead of making it U+FFFD.
      return { text: new TextDecoder().decode(joinBytes(kept), { stream: truncated }), truncated };
    },
  };
}
