import { createSocket } from "node:dgram";
import { isIP, isIPv6 } from "node:net";
import type { ConnectionTarget, TimeReading } from "../../domain/connections.ts";
import { hostAndPort } from "../../domain/runtime_permissions.ts";
import { unlessAborted } from "../../shared/deadline.ts";
import { canonicalAddress } from "../../shared/ip_address.ts";
import type { ConnectTcpOptions } from "./connect_tcp.ts";
import { lookUpName, withoutBrackets } from "./tcp_stream.ts";

const PACKET_BYTES = 48;
/** From 1900, where NTP begins, to 1970. */
const EPOCH_SECONDS = 2_208_988_800;
const ERA_SECONDS = 2 ** 32;
const CLIENT = 3;
const SERVER = 4;
const VERSION = 4;

/** Asks an NTP server for its time (RFC 5905, sections 7.3 and 8). Datagrams that are no reply are ignored. */
export async function readTime(
  target: ConnectionTarget,
  { clock, signal }: ConnectTcpOptions,
): Promise<TimeReading> {
  signal.throwIfAborted();
  const host = withoutBrackets(target.host);
  const address = isIP(host) !== 0
    ? host
    : (await lookUpName({ ...target, host }, signal))[0]?.address ?? host;
  const isV6 = isIPv6(address);
  const local = isV6 ? "::" : "0.0.0.0";
  requireNetwork(hostAndPort(address, target.port));
  requireNetwork(hostAndPort(local, 0));
  const socket = createSocket(isV6 ? "udp6" : "udp4");
  const request = new Uint8Array(PACKET_BYTES);
  request[0] = VERSION << 3 | CLIENT;
  // Only the server that got it knows it.
  const nonce = crypto.getRandomValues(request.subarray(40));
  const { promise, resolve, reject } = Promise.withResolvers<TimeReading>();
  let sentMs = 0;
  let sentWallMs = 0;
  socket.on("error", reject);
  socket.on("message", (message, { port, address: from }) => {
    const roundTripMs = clock.monotonicMs() - sentMs;
    if (message.length < PACKET_BYTES || port !== target.port) return;
    if (canonicalAddress(from) !== canonicalAddress(address)) return;
    const isReply = ((message[0] ?? 0) & 7) === SERVER &&
      nonce.every((byte, at) => message[24 + at] === byte);
    if (isReply) resolve(reading(message, { sentWallMs, roundTripMs }));
  });
  try {
    socket.bind(0, local, () => {
      sentMs = clock.monotonicMs();
      sentWallMs = clock.wallMs();
      socket.send(request, target.port, address, (error) => error && reject(error));
    });
    return await unlessAborted(promise, signal);
  } finally {
    socket.close();
  }
}

/** Without the permission, the socket returns no error, or throws it outside of any caller. */
function requireNetwork(host: string): void {
  if (Deno.permissions.querySync({ name: "net", host }).state === "granted") return;
  throw new Deno.errors.NotCapable(`UDP ${host}`);
}

function reading(
  message: Uint8Array,
  { sentWallMs, roundTripMs }: { readonly sentWallMs: number; readonly roundTripMs: number },
): TimeReading {
  const view = new DataView(message.buffer, message.byteOffset, message.length);
  const timeAt = (place: number): number => {
    const seconds = view.getUint32(place);
    const sinceEpoch = (seconds < EPOCH_SECONDS ? seconds + ERA_SECONDS : seconds) - EPOCH_SECONDS;
    return sinceEpoch * 1000 + view.getUint32(place + 4) / 2 ** 32 * 1000;
  };
  const [receivedMs, transmittedMs] = [timeAt(32), timeAt(40)];
  const stratum = message[1] ?? 0;
  return {
    offsetMs: (receivedMs - sentWallMs + (transmittedMs - (sentWallMs + roundTripMs))) / 2,
    roundTripMs: Math.max(0, roundTripMs - (transmittedMs - receivedMs)),
    stratum,
    isSynchronized: (message[0] ?? 0) >> 6 !== 3 && stratum > 0 && stratum < 16,
    code: stratum === 0
      ? String.fromCharCode(...message.subarray(12, 16)).replaceAll(/[^\x20-\x7e]/g, "")
      : "",
  };
}
