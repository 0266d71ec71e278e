import { messageOf } from "../../shared/describe_error.ts";
import { hostAndPort } from "../../domain/runtime_permissions.ts";
import type { Clock } from "../../domain/clock.ts";
import type { IncomingResponse, OutgoingRequest, RequestFailure, Requests } from "../../domain/requests.ts";
import type { System } from "../../domain/system.ts";
import { explainConnectionError } from "../tcp/connection_failure.ts";
import { HttpError } from "./http_head.ts";
import { abortLate } from "../deno_workarounds/late_abort.ts";
import { ConnectError, sendPlain } from "./plain_http.ts";
import { giveBuffer, takeBuffer } from "./read_buffers.ts";
import { explainRequestError } from "./request_failure.ts";
import type { ClientTls } from "../tls/tls_settings.ts";

export interface RequestsOptions {
  readonly clock: Clock;
  /** Reads a variable; those that name a proxy matter. @default there are none */
  readonly environment?: System["environment"];
}

/**
 * Creates a new connection for each request, which is closed with the response.
 *
 * Clear text is sent and read here ({@linkcode sendPlain}); the runtime's HTTP client does the rest: TLS, and
 * requests via a proxy. Each gets its own client, because a client resumes TLS sessions, and a resumed session
 * exposes no certificate.
 *
 * The runtime's client silently sends a request again when the server closes the connection before a response head
 * (denoland/deno#35610, see `tests/system/deno_workarounds/fetch_retry_test.ts`). No option prevents that, so there
 * only the second such failure in a row is detected.
 */
export function createRequests({ clock, environment = () => undefined }: RequestsOptions): Requests {
  return {
    async send(request: OutgoingRequest, signal: AbortSignal): Promise<IncomingResponse> {
      signal.throwIfAborted();
      const isPlain = /^http:/i.test(request.target);
      if (!isPlain && request.connection !== undefined) {
        throw new TypeError("Only http: can connect elsewhere");
      }
      const isDirect = isPlain &&
        (request.connection !== undefined || !PLAIN_PROXY_VARIABLES.some((name) => environment(name)));
      return isDirect ? await sendPlain(request, { clock, signal }) : await sendByRuntime(request, signal);
    },
    explain: (error, target) => {
      if (error instanceof HttpError) return { phase: error.phase, reason: error.message };
      if (error instanceof ConnectError) return explainConnect(error);
      return explainRequestError(error, target);
    },
  };
}

/** They may name a proxy for requests in clear text. */
const PLAIN_PROXY_VARIABLES: readonly string[] = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

function explainConnect({ cause, target }: ConnectError): RequestFailure {
  const { phase, reason } = explainConnectionError(cause, target, "connecting");
  const { host, port, address, socket } = target;
  return {
    phase: phase === "permission" || phase === "machine" || phase === "resolving" ? phase : "connecting",
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
  // deno-lint-ignore no-control-regex
  if (/^[\u0000-\u007f]*$/.test(value)) return value;
  return Array.from(new TextEncoder().encode(value), (byte) => String.fromCharCode(byte)).join("");
}

/** Each read of the runtime's own makes a buffer, which costs more than to read it full; so it is given one. */
function incomingResponse(response: Response, end: () => void): IncomingResponse {
  let reader: ReadableStreamBYOBReader | null = null;
  /** `null` while the runtime reads into it. */
  let buffer: ArrayBuffer | null = null;
  let isClosed = false;
  return {
    status: response.status,
    headers: response.headers,
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
