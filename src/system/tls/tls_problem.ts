/** Whether an error of TLS lasts until the server changes. */
import { startDeadline } from "../../shared/deadline.ts";
import type { Clock } from "../../domain/clock.ts";
import { type HandshakeTarget, tryHandshake } from "./try_handshake.ts";

/** A server that refuses a certificate's reader by silence is not waited for. */
const HANDSHAKE_MS = 10_000;

/** What a server shows, and what it speaks; all else may have been garbled on the way. */
const LASTING =
  /invalid peer certificate|peer is incompatible|InvalidContentType|fatal alert: (?:ProtocolVersion|InsufficientSecurity|CertificateRequired)/;

/** Whether an error of a handshake is about what the server shows or speaks. */
export function isLastingTlsError(error: unknown): boolean {
  return error instanceof Error && LASTING.test(error.message);
}

interface HandshakeOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Shakes hands once, without sending anything. Whether that fails with a lasting error. */
export async function failsForGood(
  target: HandshakeTarget,
  { clock, signal }: HandshakeOptions,
): Promise<boolean> {
  using deadline = startDeadline(clock, HANDSHAKE_MS, signal);
  try {
    await tryHandshake(target, { clock, signal: deadline.signal });
    return false;
  } catch (error) {
    return isLastingTlsError(error);
  }
}
