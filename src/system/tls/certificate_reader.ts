import { connect, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Clock } from "../../domain/clock.ts";
import type { CertificateFacts } from "../../domain/tls.ts";
import { onAbort } from "../../shared/on_abort.ts";
import { certificateFacts } from "./certificate_facts.ts";
import { answerLookup } from "../deno_workarounds/all_addresses.ts";
import { createHangingLimit } from "../deno_workarounds/hanging_limit.ts";
import { askForTls, type ClearText } from "./start_tls.ts";
import { withoutBrackets } from "../tcp/tcp_stream.ts";
import { beginTls, handshaken } from "./tls_stream.ts";
import type { HandshakeTarget } from "./try_handshake.ts";

/**
 * Reads the facts of a server's certificate, valid or not; `null` if it can't be read. Rejects with the signal's reason
 * only.
 */
type CertificateReader = (
  target: HandshakeTarget,
  signal: AbortSignal,
) => Promise<CertificateFacts | null>;

/**
 * Makes a reader of certificates that does not ask whether they are valid. It takes a connection of its own, and a
 * socket: over anything else Deno 2.7 does not tell what a certificate says. There, connecting or a handshake that
 * hangs cannot be ended without losing the descriptor for good, so such a socket is left to itself until the server or
 * the system ends it; there are never more than a few for a server.
 */
export function createCertificateReader(clock: Clock): CertificateReader {
  const hanging = createHangingLimit(() => clock.monotonicMs());
  return async (target, signal) => {
    if (hanging.isReached(target)) return null;
    signal.throwIfAborted();
    const attempt = begin(target, clock);
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const stopListening = onAbort(signal, () => {
      if (attempt.canEnd()) attempt.end();
      else hanging.add(target, attempt.facts);
      reject(signal.reason);
    });
    try {
      return await Promise.race([aborted, attempt.facts]);
    } finally {
      stopListening();
    }
  };
}

/** A reading under way. */
interface Attempt {
  /** Never rejects; when it resolves, the socket has been ended. */
  readonly facts: Promise<CertificateFacts | null>;
  /** Whether the socket can be ended now without losing its descriptor. */
  canEnd(): boolean;
  end(): void;
}

function begin(target: HandshakeTarget, clock: Clock): Attempt {
  const { address } = target;
  const socket = connect({
    host: withoutBrackets(target.host),
    port: target.port,
    ...address !== undefined && { lookup: answerLookup(address), autoSelectFamily: false },
  });
  let secured: TLSSocket | null = null;
  let isTalking = false;
  const read = async (): Promise<CertificateFacts | null> => {
    try {
      await connected(socket);
      if (target.startTls !== undefined) {
        isTalking = true;
        await askForTls(clearTextOf(socket), target.startTls);
        isTalking = false;
      }
      secured = beginTls(socket, target.tls, { verifies: false });
      await handshaken(secured, socket, clock);
      return certificateFacts(secured);
    } catch {
      return null;
    } finally {
      secured?.destroy();
      socket.destroy();
    }
  };
  return { facts: read(), canEnd: () => isTalking, end: () => socket.destroy() };
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
