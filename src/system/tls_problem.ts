/**
 * What is wrong with a server's TLS. `node:tls` does not always say it: over a socket on Deno 2.7 the words are `write
 * UNKNOWN`, and on 2.9 it says little of who did not sign. The runtime's own handshake is precise on both, and trusts
 * the same authorities.
 */
import type { Clock, ConnectionTarget, StartTlsProtocol, TlsExpectations } from "../domain/system.ts";
import { onAbort } from "../domain/on_abort.ts";
import { connectTcp } from "./connect_tcp.ts";
import { explainRequestError } from "./request_failure.ts";
import { askForTls } from "./start_tls.ts";
import { clearTextOf, closeQuietly, withoutBrackets } from "./tcp_stream.ts";

/** A server that refuses a certificate's reader by silence is not waited for. */
const HANDSHAKE_MS = 10_000;

/** What a server shows, and what it speaks; all else may have been garbled on the way. */
const LASTING =
  /invalid peer certificate|peer is incompatible|InvalidContentType|fatal alert: (?:ProtocolVersion|InsufficientSecurity|CertificateRequired)/;

/** What is wrong with a server's TLS. */
export interface TlsProblem {
  /** One line for people. */
  readonly reason: string;
  /** Whether it stands until somebody mends it: what the server shows is not valid. */
  readonly isLasting: boolean;
}

/** With whom to shake hands, and how TLS begins. */
export interface HandshakeTarget extends ConnectionTarget {
  /** Whom the certificate must be for. */
  readonly tls: TlsExpectations;
  /** Without it: TLS from the start. */
  readonly startTls?: StartTlsProtocol;
}

/** What a handshake needs. */
export interface HandshakeOptions {
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
  target: HandshakeTarget,
  { clock, signal }: HandshakeOptions,
): Promise<TlsProblem | null> {
  const { promise: timeIsUp, resolve } = Promise.withResolvers<null>();
  const end = new AbortController();
  const stop = (): void => {
    resolve(null);
    end.abort();
  };
  const cancel = clock.after(HANDSHAKE_MS, stop);
  const stopListening = onAbort(signal, stop);
  if (signal.aborted) stop();
  const attempt: Attempt = { connection: null, signal: end.signal };
  try {
    return await Promise.race([timeIsUp, shakeHands(target, attempt)]);
  } finally {
    cancel();
    stopListening();
    end.abort();
    if (attempt.connection !== null) closeQuietly(attempt.connection);
  }
}

/** A handshake; its signal aborts when nobody waits for it any more. */
interface Attempt {
  connection: Deno.Conn | null;
  readonly signal: AbortSignal;
}

async function shakeHands(target: HandshakeTarget, attempt: Attempt): Promise<TlsProblem | null> {
  const { tls, startTls } = target;
  const hold = <C extends Deno.Conn>(connection: C): C => {
    if (attempt.signal.aborted) closeQuietly(connection);
    else attempt.connection = connection;
    return connection;
  };
  try {
    const connection = hold(await connectTcp(target, attempt.signal));
    if (startTls !== undefined) await askForTls(clearTextOf(connection), startTls);
    const secured = await Deno.startTls(connection, {
      hostname: withoutBrackets(tls.serverName),
      caCerts: [...tls.authorities],
    });
    await hold(secured).handshake();
    return null;
  } catch (error) {
    const { phase, reason } = explainRequestError(error, "https://server.invalid");
    const isLasting = error instanceof Error && LASTING.test(error.message);
    return phase === "TLS" ? { reason, isLasting } : null;
  }
}
