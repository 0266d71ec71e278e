import { connect, isIP, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { setImmediate } from "node:timers";
import type { Clock, OutgoingMail } from "../domain/system.ts";

/** A network that does not answer would else keep an attempt for minutes. */
const CONNECT_MS = 30_000;

/**
 * A connection that is gone once it is destroyed, at every moment. On Deno 2.7 `node:tls` takes a socket's handle
 * over, and a handshake that hangs then keeps it open until the server ends it; over a stream that is no socket it
 * takes nothing.
 */
export class MailSocket extends Duplex {
  readonly #socket: Socket;

  /** Takes a socket that is connected. */
  constructor(socket: Socket) {
    super({ allowHalfOpen: false });
    this.#socket = socket;
    socket.on("data", (bytes) => {
      if (!this.push(bytes)) socket.pause();
    });
    socket.on("end", () => this.push(null));
    socket.on("timeout", () => this.emit("timeout"));
    socket.on("error", (error) => this.destroy(error));
    socket.on("close", () => this.destroy());
    // An error that comes when nobody listens any more is nobody's crash.
    this.on("error", () => {});
  }

  /** The address that the name has led to; empty when the connection is over. */
  get remoteAddress(): string {
    return this.#socket.remoteAddress ?? "";
  }

  /** The address of this machine on that way. */
  get localAddress(): string {
    return this.#socket.localAddress ?? "127.0.0.1";
  }

  /** Emits `timeout` after so long without a byte; 0 for never. */
  setTimeout(timeoutMs: number): this {
    this.#socket.setTimeout(timeoutMs);
    return this;
  }

  /**
   * Refuses to write nothing: when TLS has ended, Deno 2.7 reads nothing from it and writes that here, for ever and
   * without a pause in which anything else could happen. What throws ends that.
   */
  override write(chunk: Uint8Array, ...rest: never[]): boolean {
    if (chunk.length === 0) throw new Error("There is nothing to write");
    return super.write(chunk, ...rest);
  }

  /** See `Duplex`. */
  override _read(): void {
    this.#socket.resume();
  }

  /** See `Duplex`. */
  override _write(bytes: Uint8Array, _encoding: string, done: (error?: Error | null) => void): void {
    this.#socket.write(bytes, done);
  }

  /** See `Duplex`. */
  override _final(done: () => void): void {
    this.#socket.end(done);
  }

  /** Ends the connection at once. */
  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}

/** What connecting needs. */
export interface ConnectOptions {
  /** For time limits. */
  readonly clock: Clock;
  /** Told of each step that succeeded. */
  onStep(step: string): void;
  /** Ends it all. */
  readonly signal: AbortSignal;
}

/** A connection, or why there is none. */
export type Connected = { readonly socket: MailSocket } | { readonly error: unknown };

/**
 * Connects to a mail server, in clear text whatever the port. The caller destroys the
 * socket. When the signal aborts, its reason is the error.
 */
export function connectSocket(
  { host, port }: Pick<OutgoingMail, "host" | "port">,
  { clock, onStep, signal }: ConnectOptions,
): Promise<Connected> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    let isDone = false;
    const finish = (answer: Connected): void => {
      if (isDone) return;
      isDone = true;
      cancel();
      signal.removeEventListener("abort", onAbort);
      if ("error" in answer) socket.destroy();
      resolve(answer);
    };
    // Behind what the runtime has ready: a connection that it has made but not told would be nobody's (late_abort.ts).
    const onAbort = (): void => void setImmediate(() => finish({ error: signal.reason }));
    const cancel = clock.after(CONNECT_MS, () => void setImmediate(() => finish({ error: noAnswer() })));
    signal.addEventListener("abort", onAbort);
    socket.on("lookup", (error: unknown) => {
      if (error === null && isIP(host) === 0) onStep("resolved");
    });
    // The listener stays, so that an error that comes late is nobody's crash.
    socket.on("error", (error: unknown) => finish({ error }));
    socket.once("connect", () => {
      onStep("connected");
      finish({ socket: new MailSocket(socket) });
    });
  });
}

function noAnswer(): Error {
  return Object.assign(new Error("no answer to the connection attempt"), { code: "ETIMEDOUT" });
}
