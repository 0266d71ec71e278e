/**
 * Why a mail server's certificate was refused. `node:tls` does not say it on Deno 2.7 (`write UNKNOWN`), and on 2.9
 * says little of who did not sign; the runtime's own handshake is precise on both, and trusts the same authorities.
 */
import type { Clock, OutgoingMail } from "../domain/system.ts";
import type { Protection } from "./mail_protection.ts";
import { explainRequestError } from "./request_failure.ts";

/** A server that refuses a certificate's reader by silence is not waited for. */
const HANDSHAKE_MS = 10_000;

/** What is wrong with a server's TLS. */
export interface TlsProblem {
  /** One line for people. */
  readonly reason: string;
  /** Whether it stands until somebody mends it: what the server shows is not valid. */
  readonly isLasting: boolean;
}

/** What a handshake needs. */
export interface HandshakeOptions {
  /** How TLS begins. */
  readonly protection: Protection;
  /** For time limits. */
  readonly clock: Clock;
  /** Ends it all. */
  readonly signal: AbortSignal;
}

/**
 * Shakes hands once more, without sending anything, and tells what is wrong with the certificate or with TLS at all;
 * `null` when this handshake succeeds or does not come about.
 */
export async function explainHandshake(
  { host, port }: OutgoingMail,
  { protection, clock, signal }: HandshakeOptions,
): Promise<TlsProblem | null> {
  const { promise: timeIsUp, resolve } = Promise.withResolvers<null>();
  const cancel = clock.after(HANDSHAKE_MS, () => resolve(null));
  const onAbort = (): void => resolve(null);
  signal.addEventListener("abort", onAbort);
  const attempt: Attempt = { connection: null, isOver: false };
  const target = { hostname: host, port, asksFirst: protection !== "from_start" };
  try {
    return await Promise.race([timeIsUp, shakeHands(target, attempt)]);
  } finally {
    cancel();
    signal.removeEventListener("abort", onAbort);
    attempt.isOver = true;
    close(attempt.connection);
  }
}

/** A handshake, and whether anybody still waits for it. */
interface Attempt {
  connection: Deno.Conn | null;
  isOver: boolean;
}

async function shakeHands(
  { hostname, port, asksFirst }: {
    readonly hostname: string;
    readonly port: number;
    readonly asksFirst: boolean;
  },
  attempt: Attempt,
): Promise<TlsProblem | null> {
  const hold = <C extends Deno.Conn>(connection: C): C => {
    if (attempt.isOver) close(connection);
    else attempt.connection = connection;
    return connection;
  };
  try {
    const connection = hold(await Deno.connect({ hostname, port }));
    if (asksFirst) await askForTls(connection);
    await hold(await Deno.startTls(connection, { hostname })).handshake();
    return null;
  } catch (error) {
    const { phase, reason } = explainRequestError(error, "https://server.invalid");
    const isLasting = error instanceof Deno.errors.InvalidData;
    return phase === "TLS" ? { reason, isLasting } : null;
  }
}

/** The conversation up to the handshake (RFC 3207). */
async function askForTls(connection: Deno.Conn): Promise<void> {
  await readReply(connection);
  await send(connection, "EHLO [127.0.0.1]\r\n");
  await readReply(connection);
  await send(connection, "STARTTLS\r\n");
  await readReply(connection);
}

async function send(connection: Deno.Conn, line: string): Promise<void> {
  await connection.write(new TextEncoder().encode(line));
}

const REPLY_LENGTH_MAX = 65_536;

/** Reads to the end of a reply: its last line has a space after the code. */
async function readReply(connection: Deno.Conn): Promise<void> {
  const buffer = new Uint8Array(4096);
  let reply = "";
  while (!/^\d{3}(?: .*)?\r?\n$/m.test(reply)) {
    const count = await connection.read(buffer);
    if (count === null || reply.length > REPLY_LENGTH_MAX) throw new Error("No reply");
    reply += new TextDecoder().decode(buffer.subarray(0, count));
  }
}

function close(connection: Deno.Conn | null): void {
  try {
    connection?.close();
  } catch {
    // It has ended by itself.
  }
}
