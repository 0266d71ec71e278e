/** Whether an error of TLS lasts until the server changes. */
import { startDeadline } from "../../shared/deadline.ts";
import type { Clock } from "../../domain/clock.ts";
import type { HandshakeTarget } from "../../domain/connections.ts";
import { tryHandshake } from "./try_handshake.ts";

/** A server that rejects without a response is not waited for. */
const HANDSHAKE_MS = 10_000;

/** Errors of the certificate and of the protocol version; all others may come from corrupted data. */
const LASTING =
  /invalid peer certificate|peer is incompatible|InvalidContentType|fatal alert: (?:ProtocolVersion|InsufficientSecurity|CertificateRequired)/;

/** Returns whether an error of a handshake is about the certificate or the protocol of the server. */
export function isLastingTlsError(error: unknown): boolean {
  return error instanceof Error && LASTING.test(error.message);
}

/** Does a handshake once, without sending anything. Returns whether that fails with a lasting error. */
export async function failsForGood(
  target: HandshakeTarget,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<boolean> {
  using deadline = startDeadline(clock, HANDSHAKE_MS, signal);
  try {
    await tryHandshake(target, { clock, signal: deadline.signal });
    return false;
  } catch (error) {
    return isLastingTlsError(error);
  }
}
