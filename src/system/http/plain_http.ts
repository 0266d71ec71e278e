/**
 * Requests over HTTP/1.1 in clear text.
 *
 * The runtime's own client reads informational responses (1xx) in a loop that nothing ends as long as they keep
 * coming, so a server that floods with them stalls the whole process (the loop that polls a connection is limited,
 * hyperium/hyper#1828, but not the one that parses its heads). It also sends a request twice without telling, when the
 * server ends the connection before a head (denoland/deno#32566). Over TLS the stall does not happen, because there a
 * read brings little at a time.
 */
import { decodeComponent } from "../../shared/decode_component.ts";
import { setImmediate } from "node:timers";
import type { ConnectionTarget } from "../../domain/connections.ts";
import type { IncomingResponse, OutgoingRequest } from "../../domain/requests.ts";
import { hostAndPort } from "../../domain/runtime_permissions.ts";
import { connectStream, type ConnectTcpOptions } from "../tcp/connect_tcp.ts";
import { explainConnectionError } from "../tcp/connection_failure.ts";
import { BODY_BROKEN, bodyReader, decoded, isCompressed, type ReadBody } from "./http_body.ts";
import { ByteReader } from "./http_bytes.ts";
import { headerOf, HttpError, readHead, type ResponseHead } from "./http_head.ts";
import { closeQuietly, writeAll } from "../tcp/tcp_stream.ts";
import { joinBytes } from "../../shared/join_bytes.ts";
import { onAbort } from "../../shared/on_abort.ts";

/** An error of connecting; its cause is the runtime's. */
export class ConnectError extends Error {
  override readonly name = "ConnectError";
  readonly target: ConnectionTarget;

  constructor(target: ConnectionTarget, cause: unknown) {
    super("Cannot connect", { cause });
    this.target = target;
  }
}

/**
 * Sends a request over a new connection, and reads the response up to its body.
 *
 * @throws {ConnectError} If there is no connection.
 * @throws {HttpError} If no head arrives.
 */
export async function sendPlain(
  request: OutgoingRequest,
  { clock, signal }: ConnectTcpOptions,
): Promise<IncomingResponse> {
  const url = new URL(request.target);
  const content = requestBytes(request, url);
  const target = { ...plainTarget(url), ...request.connection };
  let connection: Deno.Conn;
  try {
    connection = await connectStream(target, { clock, signal });
  } catch (error) {
    signal.throwIfAborted();
    throw new ConnectError(target, error);
  }
  // Not before data of the same turn of the event loop was read: see `abortLate`.
  const stopListening = onAbort(signal, () => void setImmediate(() => closeQuietly(connection)));
  const close = (): void => {
    stopListening();
    closeQuietly(connection);
    bytes.close();
  };
  let phase: "head" | "body" = "head";
  const bytes = new ByteReader(async (buffer) => {
    try {
      return await connection.read(buffer);
    } catch (error) {
      signal.throwIfAborted();
      if (phase === "body") throw new HttpError("body", BODY_BROKEN);
      throw new HttpError("head", explainConnectionError(error, target, "reading").reason);
    }
  });
  try {
    // A server may respond before it has read everything, and its response counts.
    writeAll(connection, content).catch(() => {});
    const head = await readHead(bytes);
    const read = bodyReader(head, { bytes, method: request.method });
    phase = "body";
    return responseOf(head, read, { close, peer: describePeer(connection.remoteAddr) });
  } catch (error) {
    close();
    throw error;
  }
}

function plainTarget({ hostname, port }: URL): ConnectionTarget {
  return { host: hostname, port: port === "" ? 80 : Number(port) };
}

function describePeer(address: Deno.Addr): string {
  return "hostname" in address ? hostAndPort(address.hostname, address.port) : "a socket";
}

function responseOf(
  head: ResponseHead,
  read: ReadBody | null,
  { close, peer }: { close(): void; readonly peer: string },
): IncomingResponse {
  const coding = headerOf(head, "content-encoding");
  const dropped = read !== null && isCompressed(coding) ? BEFORE_DECOMPRESSION : [];
  let headers: Headers | null = null;
  return {
    status: head.status,
    peer,
    get headers() {
      return headers ??= headersOf(head, dropped);
    },
    header: (name) => dropped.includes(name.toLowerCase()) ? null : headerOf(head, name.toLowerCase()),
    read: read === null ? () => Promise.resolve(null) : decoded(read, coding),
    close: () => {
      close();
      return Promise.resolve();
    },
  };
}

/** They describe a body before it is decompressed; the runtime's own client drops them, too. */
const BEFORE_DECOMPRESSION: readonly string[] = ["content-encoding", "content-length"];

function headersOf({ fields }: ResponseHead, dropped: readonly string[]): Headers {
  const headers = new Headers();
  for (const [name, value] of fields) {
    if (!dropped.includes(name)) headers.append(name, value);
  }
  return headers;
}

const ENCODER = new TextEncoder();

function requestBytes({ method, headers, body }: OutgoingRequest, url: URL): Uint8Array {
  const content = ENCODER.encode(body);
  const fields = new Map([["host", url.host]]);
  if (url.username + url.password !== "") fields.set("authorization", basicCredentials(url));
  fields.set("accept", "*/*").set("accept-language", "*");
  // Of Brotli little may become very much.
  fields.set("accept-encoding", "gzip");
  if (body !== undefined) fields.set("content-type", "text/plain;charset=UTF-8");
  for (const [name, value] of Object.entries(headers)) fields.set(name.toLowerCase(), value);
  if (body !== undefined || method === "POST" || method === "PUT") {
    fields.set("content-length", String(content.length));
  }
  let text = `${method} ${url.pathname}${url.search} HTTP/1.1\r\n`;
  for (const [name, value] of fields) {
    if (/[\r\n\0]/.test(`${name}${value}`)) throw new TypeError(`Invalid header: ${JSON.stringify(name)}`);
    text += `${name}: ${value}\r\n`;
  }
  return joinBytes([ENCODER.encode(`${text}\r\n`), content]);
}

function basicCredentials({ username, password }: URL): string {
  const bytes = ENCODER.encode(`${decodeComponent(username)}:${decodeComponent(password)}`);
  return `Basic ${btoa(String.fromCharCode(...bytes))}`;
}
