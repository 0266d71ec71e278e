import type { Connection, Connections, ConnectionTarget } from "../../domain/connections.ts";
import { hostAndPort } from "../../domain/runtime_permissions.ts";
import { messageOf } from "../../shared/describe_error.ts";
import { describeCertificate } from "./trace_certificates.ts";
import { KEPT_LENGTH_MAX, type Tracer } from "./tracer.ts";

export function traceConnections(connections: Connections, tracer: Tracer): Connections {
  const placeOf = ({ host, port, address, socket }: ConnectionTarget): string =>
    socket ?? `${hostAndPort(host, port)}${address === undefined ? "" : ` (${address.address})`}`;
  return {
    ...connections,
    async connect(target, options) {
      const place = placeOf(target);
      tracer.add(`connecting to ${place}${target.tls === undefined ? "" : " with TLS"}`);
      return await explained(
        async () => {
          const connection = await connections.connect(target, options);
          tracer.add(`connected to ${place}`);
          return traceConnection(connection, tracer);
        },
        place,
        (error) => connections.explain(error, target, "connecting").reason,
      );
    },
    async resolve(target, signal) {
      return await explained(
        async () => {
          const addresses = await connections.resolve(target, signal);
          tracer.add(`addresses of ${target.host}: ${addresses.map(({ address }) => address).join(", ")}`);
          return addresses;
        },
        target.host,
        (error) => connections.explain(error, target, "connecting").reason,
      );
    },
    async readCertificate(target, options) {
      tracer.add(`reading the certificate of ${placeOf(target)}`);
      return await explained(
        async () => {
          const reading = await connections.readCertificate(target, options);
          tracer.add(describeCertificate(reading, target));
          return reading;
        },
        placeOf(target),
        (error) => connections.explain(error, target, "TLS").reason,
      );
    },
  };

  async function explained<T>(
    work: () => Promise<T>,
    place: string,
    explain: (error: unknown) => string,
  ): Promise<T> {
    try {
      return await work();
    } catch (error) {
      tracer.add(`failed: ${place}: ${error instanceof DOMException ? messageOf(error) : explain(error)}`);
      throw error;
    }
  }
}

/** Received data is shown in one piece: a secret may arrive in two. */
function traceConnection(connection: Connection, tracer: Tracer): Connection {
  const decoder = new TextDecoder();
  let received = "";
  return {
    async read() {
      const chunk = await connection.read();
      tracer.add(chunk === null ? "the server ended the connection" : `received ${chunk.length} B`);
      if (chunk !== null && received.length < KEPT_LENGTH_MAX) {
        received += decoder.decode(chunk.subarray(0, KEPT_LENGTH_MAX), { stream: true });
      }
      return chunk;
    },
    async write(bytes) {
      await connection.write(bytes);
      tracer.add(`sent ${bytes.length} B`);
      tracer.addBlock(">", new TextDecoder().decode(bytes.subarray(0, KEPT_LENGTH_MAX)));
    },
    close: () => {
      connection.close();
      if (received !== "") tracer.addBlock("<", received);
      tracer.add("closed");
      received = "";
    },
  };
}
