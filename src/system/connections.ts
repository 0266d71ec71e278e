/**
 * Connections over TCP and TLS.
 *
 * Invariant: when a connection is closed, or did not come about, its descriptor is free, whatever the other side does.
 * The runtime breaks that for a TLS handshake that hangs, so a first one is made over a stream (see `TcpStream`), and
 * those that follow are limited in number (see `HangingLimit`).
 */
import type {
  CertificateFacts,
  CertificateProblem,
  CertificateReading,
  Clock,
  Connection,
  ConnectionOptions,
  Connections,
} from "../domain/system.ts";
import { onAbort } from "../domain/on_abort.ts";
import { certificateFacts } from "./certificate_facts.ts";
import { createCertificateReader } from "./certificate_reader.ts";
import { connectTcp } from "./connect_tcp.ts";
import { explainConnectionError } from "./connection_failure.ts";
import { createHangingLimit, type HangingLimit } from "./hanging_limit.ts";
import { explainRequestError } from "./request_failure.ts";
import { askForTls } from "./start_tls.ts";
import { clearTextOf, closeQuietly, TcpStream, withoutBrackets, writeAll } from "./tcp_stream.ts";
import { explainRefusal, type HandshakeOptions, type HandshakeTarget, isVague } from "./tls_problem.ts";
import { beginTls, shakeHands } from "./tls_stream.ts";

/** The machine's connections. */
export function createConnections(clock: Clock): Connections {
  const readUnverified = createCertificateReader(clock);
  const hanging = createHangingLimit(() => clock.monotonicMs());
  return {
    async connect({ tls, ...target }, options): Promise<Connection> {
      if (tls === undefined) return await connectPlain(target, options);
      try {
        await tryTls({ ...target, tls }, options);
        return await connectTls({ ...target, tls }, { hanging, signal: options.signal });
      } catch (error) {
        throw await precise(error, { ...target, tls }, { clock, hanging, signal: options.signal });
      }
    },
    async readCertificate(target, options): Promise<CertificateReading> {
      const { signal } = options;
      let facts = null;
      let problem: CertificateProblem | null = null;
      try {
        facts = await tryTls(target, options);
      } catch (error) {
        const known = await precise(error, target, { clock, hanging, signal });
        if (!(known instanceof RefusedCertificate)) throw known;
        problem = known.problem;
      }
      facts ??= await readUnverified(target, signal);
      return { problem, facts };
    },
    explain: explainConnectionError,
  };
}

async function connectPlain(
  target: { readonly host: string; readonly port: number },
  { onPhase, signal }: ConnectionOptions,
): Promise<Connection> {
  signal.throwIfAborted();
  onPhase?.("connecting");
  return standingConnection(await connectTcp(target, signal), signal);
}

/**
 * Shakes hands once and ends that connection, whatever the server does and without losing a descriptor. Answers what
 * the certificate says, as far as the runtime tells; rejects where it is not valid.
 */
async function tryTls(
  { host, port, tls, startTls }: HandshakeTarget,
  { onPhase, signal }: ConnectionOptions,
): Promise<CertificateFacts | null> {
  signal.throwIfAborted();
  onPhase?.("connecting");
  const connection = await connectTcp({ host, port }, signal);
  let end = (): void => closeQuietly(connection);
  const stopListening = onAbort(signal, () => end());
  try {
    signal.throwIfAborted();
    if (startTls !== undefined) {
      onPhase?.("asking for TLS");
      await askForTls(clearTextOf(connection), startTls);
    }
    onPhase?.("TLS");
    const stream = new TcpStream(connection);
    const socket = beginTls(stream, tls, { verifies: true });
    end = () => {
      socket.destroy();
      stream.destroy();
    };
    return await shakeHands(socket, stream, certificateFacts);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    stopListening();
    end();
  }
}

/**
 * Connects to a server that has just shaken hands. A handshake of the runtime's own cannot be ended without losing its
 * descriptor until the server ends it; after a first one it hardly ever hangs.
 */
async function connectTls(
  target: HandshakeTarget,
  { hanging, signal }: {
    readonly hanging: HangingLimit;
    readonly signal: AbortSignal;
  },
): Promise<Connection> {
  const connection = await connectTcp(target, signal);
  if (signal.aborted || hanging.isReached(target)) {
    closeQuietly(connection);
    signal.throwIfAborted();
    throw new Error("earlier handshakes still hang");
  }
  const { serverName, authorities } = target.tls;
  const secured = await Deno.startTls(connection, {
    hostname: withoutBrackets(serverName),
    caCerts: [...authorities],
  });
  const standing = standingConnection(secured, signal);
  let isOver = false;
  const handshake = secured.handshake().finally(() => isOver = true);
  const stopListening = onAbort(signal, () => {
    // It does not end, and nothing tells when the server ends it.
    if (!isOver) hanging.addLost(target);
  });
  try {
    await handshake;
    return standing;
  } catch (error) {
    standing.close();
    throw error;
  } finally {
    stopListening();
  }
}

function standingConnection(connection: Deno.Conn, signal: AbortSignal): Connection {
  const stopListening = onAbort(signal, () => closeQuietly(connection));
  if (signal.aborted) closeQuietly(connection);
  return {
    read: clearTextOf(connection).read,
    write: (bytes) => writeAll(connection, bytes),
    close: () => {
      stopListening();
      closeQuietly(connection);
    },
  };
}

/** A certificate that was refused; the message says why. */
class RefusedCertificate extends Error {
  override readonly name = "RefusedCertificate";
  readonly problem: CertificateProblem;
  constructor(problem: CertificateProblem) {
    super(problem.reason);
    this.problem = problem;
  }
}

/** Says exactly what is wrong where a certificate was refused; hands back every other error as it is. */
async function precise(
  error: unknown,
  target: HandshakeTarget,
  options: HandshakeOptions,
): Promise<unknown> {
  if (!(error instanceof Error) || error instanceof RefusedCertificate || options.signal.aborted) {
    return error;
  }
  if (error.message.includes("invalid peer certificate")) {
    return new RefusedCertificate(problemOf(explainRequestError(error, "https://server.invalid").reason));
  }
  if (!isVague(error)) return error;
  const known = await explainRefusal(target, options);
  options.signal.throwIfAborted();
  return new RefusedCertificate(problemOf(known?.reason ?? `certificate is not accepted (${error.message})`));
}

function problemOf(reason: string): CertificateProblem {
  const about = /expired|not valid yet/.test(reason)
    ? "dates"
    : /not valid for/.test(reason)
    ? "names"
    : "trust";
  return { about, reason };
}
