import type { CertificateFacts, ConnectionOptions, HandshakeTarget } from "../../domain/connections.ts";
import { onAbort } from "../../shared/on_abort.ts";
import { connectTcp, type ConnectTcpOptions } from "../tcp/connect_tcp.ts";
import { askForTls } from "./start_tls.ts";
import { clearTextOf, closeQuietly, TcpStream } from "../tcp/tcp_stream.ts";
import { beginTls, handshaken } from "./tls_stream.ts";
import type { TLSSocket } from "node:tls";
import { peerCertificate } from "../deno_workarounds/peer_certificate.ts";
import { startDeadline } from "../../shared/deadline.ts";
import type { Clock } from "../../domain/clock.ts";

/**
 * Does one handshake and closes that connection without leaking a file descriptor, regardless of the server. Returns
 * the certificate's facts, as far as the runtime reports them; rejects if it is not valid.
 */
export async function tryHandshake(
  { tls, startTls, ...target }: HandshakeTarget,
  { onPhase, clock, signal }: ConnectionOptions & ConnectTcpOptions,
): Promise<CertificateFacts | null> {
  signal.throwIfAborted();
  onPhase?.("connecting");
  const connection = await connectTcp(target, { clock, signal });
  let end = (): void => closeQuietly(connection);
  const stopListening = onAbort(signal, () => end());
  try {
    signal.throwIfAborted();
    if (startTls !== undefined) {
      onPhase?.("STARTTLS");
      await askForTls(clearTextOf(connection), startTls);
    }
    onPhase?.("TLS");
    const stream = new TcpStream(connection);
    const socket = beginTls(stream, tls, { verifies: true });
    end = () => {
      socket.destroy();
      stream.destroy();
    };
    await handshaken(socket, stream, clock);
    return certificateFacts(socket);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    stopListening();
    end();
  }
}

/** The facts of a TLS connection's certificate; `null` if the runtime doesn't report them. */
export function certificateFacts(socket: TLSSocket): CertificateFacts | null {
  const certificate = peerCertificate(socket);
  const validFromMs = Date.parse(certificate?.valid_from ?? "");
  const validToMs = Date.parse(certificate?.valid_to ?? "");
  if (certificate === null || Number.isNaN(validFromMs) || Number.isNaN(validToMs)) return null;
  const issuer = attributes(certificate.issuer);
  return {
    validFromMs,
    validToMs,
    issuer: issuer.CN ?? issuer.O ?? issuer.OU ?? "",
    isSelfSigned: JSON.stringify(issuer) === JSON.stringify(attributes(certificate.subject)),
    names: (certificate.subjectaltname ?? "").split(", ")
      .map((name) => name.replace(/^(?:DNS|IP Address):/, ""))
      .filter((name) => name !== ""),
    fingerprint: certificate.fingerprint256.replaceAll(":", "").toLowerCase(),
  };
}

/** Of several values of one attribute, the first. */
function attributes(name: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(typeof name === "object" && name !== null ? name : {});
  return Object.fromEntries(
    entries.map(([key, value]) => [key, String(Array.isArray(value) ? value[0] : value)]),
  );
}

// Whether an error of TLS lasts until the server changes.

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
