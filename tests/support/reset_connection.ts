/**
 * Closes a connection with a reset (RST), for which the runtime has no call: it always closes with FIN first, even
 * with `SO_LINGER`. Linux only.
 */

const libc = Deno.dlopen("libc.so.6", {
  connect: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  getpeername: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  getsockname: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
});

/** A `struct sockaddr` of the family `AF_UNSPEC`: connecting a socket to it resets its connection. */
const NO_RECEIVER = new Uint8Array(16);

/**
 * Resets a connection over IPv4 and closes it: the other side fails with "Connection reset by peer". Data that it has
 * not read yet may be lost. A connection that has ended by itself is closed.
 */
export function resetConnection(connection: Deno.TcpConn): void {
  const descriptor = descriptorOf(connection);
  if (descriptor !== null) libc.symbols.connect(descriptor, NO_RECEIVER, NO_RECEIVER.length);
  connection.close();
}

function descriptorOf({ localAddr, remoteAddr }: Deno.TcpConn): number | null {
  for (const { name } of Deno.readDirSync("/proc/self/fd")) {
    const descriptor = Number(name);
    const isIt = portOf(libc.symbols.getpeername, descriptor) === remoteAddr.port &&
      portOf(libc.symbols.getsockname, descriptor) === localAddr.port;
    if (isIt) return descriptor;
  }
  return null;
}

/** Returns the port in a `struct sockaddr_in`; `null` without a connected socket. */
function portOf(call: typeof libc.symbols.getpeername, descriptor: number): number | null {
  const address = new Uint8Array(128);
  if (call(descriptor, address, Uint32Array.of(address.length)) !== 0) return null;
  return new DataView(address.buffer).getUint16(2);
}
