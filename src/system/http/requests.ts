import { messageOf } from "../../shared/describe_error.ts";
import { hostAndPort } from "../../domain/runtime_permissions.ts";
import type { Clock } from "../../domain/clock.ts";
import type {
  Connection,
  ConnectionPhase,
  Connections,
  ConnectionTarget,
  IncomingResponse,
  OutgoingRequest,
  RequestFailure,
  Requests,
} from "../../domain/connections.ts";
import type { System } from "../../domain/system.ts";
import { explainConnectionError, explainRequestError } from "../network_failure.ts";
import {
  BODY_BROKEN,
  bodyReader,
  ByteReader,
  decoded,
  giveBuffer,
  headerOf,
  HttpError,
  isCompressed,
  type ReadBody,
  readHead,
  type ResponseHead,
  takeBuffer,
} from "./http_message.ts";
import { abortLate } from "../deno_workarounds/late_abort.ts";
import type { ClientTls } from "../tls/tls_settings.ts";
import { decodeComponent, joinBytes } from "../../shared/text.ts";
import { setImmediate } from "node:timers";
import { connectStream, type ConnectTcpOptions } from "../tcp/connect_tcp.ts";
import { closeQuietly, writeAll } from "../tcp/tcp_stream.ts";
import { lazily } from "../../shared/lazily.ts";
import { onAbort } from "../../shared/deadline.ts";

interface RequestsOptions {
  readonly clock: Clock;
  /** Reads a variable; those that name a proxy matter. @default there are none */
  readonly environment?: System["environment"];
}

/**
 * Creates a new connection for each request, which is closed with the response.
 *
 * Clear text is sent and read here ({@linkcode sendDirectly}), as over TLS if CAs do not decide on the
 * certificate; the runtime's HTTP client does the rest: TLS, and requests via a proxy. Each gets its own client, because a client resumes TLS sessions, and a resumed session
 * exposes no certificate.
 *
 * The runtime's client silently sends a request again when the server closes the connection before a response head
 * (denoland/deno#35610, see `tests/system/deno_workarounds/fetch_retry_test.ts`). No option prevents that, so there
 * only the second such failure in a row is detected.
 */
export function createRequests({ clock, environment = () => undefined }: RequestsOptions): Requests {
  const connections = lazily(async () => (await import("../tcp/connections.ts")).createConnections(clock));
  return {
    async send(request: OutgoingRequest, signal: AbortSignal): Promise<IncomingResponse> {
      signal.throwIfAborted();
      const isPlain = PLAIN.test(request.target);
      if (!isPlain && request.connection !== undefined) {
        throw new TypeError("Only http: can connect elsewhere");
      }
      const isDirect = isPlain
        ? request.connection !== undefined || !PLAIN_PROXY_VARIABLES.some((name) => environment(name))
        : request.refuses !== undefined;
      return isDirect
        ? await sendDirectly(request, { clock, connections, signal })
        : await sendByRuntime(request, signal);
    },
    explain: (error, target) => {
      if (error instanceof HttpError) return { phase: error.phase, reason: error.message };
      if (error instanceof ConnectError) return explainConnect(error);
      return explainRequestError(error, target);
    },
  };
}

const PLAIN = /^http:/i;

/** They may name a proxy for requests in clear text. */
const PLAIN_PROXY_VARIABLES: readonly string[] = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

function explainConnect({ cause, target, during }: ConnectError): RequestFailure {
  const { phase, reason } = explainConnectionError(cause, target, during);
  const { host, port, address, socket } = target;
  return {
    phase: phase === "STARTTLS" || phase === "sending" || phase === "reading" ? "connecting" : phase,
    reason,
    place: socket ?? (phase === "resolving" ? host : hostAndPort(address?.address ?? host, port)),
  };
}

async function sendByRuntime(request: OutgoingRequest, signal: AbortSignal): Promise<IncomingResponse> {
  const client = await clientFor(request);
  const late = abortLate(signal);
  const end = (): void => {
    late.stop();
    client.close();
  };
  try {
    const response = await fetch(request.target, {
      method: request.method,
      headers: Object.entries(request.headers).map(([name, value]) => [name, asBytes(value)]),
      ...(request.body !== undefined && { body: request.body }),
      redirect: "manual",
      signal: late.signal,
      client,
    });
    return incomingResponse(response, end);
  } catch (error) {
    end();
    throw error;
  }
}

/**
 * `allowHost`: the config may set a `Host` header; the runtime drops it otherwise. `http2`: a server that floods with
 * informational responses (1xx) or settings over HTTP/2 would stall the process; over TLS, HTTP/1.1 limits the size
 * of a read.
 */
function createClient(tls: ClientTls = {}): Deno.HttpClient {
  return Deno.createHttpClient(
    { poolMaxIdlePerHost: 0, allowHost: true, http2: false, ...tls } as Deno.CreateHttpClientOptions,
  );
}

async function clientFor({ tls }: OutgoingRequest): Promise<Deno.HttpClient> {
  if (tls === undefined) return createClient();
  const { clientTls, TlsSettingsError } = await import("../tls/tls_settings.ts");
  const given = await clientTls(tls);
  try {
    return createClient(given);
  } catch (error) {
    // Key and certificate were validated already.
    const reason = messageOf(error);
    throw new TlsSettingsError(`tls.ca_file has a malformed certificate (${reason})`);
  }
}

/** The runtime sends each character as one byte; characters beyond ASCII are sent as UTF-8. */
function asBytes(value: string): string {
  return Array.from(ENCODER.encode(value), (byte) => String.fromCharCode(byte)).join("");
}

/** Each read of the runtime's own makes a buffer, which costs more than to read it full; so it is given one. */
function incomingResponse(response: Response, end: () => void): IncomingResponse {
  let reader: ReadableStreamBYOBReader | null = null;
  /** `null` while the runtime reads into it. */
  let buffer: ArrayBuffer | null = null;
  let isClosed = false;
  return {
    status: response.status,
    headers: () => response.headers,
    header: (name) => response.headers.get(name),
    async read() {
      if (response.body === null || isClosed) return null;
      reader ??= response.body.getReader({ mode: "byob" });
      const given = new Uint8Array(buffer ?? takeBuffer());
      buffer = null;
      const { done, value } = await reader.read(given);
      buffer = value?.buffer ?? null;
      return done ? null : value;
    },
    async close(): Promise<void> {
      if (isClosed) return;
      isClosed = true;
      try {
        await (reader ?? response.body)?.cancel();
      } catch {
        // The body has failed already, and its connection ended with it.
      } finally {
        if (buffer !== null) giveBuffer(buffer);
        buffer = null;
        end();
      }
    },
  };
}

// Requests over HTTP/1.1 in clear text, and over TLS to a server that other rules than the runtime's accept.
// The runtime's own client reads informational responses (1xx) in a loop that nothing ends as long as they keep
// coming, so a server that floods with them stalls the whole process (the loop that polls a connection is limited,
// hyperium/hyper#1828, but not the one that parses its heads). It also sends a request twice without telling, when the
// server ends the connection before a head (denoland/deno#32566). Over TLS the stall does not happen, because there a
// read brings little at a time.

/** An error of connecting; its cause is the runtime's. */
class ConnectError extends Error {
  override readonly name = "ConnectError";
  constructor(readonly target: ConnectionTarget, readonly during: ConnectionPhase, cause: unknown) {
    super("Cannot connect", { cause });
  }
}

/** Sends a request, and reads the response head. Throws a {@linkcode ConnectError} or an {@linkcode HttpError}. */
async function sendDirectly(request: OutgoingRequest, options: DirectOptions) {
  const { signal } = options;
  const url = new URL(request.target);
  const content = requestBytes(request, url);
  const port = url.port === "" ? url.protocol === "https:" ? 443 : 80 : Number(url.port);
  const target = { host: url.hostname, port, ...request.connection };
  const connection = await open(target, request.refuses, options);
  // Not before data of the same turn of the event loop was read: see `abortLate`.
  const stopListening = onAbort(signal, () => void setImmediate(connection.close));
  const close = (): void => {
    stopListening();
    connection.close();
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
    connection.write(content).catch(() => {});
    const head = await readHead(bytes);
    const read = bodyReader(head, { bytes, method: request.method });
    phase = "body";
    return responseOf(head, read, { close, peer: connection.peer });
  } catch (error) {
    close();
    throw error;
  }
}

interface DirectOptions extends ConnectTcpOptions {
  connections(): Promise<Connections>;
}

interface DirectConnection {
  /** Fills a buffer with the next bytes and returns their number; `null`: the other side has closed. */
  read(buffer: Uint8Array): Promise<number | null>;
  write(bytes: Uint8Array): Promise<void>;
  close(): void;
  readonly peer?: string;
}

/** Connects; with `refuses` over TLS, to a server with a certificate that is not refused. */
async function open(
  target: ConnectionTarget,
  refuses: OutgoingRequest["refuses"],
  { connections, clock, signal }: DirectOptions,
): Promise<DirectConnection> {
  let during: ConnectionPhase = "connecting";
  try {
    if (refuses === undefined) {
      const connection = await connectStream(target, { clock, signal });
      const { remoteAddr } = connection;
      return {
        read: (buffer) => connection.read(buffer),
        write: (bytes) => writeAll(connection, bytes),
        close: () => closeQuietly(connection),
        peer: "hostname" in remoteAddr ? hostAndPort(remoteAddr.hostname, remoteAddr.port) : "a socket",
      };
    }
    const tls = { serverName: target.host, authorities: [], refuses };
    const onPhase = (phase: ConnectionPhase): void => void (during = phase);
    return intoBuffers(await (await connections()).connect({ ...target, tls }, { onPhase, signal }));
  } catch (error) {
    signal.throwIfAborted();
    throw new ConnectError(target, during, error);
  }
}

function intoBuffers({ read, write, close }: Connection): DirectConnection {
  let rest: Uint8Array | null = new Uint8Array();
  return {
    read: async (buffer) => {
      while (rest?.length === 0) rest = await read();
      if (rest === null) return null;
      const part = rest.subarray(0, buffer.length);
      buffer.set(part);
      rest = rest.subarray(part.length);
      return part.length;
    },
    write,
    close,
  };
}

function responseOf(
  head: ResponseHead,
  read: ReadBody | null,
  { close, peer }: { close(): void; readonly peer: string | undefined },
): IncomingResponse {
  const coding = headerOf(head, "content-encoding");
  const dropped = read !== null && isCompressed(coding) ? BEFORE_DECOMPRESSION : NONE;
  return {
    status: head.status,
    ...peer !== undefined && { peer },
    headers: () =>
      new Headers(
        head.fields.filter(([name]) => !dropped.includes(name)).map(([name, value]) => [name, value]),
      ),
    header: (name) => dropped.includes(name.toLowerCase()) ? null : headerOf(head, name.toLowerCase()),
    read: read === null ? () => Promise.resolve(null) : decoded(read, coding),
    close: () => Promise.resolve(close()),
  };
}

/** They describe a body before it is decompressed; the runtime's own client drops them, too. */
const BEFORE_DECOMPRESSION: readonly string[] = ["content-encoding", "content-length"];
const NONE: readonly string[] = [];

const ENCODER = new TextEncoder();

function requestBytes({ method, headers, body }: OutgoingRequest, url: URL): Uint8Array {
  const content = body === undefined ? null : ENCODER.encode(body);
  const fields = new Map<string, string>();
  fields.set("host", url.host);
  if (url.username !== "" || url.password !== "") fields.set("authorization", basicCredentials(url));
  fields.set("accept", "*/*").set("accept-language", "*");
  // Of Brotli little may become very much.
  fields.set("accept-encoding", "gzip");
  if (content !== null) fields.set("content-type", "text/plain;charset=UTF-8");
  for (const [name, value] of Object.entries(headers)) fields.set(name.toLowerCase(), value);
  if (content !== null || method === "POST" || method === "PUT") {
    fields.set("content-length", String(content?.length ?? 0));
  }
  let text = `${method} ${url.pathname}${url.search} HTTP/1.1\r\n`;
  fields.forEach((value, name) => {
    if (BREAKING.test(name) || BREAKING.test(value)) {
      throw new TypeError(`Invalid header: ${JSON.stringify(name)}`);
    }
    text += `${name}: ${value}\r\n`;
  });
  const head = ENCODER.encode(`${text}\r\n`);
  return content === null ? head : joinBytes([head, content]);
}

const BREAKING = /[\r\n\0]/;

function basicCredentials({ username, password }: URL): string {
  const bytes = ENCODER.encode(`${decodeComponent(username)}:${decodeComponent(password)}`);
  return `Basic ${btoa(String.fromCharCode(...bytes))}`;
}
