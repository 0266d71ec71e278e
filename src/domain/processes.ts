/** A program to run. It leads a process group of its own. */
export interface ProcessCommand {
  /** Absolute path. */
  readonly path: string;
  /** What follows the program's name; passed as they are. */
  readonly arguments: readonly string[];
  /** The whole environment: nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>;
  /** Working directory, absolute. */
  readonly directory: string;
  /** How long it may run before its group is ended. */
  readonly timeoutMs: number;
  /** What it reads on standard input; without it the input is empty. */
  readonly input?: string;
  /** How much of stdout and of stderr is kept, in bytes each; the rest is read and dropped. */
  readonly outputBytesMax: number;
}

/** What a program wrote to one of its pipes, decoded as UTF-8 (invalid bytes become U+FFFD). */
export interface CapturedText {
  /** The beginning of what was written, up to `outputBytesMax`. */
  readonly text: string;
  /** Whether more was written than was kept. */
  readonly truncated: boolean;
}

/** How a program ended. Its whole process group was ended when this is told, except where `survives` says so. */
export type ProcessEnd =
  | {
    readonly ended: "not_started";
    readonly reason: string;
    /** The machine was short of something (processes, memory, descriptors), so that another try can help. */
    readonly isShortage?: true;
  }
  | {
    readonly ended: "exited";
    readonly code: number;
    readonly stdout: CapturedText;
    readonly stderr: CapturedText;
    /**
     * Whether processes it left behind in its group had to be killed. Where the system's init is slow to note the
     * dead, a dead child that the program did not wait for counts too: the two look alike from here.
     */
    readonly leftovers: boolean;
  }
  | {
    readonly ended: "signalled";
    /** Such as `SIGSEGV`; a number as text where the runtime knows no name. */
    readonly signal: string;
    readonly stdout: CapturedText;
    readonly stderr: CapturedText;
  }
  | {
    readonly ended: "timed_out";
    readonly stdout: CapturedText;
    readonly stderr: CapturedText;
    /** Whether it could not be ended: another user's process, or one that is stuck in the kernel. */
    readonly survives: boolean;
  };

/** Programs. */
export interface Processes {
  /**
   * Runs a program to its end. When the signal aborts, the group is ended and the signal's reason is thrown.
   */
  run(command: ProcessCommand, signal: AbortSignal): Promise<ProcessEnd>;
}
