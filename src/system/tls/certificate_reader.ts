import { connect, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Clock } from "../../domain/clock.ts";
import type { CertificateFacts, HandshakeTarget } from "../../domain/connections.ts";
import { onAbort } from "../../shared/on_abort.ts";
import { certificateFacts } from "./try_handshake.ts";
import { answerLookup } from "../deno_workarounds/all_addresses.ts";
import { HangingLimit } from "../deno_workarounds/hanging_limit.ts";
import { askForTls, type ClearText } from "./start_tls.ts";
import { withoutBrackets } from "../tcp/tcp_stream.ts";
import { beginTls, handshaken } from "./tls_stream.ts";

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

/** Reads the facts of a server's certificate, valid or not, over a separate connection; `null` if it can't be read. */
export async function readUnverified(
  connect: UnverifiedConnect,
  target: HandshakeTarget,
  signal: AbortSignal,
): Promise<CertificateFacts | null> {
  const connection = await connect(target, signal);
  connection?.close();
  return connection?.facts ?? null;
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
        await askForTls(clearTextOf(socket), target.startTls);
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
function clearTextOf(socket: Socket): ClearText {
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
