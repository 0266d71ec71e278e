/** An NTP server on loopback. */
import { createSocket, type Socket } from "node:dgram";
import { inTime } from "../life/in_time.ts";

export interface TimeServer extends AsyncDisposable {
  readonly port: number;
}

/** Starts a server; `reply` returns the datagrams for a request, given a right reply of so many milliseconds ahead. */
export async function startTimeServer(
  reply: (request: Uint8Array) => readonly Uint8Array[],
  address = "127.0.0.1",
): Promise<TimeServer> {
  const socket: Socket = createSocket(address.includes(":") ? "udp6" : "udp4");
  socket.on("message", (request, { port, address }) => {
    for (const datagram of reply(request)) socket.send(datagram, port, address);
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.bind(0, address, resolve);
  await inTime("the time server to listen", promise);
  return {
    port: socket.address().port,
    async [Symbol.asyncDispose]() {
      const { promise, resolve } = Promise.withResolvers<void>();
      socket.close(() => resolve());
      await inTime("the time server to end", promise);
    },
  };
}

interface ReplyFields {
  readonly wallMs: number;
  readonly stratum?: number;
  /** The leap indicator; 3: not synchronized. */
  readonly leap?: number;
  readonly code?: string;
  /** Between the arrival of the request and the reply. */
  readonly heldMs?: number;
}

/** A reply of RFC 5905 to a request. */
export function timeReply(
  request: Uint8Array,
  { wallMs, stratum = 2, leap = 0, code = "", heldMs = 0 }: ReplyFields,
): Uint8Array {
  const packet = new Uint8Array(48);
  const view = new DataView(packet.buffer);
  packet[0] = leap << 6 | 4 << 3 | 4;
  packet[1] = stratum;
  packet.set(new TextEncoder().encode(code), 12);
  packet.set(request.subarray(40, 48), 24);
  const setTime = (place: number, ms: number): void => {
    view.setUint32(place, (Math.floor(ms / 1000) + 2_208_988_800) % 2 ** 32);
    view.setUint32(place + 4, Math.floor((ms % 1000) / 1000 * 2 ** 32));
  };
  setTime(32, wallMs);
  setTime(40, wallMs + heldMs);
  return packet;
}
