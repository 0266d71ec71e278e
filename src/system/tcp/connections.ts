/**
 * Connections over TCP and TLS.
 *
 * Invariant: when a connection is closed, or failed, its file descriptor is free, whatever the other side does. The
 * runtime violates that for a TLS handshake that hangs, so the first one is made over a stream (see `TcpStream`), and
 * later ones are limited in number (see `HangingLimit`).
 */
import { isIP } from "node:net";
import type { Clock } from "../../domain/clock.ts";
import type {
  CertificateProblem,
  CertificateReading,
  Connection,
  ConnectionOptions,
  Connections,
  ConnectionTarget,
  HandshakeTarget,
  HostAddress,
} from "../../domain/connections.ts";
import { onAbort } from "../../shared/deadline.ts";
import { createUnverifiedConnect, tryHandshake, type UnverifiedConnect } from "../tls/handshakes.ts";
import { connectStream, connectTcp, type ConnectTcpOptions } from "./connect_tcp.ts";
import { explainConnectionError, explainRequestError } from "../network_failure.ts";
import { HangingLimit } from "../deno_workarounds/hanging_limit.ts";
import {
  closeQuietly,
  lookUpName,
  standingConnection,
  streamConnection,
  withoutBrackets,
} from "./tcp_stream.ts";

export function createConnections(clock: Clock): Connections {
  const connectUnverified = createUnverifiedConnect(clock);
  const hanging = new HangingLimit(() => clock.monotonicMs());
  return {
    async connect({ tls, ...target }, options): Promise<Connection> {
      if (tls === undefined) return await connectPlain(target, { ...options, clock });
      if (tls.refuses !== undefined) {
        return await connectPinned({ ...target, tls }, { ...options, clock, connectUnverified });
      }
      try {
        await tryHandshake({ ...target, tls }, { ...options, clock });
        return await connectTls({ ...target, tls }, { hanging, clock, signal: options.signal });
      } catch (error) {
        throw refusedCertificate(error) ?? error;
      }
    },
    connectDatabase: async (target, options) =>
      await (await import("./secure_connection.ts")).connectDatabase(target, { ...options, clock }),
    async resolve({ host, port }, signal): Promise<readonly HostAddress[]> {
      const name = withoutBrackets(host);
      const family = isIP(name);
      if (family !== 0) return [{ address: name, family, token: null }];
      const addresses = await lookUpName({ host: name, port }, signal);
      return [...new Map(addresses.map((one) => [one.address, one])).values()];
    },
    async readCertificate(target, options): Promise<CertificateReading> {
      const { signal } = options;
      let facts = null;
      let problem: CertificateProblem | null = null;
      try {
        facts = await tryHandshake(target, { ...options, clock });
      } catch (error) {
        const refused = refusedCertificate(error);
        if (refused === null) throw error;
        problem = refused.problem;
      }
      if (facts === null) {
        const unverified = await connectUnverified(target, signal);
        unverified?.close();
        facts = unverified?.facts ?? null;
      }
      return { problem, facts };
    },
    readTime: async (target, signal) => await (await import("./ntp.ts")).readTime(target, { clock, signal }),
    explain: explainConnectionError,
  };
}

async function connectPlain(
  target: ConnectionTarget,
  { onPhase, clock, signal }: ConnectionOptions & ConnectTcpOptions,
): Promise<Connection> {
  signal.throwIfAborted();
  onPhase?.("connecting");
  const connection = await connectStream(target, { clock, signal });
  let current = standingConnection(connection, signal);
  if (target.socket !== undefined) return current;
  return {
    read: () => current.read(),
    write: (bytes) => current.write(bytes),
    close: () => current.close(),
    async startTls(tls) {
      const { secureConnection } = await import("./secure_connection.ts");
      current = await secureConnection(connection as Deno.TcpConn, tls, { clock, signal });
    },
  };
}

/**
 * Connects to a server that has just completed a handshake. A handshake of the runtime cannot be aborted without
 * leaking its file descriptor until the server closes it; after a first one it hardly ever hangs.
 */
async function connectTls(
  target: HandshakeTarget,
  { hanging, clock, signal }: ConnectTcpOptions & { readonly hanging: HangingLimit },
): Promise<Connection> {
  const connection = await connectTcp(target, { clock, signal });
  if (signal.aborted || hanging.isReached(target)) {
    closeQuietly(connection);
    signal.throwIfAborted();
    throw new Error("earlier handshakes still hang");
  }
  const { serverName, authorities, protocols } = target.tls;
  const secured = await Deno.startTls(connection, {
    hostname: withoutBrackets(serverName),
    caCerts: [...authorities],
    ...protocols !== undefined && { alpnProtocols: [...protocols] },
  });
  const standing = standingConnection(secured, signal);
  let isOver = false;
  const handshake = secured.handshake().finally(() => isOver = true);
  const stopListening = onAbort(signal, () => {
    // It does not end, and its end by the server is not reported.
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

/** Connects to a server with a certificate that other rules than the runtime's accept. */
async function connectPinned(
  target: HandshakeTarget,
  { connectUnverified, clock, onPhase, signal }: ConnectionOptions & ConnectTcpOptions & {
    readonly connectUnverified: UnverifiedConnect;
  },
): Promise<Connection> {
  try {
    // One that hangs can be ended.
    await tryHandshake(target, { ...onPhase !== undefined && { onPhase }, clock, signal });
  } catch (error) {
    if (refusedCertificate(error) === null) throw error;
  }
  const pinned = await connectUnverified(target, signal);
  if (pinned === null) throw new Error("certificate could not be read over a second connection");
  const stopListening = onAbort(signal, pinned.close);
  const close = (): void => {
    stopListening();
    pinned.close();
  };
  const reason = target.tls.refuses?.(pinned.facts) ?? null;
  if (reason !== null) {
    close();
    throw new RefusedCertificate({ about: "trust", reason });
  }
  return streamConnection(pinned.socket, close);
}

class RefusedCertificate extends Error {
  override readonly name = "RefusedCertificate";
  constructor(readonly problem: CertificateProblem) {
    super(problem.reason);
  }
}

function refusedCertificate(error: unknown): RefusedCertificate | null {
  if (!(error instanceof Error) || !error.message.includes("invalid peer certificate")) return null;
  const { reason } = explainRequestError(error, "https://server.invalid");
  const about = /expired|not valid yet/.test(reason)
    ? "dates"
    : /not valid for/.test(reason)
    ? "names"
    : "trust";
  return new RefusedCertificate({ about, reason });
}
