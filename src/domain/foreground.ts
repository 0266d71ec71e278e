/** How a command that ran in our place ended, with the exit code that a shell would give it. */
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
    /** 127 where it is not there, else 126. */
    readonly code: number;
    readonly reason: string;
  };

/** Somebody else's command in our place. */
export interface Foreground {
  /**
   * Runs a program with its arguments in our environment, working directory and process group. Its standard streams are
   * ours, except where descriptors are short; SIGINT, SIGTERM, SIGQUIT, SIGUSR1 and SIGUSR2 are passed on. Comes back when the program has gone, whoever else holds its streams
   * still. Of what it printed the end is told.
   */
  run(command: readonly string[], options: { readonly tailBytesMax: number }): Promise<ForegroundEnd>;
}
