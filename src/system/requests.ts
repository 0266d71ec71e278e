import type { IncomingResponse, OutgoingRequest, Requests } from "../domain/system.ts";
import { abortLate } from "./deno_workarounds/late_abort.ts";
import { explainRequestError } from "./request_failure.ts";
import type { ClientTls } from "./tls_settings.ts";

/**
 * The runtime's HTTP client as {@link Requests}: every request gets a connection of its own, which is gone when
 * the response is closed.
 *
 * Plain requests that are under way at the same time share a client, since making one costs more than a request
 * over loopback does. An `https:` request has its own, because a client resumes TLS sessions, and a resumed
 * session shows no certificate. No client outlives its last request, so nothing needs to be shut down, except where
 * somebody keeps it (`keepShared`).
 *
 * The runtime sends a request once more, without telling, when the server ends the connection before a response head
 * (denoland/deno#35610, see `tests/system/deno_workarounds/fetch_retry_test.ts`). No option prevents that, so there only the second such failure in a row is
 * seen.
 */
export function createRequests(): Requests {
  const shared = shareClient();
  return {
    keepShared: shared.keep,
    async send(request: OutgoingRequest, signal: AbortSignal): Promise<IncomingResponse> {
      signal.throwIfAborted();
      const { client, giveBack } = isPlain(request.target) ? shared.borrow() : await clientFor(request);
      const late = abortLate(signal);
      const end = (): void => {
        late.stop();
        giveBack();
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
    },
    explain: explainRequestError,
  };
}

/** A client, and how to say that it is no longer used. */
interface BorrowedClient {
  readonly client: Deno.HttpClient;
  /** Must be called exactly once. */
  giveBack(): void;
}

function isPlain(target: string): boolean {
  return /^http:/i.test(target);
}

/**
 * `allowHost`: the document may set a `Host` header; the runtime drops it otherwise. With HTTP/2 it would be dropped
 * all the same.
 */
function createClient(tls: ClientTls & { http2?: boolean } = {}): Deno.HttpClient {
  return Deno.createHttpClient(
    { poolMaxIdlePerHost: 0, allowHost: true, ...tls } as Deno.CreateHttpClientOptions,
  );
}

async function clientFor({ tls, headers }: OutgoingRequest): Promise<BorrowedClient> {
  const settings = Object.keys(headers).some((name) => /^host$/i.test(name)) ? { http2: false } : {};
  if (tls === undefined) return ownClient(createClient(settings));
  const { clientTls, TlsSettingsError } = await import("./tls_settings.ts");
  const given = await clientTls(tls);
  try {
    return ownClient(createClient({ ...settings, ...given }));
  } catch (error) {
    // Key and certificate were looked at already.
    const reason = error instanceof Error ? error.message : String(error);
    throw new TlsSettingsError(`tls.authority has a malformed certificate (${reason})`);
  }
}

function ownClient(client: Deno.HttpClient): BorrowedClient {
  return { client, giveBack: () => client.close() };
}

/** The runtime sends each character as one byte; what is beyond ASCII goes as UTF-8. */
function asBytes(value: string): string {
  // deno-lint-ignore no-control-regex
  if (/^[\u0000-\u007f]*$/.test(value)) return value;
  return Array.from(new TextEncoder().encode(value), (byte) => String.fromCharCode(byte)).join("");
}

/** Lends one client to all who need one at a time; who gives it back last closes it, unless it is kept. */
function shareClient(): { borrow(): BorrowedClient; keep(): () => void } {
  let client: Deno.HttpClient | null = null;
  let users = 0;
  const leave = (): void => {
    users -= 1;
    if (users > 0) return;
    client?.close();
    client = null;
  };
  return {
    borrow: () => {
      users += 1;
      return { client: client ??= createClient(), giveBack: leave };
    },
    keep: () => {
      users += 1;
      return leave;
    },
  };
}

/** Up to here a body is read in one go. */
const SMALL_BODY_BYTES_MAX = 1024 * 1024;

/**
 * Reading a body's stream costs 130 µs in this runtime, `bytes()` 5 µs. `Content-Length` bounds only what is not
 * encoded.
 */
function hasSmallBody(headers: Headers): boolean {
  const length = headers.get("content-length");
  return length !== null && Number(length) <= SMALL_BODY_BYTES_MAX && !headers.has("content-encoding");
}

function incomingResponse(response: Response, giveBack: () => void): IncomingResponse {
  let closed = false;
  return {
    status: response.status,
    headers: response.headers,
    body: response.body,
    smallBody: hasSmallBody(response.headers) ? () => response.bytes() : null,
    async close(): Promise<void> {
      if (closed) return;
      closed = true;
      try {
        await response.body?.cancel();
      } catch {
        // The body has failed already, and its connection ended with it.
      } finally {
        giveBack();
      }
    },
  };
}
