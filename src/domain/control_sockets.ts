/** Sockets by which commands talk to a running service of the same user. */
export interface ControlSockets {
  /**
   * Listens at a path, in a directory that only its owner may enter and that is created if it is missing. Each
   * connection sends one line, and receives the return value of `handle`. Returns a function that stops the server.
   *
   * Rejects with a {@linkcode ControlSocketError} if others could enter the directory, else with the runtime's
   * errors.
   */
  listen(path: string, handle: (line: string) => Promise<string>): Promise<() => Promise<void>>;
  /**
   * Sends a line, and returns the response; `null`: no process listens there. Rejects with a {@linkcode ControlSocketError}
   * if that does not take the line in time, by default within 10 seconds.
   */
  send(
    path: string,
    line: string,
    options?: { readonly timeoutMs?: number },
  ): Promise<string | null>;
}

/** Thrown when a directory is not private, or a process does not respond. The message is for people. */
export class ControlSocketError extends Error {
  override readonly name = "ControlSocketError";
}
