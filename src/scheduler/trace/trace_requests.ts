import { decoderFor } from "../../checks/http/response_body.ts";
import type { Clock } from "../../domain/clock.ts";
import type { Connections } from "../../domain/connections.ts";
import type { IncomingResponse, OutgoingRequest, Requests } from "../../domain/requests.ts";
import type { TraceDepth } from "../../domain/trace.ts";
import { startDeadline, unlessAborted } from "../../shared/deadline.ts";
import { describeCertificate } from "./trace_certificates.ts";
import { EXCERPT_LENGTH_MAX, headerLine, hideQuery, KEPT_LENGTH_MAX, type Tracer } from "./tracer.ts";

export function traceRequests(
  requests: Requests,
  { tracer, clock, connections, depth }: {
    readonly tracer: Tracer;
    readonly clock: Clock;
    readonly connections: Connections;
    readonly depth: TraceDepth;
  },
): Requests {
  return {
    ...requests,
    async send(request, signal) {
      const { method, target, headers, body } = request;
      const url = new URL(target);
      const place = request.connection?.socket ?? request.connection?.address?.address;
      const by = place === undefined ? "" : ` by ${place}`;
      tracer.add(`request ${method} ${url.origin}${url.pathname}${hideQuery(url)}${by}`);
      if (depth === "full" && url.protocol === "https:") {
        tracer.addLater(url.host, (later) => traceTls(url, { connections, tracer, signal: later, request }));
      }
      for (const [name, value] of Object.entries(headers)) tracer.addBlock(">", headerLine(name, value));
      if (body !== undefined) tracer.addBlock(">", `(body of ${new TextEncoder().encode(body).length} B)`);
      try {
        return traceResponse(await requests.send(request, signal), { tracer, clock, depth, signal });
      } catch (error) {
        const failure = signal.aborted ? null : requests.explain(error, target);
        tracer.add(
          failure === null
            ? `no response head${by}: timeout`
            : `no response${by}: ${failure.phase}: ${failure.reason}`,
        );
        throw error;
      }
    },
  };
}

/** An error page that the check does not read is read for the trace, no longer than this. */
const UNREAD_BODY_TIMEOUT_MS = 1000;

function traceResponse(
  response: IncomingResponse,
  { tracer, clock, depth, signal }: {
    readonly tracer: Tracer;
    readonly clock: Clock;
    readonly depth: TraceDepth;
    readonly signal: AbortSignal;
  },
): IncomingResponse {
  const { peer } = response;
  tracer.add(`response ${response.status}${peer === undefined ? "" : ` from ${peer}`}`);
  // The iterator of `Headers` begins anew at each step, so a long head would keep everything else waiting.
  response.headers.forEach((value, name) => tracer.addBlock("<", headerLine(name, value)));
  let bytes = 0;
  let start = "";
  let isWhole = false;
  let isRead = false;
  // Otherwise a secret in another charset would not be found.
  const { decoder } = decoderFor(response.header("content-type"));
  const read = async (): Promise<Uint8Array | null> => {
    isRead = true;
    const chunk = await response.read();
    isWhole = chunk === null;
    bytes += chunk?.length ?? 0;
    if (chunk !== null && start.length < KEPT_LENGTH_MAX) {
      start += decoder.decode(chunk.subarray(0, KEPT_LENGTH_MAX), { stream: true });
    }
    return chunk;
  };
  const readStart = async (): Promise<void> => {
    using deadline = startDeadline(clock, UNREAD_BODY_TIMEOUT_MS, signal);
    try {
      while (!isWhole && bytes < EXCERPT_LENGTH_MAX) await unlessAborted(read(), deadline.signal);
    } catch {
      // The check has its result without the body.
    }
  };
  return {
    status: response.status,
    headers: response.headers,
    header: response.header,
    read,
    async close() {
      if (!isRead && (depth === "full" || response.status >= 400)) await readStart();
      await response.close();
      tracer.add(isRead ? `body of ${bytes} B${isWhole ? "" : " or more"}` : "body not read");
      if (start !== "") tracer.addBlock("<", start);
    },
  };
}

/**
 * A request of the runtime exposes neither IP addresses nor certificates, so these are read over a second connection.
 */
async function traceTls(
  { hostname: host, port: given }: URL,
  { connections, tracer, signal, request }: {
    readonly connections: Connections;
    readonly tracer: Tracer;
    readonly signal: AbortSignal;
    readonly request: OutgoingRequest;
  },
): Promise<void> {
  const target = { host, port: given === "" ? 443 : Number(given) };
  try {
    const addresses = await connections.resolve(target, signal);
    tracer.add(`addresses of ${host}: ${addresses.map(({ address }) => address).join(", ")}`);
    const authority = request.tls?.authority;
    const tls = { serverName: host, authorities: authority === undefined ? [] : [authority] };
    const reading = await connections.readCertificate({ ...target, tls }, { signal });
    tracer.add(`TLS (second connection): ${describeCertificate(reading, { ...target, tls })}`);
  } catch (error) {
    const reason = signal.aborted ? "no response in time" : connections.explain(error, target, "TLS").reason;
    tracer.add(`TLS (second connection): ${reason}`);
  }
}
