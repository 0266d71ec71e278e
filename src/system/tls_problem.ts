/**
 * What is wrong with a server's TLS. `node:tls` does not always say it: over a socket on Deno 2.7 the words are `write
 * UNKNOWN`, over a stream they are exact there, and on 2.9 it says little of who did not sign. The runtime's own
 * handshake is exact on both, and trusts the same authorities; yet one that hangs cannot be ended.
 */
import type { Clock, ConnectionTarget, StartTlsProtocol, TlsExpectations } from "../domain/system.ts";
import { onAbort } from "../domain/on_abort.ts";
import { connectTcp } from "./connect_tcp.ts";
import type { HangingLimit } from "./hanging_limit.ts";
import { explainRequestError } from "./request_failure.ts";
import { askForTls } from "./start_tls.ts";
import { clearTextOf, closeQuietly, TcpStream, withoutBrackets } from "./tcp_stream.ts";
import { beginTls, shakeHands } from "./tls_stream.ts";
import { explainTrustError } from "./trust.ts";

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
  /** Counts handshakes of the runtime's that hang: they cannot be ended, and nothing tells when the server ends them. */
  readonly hanging: HangingLimit;
  /** Ends it all. */
  readonly signal: AbortSignal;
}

/**
 * Shakes hands once more, without sending anything, and tells what is wrong with the certificate or with TLS at all;
 * `null` when this handshake succeeds or does not come about.
 */
export function explainHandshake(
  target: HandshakeTarget,
  options: HandshakeOptions,
): Promise<TlsProblem | null> {
  return withinTime(options, async (attempt) => {
    const error = await overStream(target, attempt);
    // A server that has just shown its certificate hardly hangs in the next handshake.
    return isVague(error) ? problemOf(await overRuntime(target, attempt, options.hanging)) : problemOf(error);
  });
}

/** The same where a handshake over a stream has just said too little (see {@linkcode isVague}). */
export function explainRefusal(
  target: HandshakeTarget,
  options: HandshakeOptions,
): Promise<TlsProblem | null> {
  return withinTime(
    options,
    async (attempt) => problemOf(await overRuntime(target, attempt, options.hanging)),
  );
}

/** Codes and words with which `node:tls` refuses a certificate on Deno 2.9. */
const VAGUE = /certificate|altnames|CERT_|UNABLE_TO_/i;
/** What the runtime's own TLS says, of the certificate or in the words of the server, is exact. */
const EXACT = /invalid peer certificate|received fatal alert/;

/** Whether an error of a handshake over a stream says that a certificate is not accepted, and not exactly why. */
export function isVague(error: unknown): boolean {
  if (!(error instanceof Error) || EXACT.test(error.message) || explainTrustError(error) !== null) {
    return false;
  }
  return VAGUE.test(`${error.message} ${"code" in error ? String(error.code) : ""}`);
}

/** A handshake. */
interface Attempt {
  /** Lets go of what it holds by now; called whenever nobody waits for it any more. */
  end(): void;
  /** Aborts then. */
  readonly signal: AbortSignal;
}

async function withinTime(
  { clock, signal }: HandshakeOptions,
  explain: (attempt: Attempt) => Promise<TlsProblem | null>,
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
  const attempt: Attempt = { end: () => {}, signal: end.signal };
  try {
    return await Promise.race([timeIsUp, explain(attempt)]);
  } finally {
    cancel();
    stopListening();
    end.abort();
    attempt.end();
  }
}

function problemOf(error: unknown): TlsProblem | null {
  if (error === null) return null;
  const { phase, reason } = explainRequestError(error, "https://server.invalid");
  const isLasting = error instanceof Error && LASTING.test(error.message);
  return phase === "TLS" ? { reason, isLasting } : null;
}

/** Answers what it fails with; `null` when it succeeds. A handshake that hangs leaves nothing behind. */
async function overStream(target: HandshakeTarget, attempt: Attempt): Promise<unknown> {
  try {
    const stream = new TcpStream(await beginConnection(target, attempt));
    const socket = beginTls(stream, target.tls, { verifies: true });
    hold(attempt, () => {
      socket.destroy();
      stream.destroy();
    });
    await shakeHands(socket, stream, () => {});
    return null;
  } catch (error) {
    return error;
  } finally {
    attempt.end();
  }
}

/** The same by the runtime, which knows more words; `null` as well where earlier ones still hang. */
async function overRuntime(
  target: HandshakeTarget,
  attempt: Attempt,
  hanging: HangingLimit,
): Promise<unknown> {
  if (hanging.isReached(target)) return null;
  try {
    const secured = await Deno.startTls(await beginConnection(target, attempt), {
      hostname: withoutBrackets(target.tls.serverName),
      caCerts: [...target.tls.authorities],
    });
    let isOver = false;
    hold(attempt, () => {
      if (!isOver) hanging.addLost(target);
      closeQuietly(secured);
    });
    await secured.handshake().finally(() => isOver = true);
    return null;
  } catch (error) {
    return error;
  } finally {
    attempt.end();
  }
}

async function beginConnection(target: HandshakeTarget, attempt: Attempt): Promise<Deno.TcpConn> {
  const connection = await connectTcp(target, attempt.signal);
  hold(attempt, () => closeQuietly(connection));
  if (target.startTls !== undefined) await askForTls(clearTextOf(connection), target.startTls);
  return connection;
}

function hold(attempt: Attempt, end: () => void): void {
  attempt.end = end;
  if (attempt.signal.aborted) end();
}
