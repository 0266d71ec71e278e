/**
 * Servers for HTTP/1.1, one request a connection. `Deno.serve` and `node:http` on Deno 2.7 limit neither connections
 * nor the time of a head, so this is written out. With one request a connection there is no pipelining, and nothing
 * can be smuggled.
 *
 * Pauses limit the cost of clients, since all of them share one thread with the checks: connections are accepted one
 * by one, and a client that sends its bytes in small pieces is read only periodically.
 */
import { pause } from "../../shared/deadline.ts";
import { systemCodeOf } from "../../shared/describe_error.ts";
import { joinBytes } from "../../shared/text.ts";
import type { Clock } from "../../domain/clock.ts";
import {
  type HttpServer,
  type HttpServers,
  type IncomingRequest,
  type ListenAddress,
  ListenError,
  type ServeOptions,
  type ServerResponse,
} from "../../domain/http_servers.ts";
import { clientNetwork } from "../../shared/ip_address.ts";
import { hostAndPort } from "../../domain/runtime_permissions.ts";
import { closeQuietly, writeAll } from "../tcp/tcp_stream.ts";
import {
  bodyReader,
  ByteReader,
  headerOf,
  HttpError,
  type ReadBody,
  readRequestHead,
  RequestError,
  type RequestHead,
} from "./http_message.ts";

const CONNECTIONS_MAX = 256;
const HEAD_MS_MAX = 10_000;
/** From the first byte to the last one of the response. */
const REQUEST_MS_MAX = 60_000;
/** At most 500 connections a second, with those of clients that have disconnected already. */
const ACCEPT_PAUSE_MS = 2;
/** At most 50 reads a second of each connection after its first. */
const READ_PAUSE_MS = 20;
/** How long a client may keep sending data that is not read, so that it can read the response. */
const LINGER_MS_MAX = 1_000;
const LINGER_PAUSE_MS = 100;
const OUT_OF_DESCRIPTORS_PAUSE_MS = 500;

export function createHttpServers(clock: Clock): HttpServers {
  return {
    listen: async (address, options) => {
      const listener = await listenAt(address);
      const server = new Server(listener, { ...options, clock });
      return { port: listener.addr.port, close: () => server.close() };
    },
  };
}

async function listenAt({ host, port }: ListenAddress): Promise<Deno.TcpListener> {
  try {
    return await Deno.listen({ hostname: host, port });
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    const reason = LISTEN_REASONS.find(([kind]) => error instanceof kind)?.[1] ?? String(error);
    throw new ListenError(`cannot listen on "${hostAndPort(host, port)}": ${reason}`, { cause: error });
  }
}

const LISTEN_REASONS: readonly (readonly [new (message: string) => Error, string])[] = [
  [Deno.errors.AddrInUse, "another process listens on this port"],
  [Deno.errors.AddrNotAvailable, "this machine does not have this address"],
  [Deno.errors.PermissionDenied, "permission denied, ports below 1024 are for root"],
];

class Server implements Pick<HttpServer, "close"> {
  readonly #listener: Deno.TcpListener;
  readonly #options: ServeOptions & { readonly clock: Clock };
  readonly #open = new Set<Conversation>();
  readonly #accepting: Promise<void>;
  #isClosed = false;

  constructor(listener: Deno.TcpListener, options: ServeOptions & { readonly clock: Clock }) {
    this.#listener = listener;
    this.#options = options;
    this.#accepting = this.#accept();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#listener.close();
    const conversations = [...this.#open];
    for (const conversation of conversations) conversation.close();
    await Promise.all([this.#accepting, ...conversations.map(({ ended }) => ended)]);
  }

  async #accept(): Promise<void> {
    for (;;) {
      const pauseMs = await this.#acceptOne();
      if (this.#isClosed) return;
      await pause(this.#options.clock, pauseMs);
    }
  }

  async #acceptOne(): Promise<number> {
    let connection: Deno.TcpConn;
    try {
      connection = await this.#listener.accept();
    } catch (error) {
      const isShort = ["EMFILE", "ENFILE"].includes(systemCodeOf(error));
      return isShort ? OUT_OF_DESCRIPTORS_PAUSE_MS : ACCEPT_PAUSE_MS;
    }
    if (this.#open.size >= CONNECTIONS_MAX) this.#makeRoom();
    const conversation = new Conversation(connection, this.#options);
    this.#open.add(conversation);
    void conversation.ended.then(() => this.#open.delete(conversation));
    return ACCEPT_PAUSE_MS;
  }

  /** Closes a connection of the client that has the most, the oldest idle one first, so that it keeps no other out. */
  #makeRoom(): void {
    const byPeer = [...Map.groupBy(this.#open, ({ peer }) => peer).values()];
    const [most = []] = byPeer.sort((one, other) => other.length - one.length);
    const chosen = most.find(({ waits }) => waits) ?? most[0];
    if (chosen === undefined) return;
    chosen.close();
    this.#open.delete(chosen);
  }
}

class Conversation {
  /** Never rejects. */
  readonly ended: Promise<void>;
  readonly peer: string;
  readonly #connection: Deno.TcpConn;
  readonly #options: ServeOptions & { readonly clock: Clock };
  readonly #bytes: ByteReader;
  #pauseMs = 0;
  #waits = false;
  #isClosed = false;
  /** Whether the client may be sending something that was not read. */
  #isUnread = true;

  constructor(connection: Deno.TcpConn, options: ServeOptions & { readonly clock: Clock }) {
    this.peer = clientNetwork(connection.remoteAddr.hostname);
    this.#connection = connection;
    this.#options = options;
    this.#bytes = new ByteReader((buffer) => this.#read(buffer));
    this.ended = this.#converse().catch(() => {
      // The client has left, or its time was up.
    }).finally(() => this.close());
  }

  get waits(): boolean {
    return this.#waits;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    closeQuietly(this.#connection);
    this.#bytes.close();
  }

  async #converse(): Promise<void> {
    const { clock } = this.#options;
    const cancelRequest = clock.after(REQUEST_MS_MAX, () => this.close());
    const cancelHead = clock.after(HEAD_MS_MAX, () => this.close());
    try {
      this.#connection.setNoDelay(true);
      const head = await this.#readHead();
      cancelHead();
      if (head !== null) await this.#send(await this.#handle(head), head);
    } finally {
      cancelHead();
      cancelRequest();
    }
  }

  /** `null`: there is no request, or it was rejected. */
  async #readHead(): Promise<RequestHead | null> {
    try {
      return await readRequestHead(this.#bytes);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      await this.#send(plain(error.status, error.message), { method: "GET", minorVersion: "1" });
      return null;
    }
  }

  async #handle(head: RequestHead): Promise<ServerResponse> {
    try {
      const read = requestBody(head, this.#bytes);
      this.#isUnread = read !== null;
      return await this.#options.handle(this.#toRequest(head, read));
    } catch (error) {
      if (error instanceof RequestError) return plain(error.status, error.message);
      if (this.#isClosed || error instanceof HttpError || error instanceof ConnectionLostError) throw error;
      this.#options.onBug(error);
      return plain(500, "bug in monitor, see its log");
    }
  }

  #toRequest(head: RequestHead, read: ReadBody | null): IncomingRequest {
    const header = (name: string): string | null => headerOf(head, name);
    return {
      method: head.method,
      target: head.target,
      address: this.#connection.remoteAddr.hostname.replace(/^::ffff:(?=.*\.)/, ""),
      header,
      readTail: async (bytesMax) => {
        if (read === null) return new Uint8Array();
        if (header("expect")?.toLowerCase() === "100-continue") {
          await writeAll(this.#connection, CONTINUE);
        }
        const tail = await readTail(read, bytesMax);
        this.#isUnread = false;
        return tail;
      },
    };
  }

  async #read(buffer: Uint8Array): Promise<number | null> {
    if (this.#pauseMs > 0) await pause(this.#options.clock, this.#pauseMs);
    this.#pauseMs ||= READ_PAUSE_MS;
    this.#waits = true;
    try {
      return await this.#connection.read(buffer);
    } catch (error) {
      throw new ConnectionLostError("Cannot read the request", { cause: error });
    } finally {
      this.#waits = false;
    }
  }

  async #send(
    response: ServerResponse,
    { method, minorVersion }: Pick<RequestHead, "method" | "minorVersion">,
  ): Promise<void> {
    const body = typeof response.body === "string" ? new TextEncoder().encode(response.body) : response.body;
    const isChunked = !(body instanceof Uint8Array) && minorVersion === "1";
    const headers = {
      ...response.headers,
      ...body instanceof Uint8Array && { "content-length": body.length },
      ...isChunked && { "transfer-encoding": "chunked" },
      "date": new Date(this.#options.clock.wallMs()).toUTCString(),
      "connection": "close",
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const { status } = response;
    this.#waits = true;
    const head = `HTTP/1.1 ${status} ${REASONS[status] ?? "Status"}\r\n${lines.join("")}\r\n`;
    await writeAll(this.#connection, new TextEncoder().encode(head));
    if (method !== "HEAD") {
      if (body instanceof Uint8Array) await writeAll(this.#connection, body);
      else await this.#sendParts(body, isChunked);
    }
    await this.#connection.closeWrite();
    if (this.#isUnread) await this.#linger();
  }

  async #sendParts(parts: AsyncIterable<Uint8Array>, isChunked: boolean): Promise<void> {
    const encoder = new TextEncoder();
    const framed = (part: Uint8Array): Uint8Array =>
      joinBytes([encoder.encode(`${part.length.toString(16)}\r\n`), part, encoder.encode("\r\n")]);
    try {
      for await (const part of parts) {
        // A chunk without bytes would be the end.
        if (part.length > 0) await writeAll(this.#connection, isChunked ? framed(part) : part);
      }
    } catch (error) {
      throw new ConnectionLostError("Cannot send the whole response", { cause: error });
    }
    if (isChunked) await writeAll(this.#connection, framed(new Uint8Array()));
  }

  /** The system resets a connection that is closed with unread bytes, and the client would not see the response. */
  async #linger(): Promise<void> {
    this.#pauseMs = LINGER_PAUSE_MS;
    const cancel = this.#options.clock.after(LINGER_MS_MAX, () => this.close());
    try {
      do this.#bytes.take(Infinity); while (await this.#bytes.fill());
    } finally {
      cancel();
    }
  }
}

class ConnectionLostError extends Error {}

/** `null`: the request has no body. */
function requestBody(head: RequestHead, bytes: ByteReader): ReadBody | null {
  const codings = headerOf(head, "transfer-encoding");
  const length = headerOf(head, "content-length");
  if (codings === null && length === null) return null;
  if (codings !== null && (length !== null || codings.trim().toLowerCase() !== "chunked")) {
    throw new RequestError(400, "expected content-length, or transfer-encoding chunked");
  }
  try {
    return bodyReader({ ...head, status: 200 }, { bytes, method: "POST" });
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    throw new RequestError(400, "the length of the body is malformed");
  }
}

async function readTail(read: ReadBody, bytesMax: number): Promise<Uint8Array> {
  let tail = new Uint8Array();
  for (let part = await read(); part !== null; part = await read()) {
    tail = joinBytes([tail, part]).subarray(-bytesMax);
  }
  return tail;
}

function plain(status: number, text: string): ServerResponse {
  return { status, headers: { "content-type": "text/plain; charset=utf-8" }, body: `${text}\n` };
}

const CONTINUE = new TextEncoder().encode("HTTP/1.1 100 Continue\r\n\r\n");

/** Simple health checks of load balancers look for the words of a status, too. */
const REASONS: Readonly<Record<number, string>> = {
  200: "OK",
  303: "See Other",
  304: "Not Modified",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  421: "Misdirected Request",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  503: "Service Unavailable",
};
