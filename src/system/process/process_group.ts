import type { Clock } from "../../domain/clock.ts";
import { explainSpawnFailure } from "./spawn_failure.ts";

/**
 * Terminates a command with all processes that it started.
 *
 * A command is started as the leader of its own process group, so the group's id is the leader's process id and `-id`
 * reaches every process that did not leave the group by itself.
 *
 * Why signalling an id is safe after the leader was reaped: the kernel does not assign an id again while any process
 * has it as its group, so a group with remaining processes is ours. Once the group is empty its id is free, but ids
 * are assigned in a cycle: it is reused only after every other id of the system (32768 at the very least). Callers
 * therefore stop signalling as soon as one signal found no process, and never signal later than a fraction of a
 * second after the leader has exited. Signal 0 and SIGKILL to an empty group do nothing.
 */
export interface ProcessGroups {
  /**
   * Returns the reason why the group of the command at `path` could not be terminated, or `undefined` if it can be.
   * Otherwise no command is started: termination keeps a hanging target from affecting anything else.
   */
  obstacle(path: string): Promise<string | undefined>;
  /** Signals every process of the group, the leader being one while it lives. */
  signal(leader: Deno.ChildProcess, signal: GroupSignal): Promise<GroupAnswer>;
  /** Kills a group without waiting, for the moment this process exits. */
  killAtExit(leader: Deno.ChildProcess): void;
}

type GroupSignal = "SIGTERM" | "SIGKILL" | 0;

/**
 * The targets of a signal: a process, none, or only processes that may not be signalled (another user's). A dead
 * process that its parent has not waited for yet counts as a process.
 */
type GroupAnswer = "sent" | "nobody" | "refused";

/** Signals a group: `Deno.kill` needs `--allow-run` without a list. A list must contain this. */
export const KILL_COMMAND_PATH = Deno.build.os === "darwin" ? "/bin/kill" : "/usr/bin/kill";

export function createProcessGroups(clock: Clock, killPath: string = KILL_COMMAND_PATH): ProcessGroups {
  return Deno.build.os === "windows" ? createWindowsGroups() : createUnixGroups(clock, killPath);
}

function createUnixGroups(clock: Clock, killPath: string): ProcessGroups {
  let isKillCommandKnownToRun = false;
  return {
    obstacle: async (path) => {
      if (isKillCommandKnownToRun) return undefined;
      if (Deno.permissions.querySync({ name: "run" }).state === "granted") return undefined;
      try {
        await killCommand(killPath, ["-l"]).output();
        isKillCommandKnownToRun = true;
        return undefined;
      } catch (error) {
        if (error instanceof Deno.errors.NotCapable) return `needs --allow-run=${path},${killPath}`;
        const reason = await explainSpawnFailure(error, { path: killPath, directory: "/", clock });
        return `cannot run "${killPath}", which terminates leftover processes: ${reason}`;
      }
    },
    signal: async (leader, signal) => {
      try {
        return signalDirectly(leader, signal);
      } catch (error) {
        if (!(error instanceof Deno.errors.NotCapable)) throw error;
      }
      try {
        const { success } = await killCommand(killPath, groupArguments(leader, signal)).output();
        return success ? "sent" : "nobody";
      } catch {
        // It ran before, so the system is short of something, such as processes. The leader can be had without.
        signalLeader(leader, signal);
        return "refused";
      }
    },
    killAtExit: (leader) => {
      try {
        signalDirectly(leader, "SIGKILL");
      } catch {
        try {
          killCommand(killPath, groupArguments(leader, "SIGKILL")).outputSync();
        } catch {
          // Nothing more can be done while exiting, and the other groups still wait for their turn.
        }
      }
    },
  };
}

/** Windows has no groups: only the command itself is terminated. */
function createWindowsGroups(): ProcessGroups {
  return {
    obstacle: () => Promise.resolve(undefined),
    signal: (leader, signal) => Promise.resolve(signalLeader(leader, signal)),
    killAtExit: (leader) => {
      signalLeader(leader, "SIGKILL");
    },
  };
}

/** @throws {Deno.errors.NotCapable} If `--allow-run` was given with a list, or not at all. */
function signalDirectly(leader: Deno.ChildProcess, signal: GroupSignal): GroupAnswer {
  try {
    // The runtime accepts 0 as the system does; its types have only names.
    Deno.kill(-leader.pid, signal as Deno.Signal);
    return "sent";
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "nobody";
    if (error instanceof Deno.errors.PermissionDenied) return "refused";
    throw error;
  }
}

function signalLeader(leader: Deno.ChildProcess, signal: GroupSignal): GroupAnswer {
  if (signal === 0) return "nobody";
  try {
    leader.kill(signal);
    return "sent";
  } catch {
    return "nobody"; // the runtime's error once it has waited for the child
  }
}

function killCommand(path: string, killArguments: readonly string[]): Deno.Command {
  return new Deno.Command(path, {
    args: [...killArguments],
    clearEnv: true,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  });
}

function groupArguments(leader: Deno.ChildProcess, signal: GroupSignal): readonly string[] {
  return [signal === 0 ? "-0" : `-${signal.slice("SIG".length)}`, "--", `-${leader.pid}`];
}
