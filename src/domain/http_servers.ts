export interface ListenAddress {
  /** An IP address without brackets, or `localhost`. */
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

export interface IncomingRequest {
  readonly method: string;
  /** Path and query as they were sent; begins with a slash. */
  readonly target: string;
  /** The IP address of the client, or of the proxy between. */
  readonly address: string;
  /** The value of a header by its name in small letters, those of a repeated one joined; `null`: it is not there. */
  header(name: string): string | null;
  /** Reads the body and returns its last bytes, at most so many. Throws if the client leaves, or the body is malformed. */
  readTail(bytesMax: number): Promise<Uint8Array>;
}

/** A response of the server, which adds the headers of the connection. */
export interface ServerResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Not sent in response to HEAD. Parts are sent as they come; if they fail, the connection ends without the mark of the
   * end, so that the client notices it.
   */
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array>;
}

export interface HttpServer {
  readonly port: number;
  /** Stops listening and ends every connection at once. */
  close(): Promise<void>;
}

export interface ServeOptions {
  /** Returns the response. An error becomes status 500. */
  handle(request: IncomingRequest): Promise<ServerResponse>;
  onBug(error: unknown): void;
}

/** Servers for HTTP/1.1. They use a bounded share of time, however many requests clients send. */
export interface HttpServers {
  /** Rejects with a {@linkcode ListenError} if nothing can listen there. */
  listen(address: ListenAddress, options: ServeOptions): Promise<HttpServer>;
}

/** Thrown if the address cannot be listened on. The message is for people. */
export class ListenError extends Error {
  override readonly name = "ListenError";
}

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
  send(path: string, line: string, options?: { readonly timeoutMs?: number }): Promise<string | null>;
}

/** Thrown when a directory is not private, or a process does not respond. The message is for people. */
export class ControlSocketError extends Error {
  override readonly name = "ControlSocketError";
}
