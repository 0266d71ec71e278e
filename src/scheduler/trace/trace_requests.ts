import { decoderFor } from "../../checks/http/response_body.ts";
import type { Clock } from "../../domain/clock.ts";
import type {
  CertificateReading,
  Connections,
  HandshakeTarget,
  IncomingResponse,
  OutgoingRequest,
  Requests,
} from "../../domain/connections.ts";
import type { TraceDepth } from "../../domain/check.ts";
import { startDeadline, unlessAborted } from "../../shared/deadline.ts";
import { isCredentialName } from "../../config/credentials.ts";
import { HIDDEN } from "./hidden_values.ts";
import { hostAndPort } from "../../domain/runtime_permissions.ts";
import { canonicalAddress } from "../../shared/ip_address.ts";
import { quote, shellWord } from "../../shared/text.ts";

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
  // The iterator of `Headers` starts over at each step, so a long head would block the event loop.
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

/** A request of the runtime exposes neither IP addresses nor certificates, so these are read over a second connection. */
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
    const { refuses } = request;
    const reason = reading.facts === null ? null : refuses?.(reading.facts) ?? null;
    const shown = refuses === undefined
      ? reading
      : { ...reading, problem: reason === null ? null : { about: "names" as const, reason } };
    tracer.add(`TLS (second connection): ${describeCertificate(shown, { ...target, tls })}`);
  } catch (error) {
    const reason = signal.aborted ? "no response in time" : connections.explain(error, target, "TLS").reason;
    tracer.add(`TLS (second connection): ${reason}`);
  }
}

// The lines of a trace, and the values that they never show.

/** The length of the excerpt of a body or an output, in UTF-16 units. */
export const EXCERPT_LENGTH_MAX = 1024;
/** The length that is kept of a body or an output until it is redacted. */
export const KEPT_LENGTH_MAX = 8 * EXCERPT_LENGTH_MAX;

export interface Tracer {
  /** Adds a line, with the time since the begin of the run. */
  add(text: string): void;
  /** Adds lines of sent or received data; `mark` is before each. */
  addBlock(mark: string, text: string): void;
  /**
   * Reads something for the trace alone once the check has its result, so that a server that responds only to the
   * check changes neither result nor duration. Work of the same key is done once.
   */
  addLater(key: string, work: (signal: AbortSignal) => Promise<void>): void;
}

function headerLine(name: string, value: string): string {
  return `${name}: ${isCredentialName(name) ? HIDDEN : value}`;
}

/** Names are as good as the whole query. */
function hideQuery({ searchParams }: URL): string {
  const shown = [...searchParams].map(([name, value]) =>
    `${name}=${isCredentialName(name) ? HIDDEN : value}`
  );
  return shown.length === 0 ? "" : `?${shown.join("&")}`;
}

/**
 * Describes a certificate. The runtime shows only the first one that a server sends, and a missing intermediate
 * certificate makes it untrusted; so a command follows that lists them all.
 */
export function describeCertificate(
  { problem, facts }: CertificateReading,
  target: HandshakeTarget,
): string {
  return [
    ...facts === null ? [] : [
      `certificate for ${facts.names.length === 0 ? "no name" : facts.names.join(", ")}, issued by ${
        quote(facts.issuer)
      }, ` +
      `valid from ${dayOf(facts.validFromMs)} to ${dayOf(facts.validToMs)}, SHA-256 ${facts.fingerprint}`,
    ],
    problem === null ? "trusted" : `not accepted: ${problem.reason}`,
    ...problem?.about === "trust" ? [`all that the server sends: ${chainCommand(target)}`] : [],
  ].join("; ");
}

function chainCommand({ host, port, address, tls, startTls }: HandshakeTarget): string {
  return [
    ...["openssl", "s_client", "-showcerts", "-connect", hostAndPort(address?.address ?? host, port)],
    ...canonicalAddress(tls.serverName.replaceAll(/[[\]]/g, "")) === null
      ? ["-servername", tls.serverName]
      : [],
    ...startTls === undefined ? [] : ["-starttls", startTls],
  ].map(shellWord).join(" ");
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
