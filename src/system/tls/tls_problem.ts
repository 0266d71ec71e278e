/**
 * What is wrong with a server's TLS. `node:tls` does not always say it: over a socket the words are `write UNKNOWN`,
 * over a stream they are exact.
 */
import type { Clock } from "../../domain/clock.ts";
import { onAbort } from "../../shared/on_abort.ts";
import { explainRequestError } from "../http/request_failure.ts";
import { type HandshakeTarget, tryHandshake } from "./try_handshake.ts";

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
  const end = new AbortController();
  const cancel = clock.after(HANDSHAKE_MS, () => end.abort());
  const stopListening = onAbort(signal, () => end.abort());
  if (signal.aborted) end.abort();
  try {
    await tryHandshake(target, { signal: end.signal });
    return null;
  } catch (error) {
    return end.signal.aborted ? null : problemOf(error);
  } finally {
    cancel();
    stopListening();
  }
}

function problemOf(error: unknown): TlsProblem | null {
  const { phase, reason } = explainRequestError(error, "https://server.invalid");
  const isLasting = error instanceof Error && LASTING.test(error.message);
  return phase === "TLS" ? { reason, isLasting } : null;
}
