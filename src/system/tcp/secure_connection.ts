import type {
  Connection,
  ConnectionOptions,
  DatabaseTarget,
  TlsExpectations,
} from "../../domain/connections.ts";
import { onAbort, pause } from "../../shared/deadline.ts";
import { beginTls, handshaken } from "../tls/handshakes.ts";
import { connectTcp, type ConnectTcpOptions } from "./connect_tcp.ts";
import { closeQuietly, standingConnection, streamConnection, TcpStream, writeAll } from "./tcp_stream.ts";
import type { Clock } from "../../domain/clock.ts";
import { StartTlsRefusal } from "../tls/start_tls.ts";

/** Starts TLS on a connection, which ends if that fails; aborting the signal closes it, also later. */
export async function secureConnection(
  connection: Deno.TcpConn,
  tls: TlsExpectations,
  { clock, signal }: ConnectTcpOptions,
): Promise<Connection> {
  // A handshake over a socket would leak its file descriptor when it hangs, see `TcpStream`.
  const base = new TcpStream(connection);
  const secured = beginTls(base, tls, { verifies: tls.refuses === undefined });
  const end = (): void => {
    secured.destroy();
    base.destroy();
  };
  const stopListening = onAbort(signal, end);
  try {
    await handshaken(secured, base, clock);
    signal.throwIfAborted();
  } catch (error) {
    stopListening();
    end();
    signal.throwIfAborted();
    throw error;
  }
  return streamConnection(secured, () => {
    stopListening();
    end();
  });
}

// Connections to a PostgreSQL server, which uses its own protocol before TLS begins.

/** SSLRequest: its length, and 1234 and 5679 instead of a protocol version. */
const TLS_REQUEST = Uint8Array.of(0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f);
const ACCEPTED = "S".charCodeAt(0);
const REFUSED = "N".charCodeAt(0);

const READ_BYTES = 65_536;
/** While data keeps arriving, the runtime reads 128 times in one turn of its event loop, which takes seconds. */
const TURN_BYTES = 4 * READ_BYTES;

/** Connects; aborting the signal closes the connection, also later. */
export async function connectDatabase(
  target: DatabaseTarget,
  options: ConnectionOptions & ConnectTcpOptions,
): Promise<Connection> {
  return withTurns(await connect(target, options), options.clock);
}

/** Gives other work its turn after so many bytes. */
function withTurns(connection: Connection, clock: Clock): Connection {
  let bytes = 0;
  return {
    ...connection,
    read: async () => {
      if (bytes >= TURN_BYTES) {
        bytes = 0;
        await pause(clock, 0);
      }
      const piece = await connection.read();
      bytes += piece?.length ?? 0;
      return piece;
    },
  };
}

async function connect(
  target: DatabaseTarget,
  { onPhase, clock, signal }: ConnectionOptions & ConnectTcpOptions,
): Promise<Connection> {
  onPhase?.("connecting");
  const connection = "socketPath" in target
    ? await Deno.connect({ transport: "unix", path: target.socketPath })
    : await connectTcp(target, { clock, signal });
  if ("socketPath" in target || target.tls === null) {
    return standingConnection(connection, signal, READ_BYTES);
  }
  const stopListening = onAbort(signal, () => closeQuietly(connection));
  try {
    onPhase?.("STARTTLS");
    await askForTls(connection);
  } catch (error) {
    closeQuietly(connection);
    signal.throwIfAborted();
    throw error;
  } finally {
    stopListening();
  }
  onPhase?.("TLS");
  return await secureConnection(connection as Deno.TcpConn, target.tls, { clock, signal });
}

/** Reads one byte alone: later bytes in clear text would be treated as part of the encrypted session. */
async function askForTls(connection: Deno.Conn): Promise<void> {
  await writeAll(connection, TLS_REQUEST);
  const reply = new Uint8Array(1);
  if (await connection.read(reply) === null) throw new StartTlsRefusal("connection closed by the server");
  if (reply[0] === ACCEPTED) return;
  throw new StartTlsRefusal(reply[0] === REFUSED ? "server does not accept TLS" : "server is not PostgreSQL");
}
