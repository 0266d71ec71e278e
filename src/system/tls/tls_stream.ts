import { isIP, type Socket } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import type { Duplex } from "node:stream";
import type { Clock } from "../../domain/clock.ts";
import type { TlsExpectations } from "../../domain/connections.ts";
import { hasShakenHands } from "../deno_workarounds/failed_handshake.ts";
import { endProperly } from "../deno_workarounds/tls_end.ts";
import { withoutBrackets } from "../tcp/tcp_stream.ts";
import { requireTrust } from "./trust.ts";

/** Begins TLS over a connected stream. Throws if the trusted certificates cannot be loaded. */
export function beginTls(
  stream: Duplex,
  { serverName, authorities, protocols }: TlsExpectations,
  { verifies }: { readonly verifies: boolean },
): TLSSocket {
  requireTrust();
  const name = withoutBrackets(serverName);
  const socket = connect({
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
