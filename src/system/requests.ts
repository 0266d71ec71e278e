import type { IncomingResponse, OutgoingRequest, Requests } from "../domain/system.ts";
import { explainRequestError } from "./request_failure.ts";

/**
 * The runtime's HTTP client as {@link Requests}: every request gets a connection of its own, which is gone when
 * the response is closed.
 *
 * Plain requests that are under way at the same time share a client, since making one costs more than a request
 * over loopback does. An `https:` request has its own, because a client resumes TLS sessions, and a resumed
 * session shows no certificate. No client outlives its last request, so nothing needs to be shut down.
 *
 * Deno 2.7 sends a request once more, without telling, when the server ends the connection before a response head
 * (denoland/deno#32566; 2.9 does not). No option prevents that, so there only the second such failure in a row is
 * seen.
 */
export function createRequests(): Requests {
  const borrowShared = shareClient();
  return {
    async send(request: OutgoingRequest, signal: AbortSignal): Promise<IncomingResponse> {
      signal.throwIfAborted();
      const { client, giveBack } = isPlain(request.target) ? borrowShared() : ownClient();
      try {
        const response = await fetch(request.target, {
          method: request.method,
          headers: request.headers,
          ...(request.body !== undefined && { body: request.body }),
          redirect: "manual",
          signal,
          client,
        });
        return incomingResponse(response, giveBack);
      } catch (error) {
        giveBack();
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

/** `allowHost`: the document may set a `Host` header; the runtime drops it otherwise. */
function createClient(): Deno.HttpClient {
  return Deno.createHttpClient({ poolMaxIdlePerHost: 0, allowHost: true });
}

function ownClient(): BorrowedClient {
  const client = createClient();
  return { client, giveBack: () => client.close() };
}

/** Lends one client to all who need one at a time; the last to give it back closes it. */
function shareClient(): () => BorrowedClient {
  let shared: { readonly client: Deno.HttpClient; borrowers: number } | null = null;
  return () => {
    const lent = shared ??= { client: createClient(), borrowers: 0 };
    lent.borrowers += 1;
    const giveBack = () => {
      lent.borrowers -= 1;
      if (lent.borrowers > 0) return;
      shared = null;
      lent.client.close();
    };
    return { client: lent.client, giveBack };
  };
}

function incomingResponse(response: Response, giveBack: () => void): IncomingResponse {
  let closed = false;
  return {
    status: response.status,
    headers: response.headers,
    body: response.body,
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
