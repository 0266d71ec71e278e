import { isIP } from "node:net";
import { onAbort } from "../../shared/on_abort.ts";
import type { Clock } from "../../domain/clock.ts";
import type { OutgoingMail } from "../../domain/mail.ts";
import { connectTcp } from "../tcp/connect_tcp.ts";
import { lookUpName } from "../tcp/look_up_name.ts";
import { TcpStream, withoutBrackets } from "../tcp/tcp_stream.ts";

/** A connection as nodemailer uses it: a stream that tells its addresses, and when it has long been silent. */
export class MailSocket extends TcpStream {
  /** The address that the name has led to. */
  readonly remoteAddress: string;
  /** The address of this machine on that way. */
  readonly localAddress: string;
  readonly #clock: Clock;
  #silenceMs = 0;
  #cancel = (): void => {};

  /** Takes a connection over. */
  constructor(connection: Deno.TcpConn, clock: Clock) {
    super(connection, { allowHalfOpen: false });
    this.remoteAddress = connection.remoteAddr.hostname;
    this.localAddress = connection.localAddr.hostname;
    this.#clock = clock;
  }

  /** Emits `timeout` after so long without a byte; 0 for never. */
  setTimeout(silenceMs: number): this {
    this.#silenceMs = silenceMs;
    this.#listenAnew();
    return this;
  }

  /** See `Duplex`. */
  override push(bytes: Uint8Array | null): boolean {
    this.#listenAnew();
    return super.push(bytes);
  }

  /** See `Duplex`. */
  override _write(bytes: Uint8Array, encoding: string, done: (error?: Error | null) => void): void {
    this.#listenAnew();
    super._write(bytes, encoding, done);
  }

  /** Ends the connection at once. */
  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#cancel();
    super._destroy(error, done);
  }

  #listenAnew(): void {
    this.#cancel();
    if (this.#silenceMs === 0 || this.destroyed) return;
    this.#cancel = this.#clock.after(this.#silenceMs, () => this.emit("timeout"));
  }
}

/** A network that does not answer would else keep an attempt for minutes. */
const CONNECT_MS = 30_000;

/** What connecting needs. */
export interface ConnectOptions {
  /** For time limits. */
  readonly clock: Clock;
  /** Told of each step that succeeded. */
  onStep(step: string): void;
  /** Ends it all. */
  readonly signal: AbortSignal;
}

/**
 * Connects to a mail server, in clear text whatever the port. The caller destroys the socket. Rejects with the signal's
 * reason, or with the system's error.
 */
export async function connectSocket(
  { host, port }: Pick<OutgoingMail, "host" | "port">,
  { clock, onStep, signal }: ConnectOptions,
): Promise<MailSocket> {
  signal.throwIfAborted();
  const end = new AbortController();
  const stopListening = onAbort(signal, () => end.abort(signal.reason));
  const cancel = clock.after(CONNECT_MS, () => end.abort(noAnswer()));
  try {
    const target = { host: withoutBrackets(host), port };
    if (isIP(target.host) === 0) {
      await lookUpName(target, end.signal);
      onStep("resolved");
    }
    const connection = await connectTcp(target, end.signal);
    onStep("connected");
    return new MailSocket(connection, clock);
  } finally {
    cancel();
    stopListening();
  }
}

function noAnswer(): Error {
  return Object.assign(new Error("no answer to the connection attempt"), { code: "ETIMEDOUT" });
}
