/** A command to run. It leads its own process group. */
export interface ProcessCommand {
  /** Absolute path. */
  readonly path: string;
  readonly arguments: readonly string[];
  /** The whole environment: nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>;
  /** Working directory, absolute. */
  readonly directory: string;
  readonly timeoutMs: number;
  /** Its standard input; absent: empty. */
  readonly input?: string;
  /** How many bytes of stdout and of stderr are kept each; the rest is read and dropped. */
  readonly outputBytesMax: number;
}

/** The output of a command on one pipe, decoded as UTF-8 (invalid bytes become U+FFFD). */
export interface CapturedText {
  /** The beginning of the output, up to `outputBytesMax`. */
  readonly text: string;
  readonly truncated: boolean;
}

type CapturedOutput = Readonly<Record<"stdout" | "stderr", CapturedText>>;

/** How a command ended. By then its whole process group has ended, unless `survives` is set. */
export type ProcessEnd =
  | {
    readonly ended: "not_started";
    readonly reason: string;
    /** A resource of the machine was exhausted (processes, memory, file descriptors), so that a retry can succeed. */
    readonly isShortage?: true;
  }
  | CapturedOutput & {
    readonly ended: "exited";
    readonly code: number;
    /**
     * Whether processes that it left in its group had to be killed. If the system's init is slow, this includes dead
     * children that the command did not wait for: they can't be distinguished.
     */
    readonly leftovers: boolean;
  }
  | CapturedOutput & {
    readonly ended: "signalled";
    /** Such as `SIGSEGV`; a number as text if the runtime has no name for it. */
    readonly signal: string;
  }
  | CapturedOutput & {
    readonly ended: "timed_out";
    /** Whether it could not be ended: another user's process, or one that is stuck in the kernel. */
    readonly survives: boolean;
  };

export interface Processes {
  /** Runs a command until it terminates. When the signal aborts, its group is terminated and the reason thrown. */
  run(command: ProcessCommand, signal: AbortSignal): Promise<ProcessEnd>;
}

/** How a command in the foreground ended, with the exit code that a shell would return. */
export type ForegroundEnd =
  | { readonly ended: "exited"; readonly code: number; readonly tail: string }
  | {
    readonly ended: "signalled";
    /** 128 and the number of the signal. */
    readonly code: number;
    /** Such as `SIGKILL`. */
    readonly signal: string;
    readonly tail: string;
  }
  | {
    readonly ended: "not_started";
    /** 127 if it is missing, else 126. */
    readonly code: number;
    readonly reason: string;
  };

export interface Foreground {
  /**
   * Runs a command in this process's environment, working directory and process group. It inherits the standard
   * streams, unless file descriptors are short, and gets SIGINT, SIGTERM, SIGQUIT, SIGUSR1 and SIGUSR2. Returns when
   * the command has terminated, even if another process has its streams open, with the end of its output.
   */
  run(command: readonly string[], options: { readonly tailBytesMax: number }): Promise<ForegroundEnd>;
}
