import type { Clock } from "../../domain/clock.ts";
import { explainSpawnFailure } from "./spawn_failure.ts";

/**
 * Ending a program together with everything it started.
 *
 * A program is started as the leader of a process group of its own, so the group's id is the leader's process
 * id and `-id` reaches every process that did not leave the group by itself.
 *
 * Why signalling an id is safe after the leader was reaped: the kernel does not give out an id again while any
 * process has it as its group, so a group that still has members is ours. Once the group is empty its id is
 * free, but ids are handed out in a circle: it comes up again only after every other id of the system had its
 * turn (32768 at the very least). Callers therefore stop signalling as soon as one signal found nobody, and
 * never signal later than a fraction of a second after the leader has gone. Signal 0 and SIGKILL to an empty
 * group do nothing.
 */
export interface ProcessGroups {
  /**
   * Why the group of the program at `path` could not be ended, or `undefined` when it can be. Without that no
   * program is started: it is what keeps a hanging target from hurting anything else.
   */
  obstacle(path: string): Promise<string | undefined>;
  /** Signals every process of the group, the leader being one while it lives. */
  signal(leader: Deno.ChildProcess, signal: GroupSignal): Promise<GroupAnswer>;
  /** Kills a group without waiting, for the moment this process exits. */
  killAtExit(leader: Deno.ChildProcess): void;
}

/** A signal, or 0 to ask whether there is anybody. */
type GroupSignal = "SIGTERM" | "SIGKILL" | 0;

/**
 * The targets of a signal: a process, none, or only processes that may not be signalled (another user's). A dead
 * process that its parent has not waited for yet counts as a process.
 */
type GroupAnswer = "sent" | "nobody" | "refused";

/**
 * The command that signals a group if the runtime may not: `Deno.kill` needs `--allow-run` without a list. A list must
 * contain this.
 */
export const KILL_COMMAND_PATH = Deno.build.os === "darwin" ? "/bin/kill" : "/usr/bin/kill";

/** Process groups of this machine. */
export function createProcessGroups(clock: Clock, killPath: string = KILL_COMMAND_PATH): ProcessGroups {
  return Deno.build.os === "windows" ? createWindowsGroups() : createUnixGroups(clock, killPath);
}

function createUnixGroups(clock: Clock, killPath: string): ProcessGroups {
  let isKillCommandKnownToRun = false;
  return {
    obstacle: async (path) => {
      if (isKillCommandKnownToRun || mayRunAnything()) return undefined;
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
        killAtExitByCommand(killPath, leader);
      }
    },
  };
}

function killAtExitByCommand(killPath: string, leader: Deno.ChildProcess): void {
  try {
    killCommand(killPath, groupArguments(leader, "SIGKILL")).outputSync();
  } catch {
    // Nothing more can be done while exiting, and the other groups still wait for their turn.
  }
}

/** Windows has no groups: only the program itself is ended. */
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
    // The runtime takes 0 as the system does; its types only know names.
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
    return "nobody"; // the runtime's answer once it has waited for the child
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

function mayRunAnything(): boolean {
  return Deno.permissions.querySync({ name: "run" }).state === "granted";
}
