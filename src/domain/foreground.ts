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
