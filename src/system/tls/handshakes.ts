import type {
  CertificateFacts,
  ConnectionOptions,
  HandshakeTarget,
  TlsExpectations,
} from "../../domain/connections.ts";
import { onAbort, startDeadline } from "../../shared/deadline.ts";
import { connectTcp, type ConnectTcpOptions } from "../tcp/connect_tcp.ts";
import { askForTls, type ClearText } from "./start_tls.ts";
import { clearTextOf, closeQuietly, TcpStream, withoutBrackets } from "../tcp/tcp_stream.ts";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { endProperly, hasShakenHands, peerCertificate } from "../deno_workarounds/node_tls.ts";
import type { Clock } from "../../domain/clock.ts";
import { connect, isIP, type Socket } from "node:net";
import { answerLookup } from "../deno_workarounds/all_addresses.ts";
import { HangingLimit } from "../deno_workarounds/hanging_limit.ts";
import type { Duplex } from "node:stream";
import { requireTrust } from "./trust.ts";

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
function certificateFacts(socket: TLSSocket): CertificateFacts | null {
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
  { clock, signal }: ConnectTcpOptions,
): Promise<boolean> {
  using deadline = startDeadline(clock, HANDSHAKE_MS, signal);
  try {
    await tryHandshake(target, { clock, signal: deadline.signal });
    return false;
  } catch (error) {
    return isLastingTlsError(error);
  }
}

interface UnverifiedConnection {
  readonly facts: CertificateFacts;
  readonly socket: TLSSocket;
  close(): void;
}

/** Connects to a server whatever its certificate is; `null` if that fails. Rejects with the signal's reason only. */
export type UnverifiedConnect = (
  target: HandshakeTarget,
  signal: AbortSignal,
) => Promise<UnverifiedConnection | null>;

/**
 * Creates connections that do not verify certificates. Each uses a socket: over anything else Deno 2.7 does not
 * expose the certificate. There, connecting or a handshake that hangs cannot be aborted without leaking the file
 * descriptor, so such a socket stays open until the server or the system closes it; there are never more than a few
 * for a server.
 *
 * Such a handshake does not verify either that the server has the key of its certificate.
 */
export function createUnverifiedConnect(clock: Clock): UnverifiedConnect {
  const hanging = new HangingLimit(() => clock.monotonicMs());
  return async (target, signal) => {
    if (hanging.isReached(target)) return null;
    signal.throwIfAborted();
    const attempt = begin(target, clock);
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const stopListening = onAbort(signal, () => {
      if (attempt.canEnd()) attempt.end();
      else hanging.add(target, attempt.connection);
      void attempt.connection.then((connection) => connection?.close());
      reject(signal.reason);
    });
    try {
      return await Promise.race([aborted, attempt.connection]);
    } finally {
      stopListening();
    }
  };
}

function begin(target: HandshakeTarget, clock: Clock) {
  const { address } = target;
  const socket = connect({
    host: withoutBrackets(target.host),
    port: target.port,
    ...address !== undefined && { lookup: answerLookup(address), autoSelectFamily: false },
  });
  let isTalking = false;
  const open = async (): Promise<UnverifiedConnection | null> => {
    let secured: TLSSocket | null = null;
    const close = (): void => {
      secured?.destroy();
      socket.destroy();
    };
    try {
      await connected(socket);
      if (target.startTls !== undefined) {
        isTalking = true;
        await askForTls(clearTextOfSocket(socket), target.startTls);
        isTalking = false;
      }
      secured = beginTls(socket, target.tls, { verifies: false });
      await handshaken(secured, socket, clock);
      const facts = certificateFacts(secured);
      if (facts !== null) return { facts, socket: secured, close };
    } catch {
      // It failed, whatever the reason.
    }
    close();
    return null;
  };
  return {
    /** Never rejects; when it resolves to `null`, the socket has been ended. */
    connection: open(),
    /** Returns whether the socket can be closed now without leaking its file descriptor. */
    canEnd: () => isTalking,
    end: () => socket.destroy(),
  };
}

/** The error listener stays, so that a late error does not crash the process. */
function connected(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.on("error", reject);
    socket.once("close", () => reject(new Error("closed")));
    socket.once("connect", resolve);
  });
}

/** Reads only on demand, so that no byte of the handshake is taken. */
function clearTextOfSocket(socket: Socket): ClearText {
  return {
    read: () =>
      new Promise((resolve, reject) => {
        const finish = (bytes: Uint8Array | null): void => {
          socket.off("data", onData);
          socket.off("end", onEnd);
          socket.off("close", onEnd);
          socket.off("error", reject);
          socket.pause();
          resolve(bytes);
        };
        const onData = (bytes: Uint8Array): void => finish(bytes);
        const onEnd = (): void => finish(null);
        socket.once("data", onData);
        socket.once("end", onEnd);
        socket.once("close", onEnd);
        socket.once("error", reject);
        socket.resume();
      }),
    write: (text) =>
      new Promise((resolve, reject) => {
        socket.write(text, (error) => error === null || error === undefined ? resolve() : reject(error));
      }),
  };
}

/** Begins TLS over a connected stream. Throws if the trusted certificates cannot be loaded. */
export function beginTls(
  stream: Duplex,
  { serverName, authorities, protocols }: TlsExpectations,
  { verifies }: { readonly verifies: boolean },
): TLSSocket {
  requireTrust();
  const name = withoutBrackets(serverName);
  const socket = connectTls({
    // A stream is supported as well, although the types lack it.
    socket: stream as Socket,
    host: name,
    // An IP address is no server name (RFC 6066, section 3).
    ...isIP(name) === 0 && { servername: name },
    ...protocols !== undefined && { ALPNProtocols: [...protocols] },
    ...authorities.length > 0 && { ca: [...authorities] },
    rejectUnauthorized: verifies,
  });
  // A late error without a listener does not crash the process.
  socket.on("error", () => {});
  endProperly(socket);
  return socket;
}

/** Data before the end of a stream may still contain the reason why it ended. */
const END_GRACE_MS = 100;

/** Waits for the end of a handshake, also if its stream ends. Rejects with the runtime's error. */
export async function handshaken(socket: TLSSocket, stream: Duplex, clock: Clock): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onClose = (): void => reject(new Error("tls handshake eof"));
  socket.on("error", reject);
  stream.on("error", reject);
  socket.once("close", onClose);
  stream.once("close", onClose);
  // The end of the stream alone ends no handshake.
  let cancel = (): void => {};
  const onEnd = (): void => void (cancel = clock.after(END_GRACE_MS, onClose));
  stream.once("end", onEnd);
  socket.once("secureConnect", () => hasShakenHands(socket) && resolve());
  try {
    await promise;
  } finally {
    stream.off("end", onEnd);
    cancel();
  }
}
