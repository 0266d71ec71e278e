/**
 * Traces a run: the parts of the machine that a check uses are wrapped, and their calls become lines of text. Values
 * of headers and of JSON whose names are those of credentials are omitted; the caller redacts the rest.
 */
import type { ObserveContext } from "../../domain/check_kind.ts";
import type { TraceDepth } from "../../domain/check.ts";
import type { Clock } from "../../domain/clock.ts";
import type { Redact } from "../../shared/redact.ts";
import { startDeadline, unlessAborted } from "../../shared/deadline.ts";
import { quote, shellWord, truncate } from "../../shared/text.ts";
import { HIDDEN, hideValues } from "./hidden_values.ts";
import type { Files } from "../../domain/system.ts";
import type { CapturedText, Processes } from "../../domain/processes.ts";
import { hostAndPort } from "../../domain/runtime_permissions.ts";
import { describeFileError } from "../../shared/describe_error.ts";
import { reasonOf } from "./record_steps.ts";
import { timeText } from "../../shared/local_time.ts";
import type {
  CertificateReading,
  Connection,
  ConnectionPhase,
  Connections,
  ConnectionTarget,
  Dns,
  HandshakeTarget,
  IncomingResponse,
  OutgoingRequest,
  Requests,
} from "../../domain/connections.ts";
import { decoderFor } from "../../checks/http/response_body.ts";
import { isCredentialName } from "../../config/credentials.ts";
import { canonicalAddress } from "../../shared/ip_address.ts";

type TracedSystem = ObserveContext["system"];

/** The length of all lines together, in UTF-16 units. */
const TRACE_LENGTH_MAX = 64 * 1024;
const LINE_LENGTH_MAX = 500;
/** Maximum time of reading for the trace alone. */
const LATER_TIMEOUT_MS = 2_000;

/** Wraps the parts of the machine that checks use; times begin now. */
export function startTrace(
  system: TracedSystem,
  depth: TraceDepth,
): { readonly system: TracedSystem; readonly tracer: Tracer } {
  const { clock, connections, requests, processes, files, dns } = system;
  const tracer = new Tracer(clock);
  const traced: TracedSystem = {
    ...system,
    requests: traceRequests(requests, { tracer, clock, connections, depth }),
    connections: traceConnections(connections, tracer),
    processes: traceProcesses(processes, tracer),
    files: traceFiles(files, tracer),
    dns: traceDns(dns, tracer),
  };
  return { system: traced, tracer };
}

// Traces commands, files and DNS look-ups.

function traceProcesses(processes: Processes, tracer: Tracer): Processes {
  return {
    ...processes,
    async run(command, signal) {
      tracer.add(`run ${[command.path, ...command.arguments].map(quote).join(" ")}`);
      tracer.addBlock(
        ">",
        `in ${command.directory}, with ${Object.keys(command.environment).join(" ") || "no variables"}`,
      );
      const end = await processes.run(command, signal);
      if (end.ended === "not_started") {
        tracer.add(`cannot start: ${end.reason}`);
        return end;
      }
      if (end.ended === "exited") tracer.add(`exit code ${end.code}`);
      else tracer.add(end.ended === "signalled" ? `terminated by ${end.signal}` : "timeout");
      addOutput("stdout", end.stdout, tracer);
      addOutput("stderr", end.stderr, tracer);
      return end;
    },
  };
}

function addOutput(name: string, { text, truncated }: CapturedText, tracer: Tracer): void {
  if (text === "") return;
  tracer.addBlock("<", `${name}${truncated ? " (cut)" : ""}:`);
  tracer.addBlock("<", text.slice(0, KEPT_LENGTH_MAX).trimEnd());
}

function traceFiles(files: Files, tracer: Tracer): Files {
  const trace = <T>(what: string, path: string, work: Promise<T>, describe: (value: T) => string) =>
    traced(tracer, work, {
      describe: (value) => `${what} ${quote(path)}: ${describe(value)}`,
      explain: (error) => `${what} ${quote(path)}: ${describeFileError(error, { path })}`,
    });
  return {
    ...files,
    stat: (path, options) =>
      trace(
        "look at",
        path,
        files.stat(path, options),
        ({ kind, sizeBytes, modifiedAtMs }) =>
          `${kind}, ${sizeBytes} B, changed ${modifiedAtMs === null ? "never" : timeText(modifiedAtMs)}`,
      ),
    list: (directory) => trace("list", directory, files.list(directory), ({ length }) => `${length} names`),
  };
}

/** Adds what is read, or why it cannot be. */
async function traced<T>(
  tracer: Tracer,
  work: Promise<T>,
  { describe, explain }: { describe(value: T): string; explain(error: unknown): string },
): Promise<T> {
  try {
    const value = await work;
    tracer.add(describe(value));
    return value;
  } catch (error) {
    tracer.add(explain(error));
    throw error;
  }
}

function traceDns(dns: Dns, tracer: Tracer): Dns {
  return {
    ...dns,
    async lookUp(question, signal) {
      const { name, type, server } = question;
      const place = server === null ? "" : ` at ${hostAndPort(server.host, server.port)}`;
      const answer = await dns.lookUp(question, signal);
      const found = "records" in answer ? answer.records.join(", ") : answer.reason;
      tracer.add(`look up ${type} of ${name}${place}: ${found}`);
      return answer;
    },
  };
}

function traceConnections(connections: Connections, tracer: Tracer): Connections {
  const placeOf = ({ host, port, address, socket }: ConnectionTarget): string =>
    socket ?? `${hostAndPort(host, port)}${address === undefined ? "" : ` (${address.address})`}`;
  const explainAt =
    (phase: ConnectionPhase, target: ConnectionTarget, place = placeOf(target)) => (error: unknown): string =>
      `failed: ${place}: ${reasonOf(error, () => connections.explain(error, target, phase).reason)}`;
  return {
    ...connections,
    async connect(target, options) {
      tracer.add(`connecting to ${placeOf(target)}${target.tls === undefined ? "" : " with TLS"}`);
      const connection = await traced(tracer, connections.connect(target, options), {
        describe: () => `connected to ${placeOf(target)}`,
        explain: explainAt("connecting", target),
      });
      return traceConnection(connection, tracer);
    },
    resolve: (target, signal) =>
      traced(tracer, connections.resolve(target, signal), {
        describe: (found) => `addresses of ${target.host}: ${found.map(({ address }) => address).join(", ")}`,
        explain: explainAt("connecting", target, target.host),
      }),
    readTime(target, signal) {
      tracer.add(`asking ${placeOf(target)} for the time`);
      return traced(tracer, connections.readTime(target, signal), {
        explain: explainAt("reading", target),
        describe: ({ offsetMs, roundTripMs, stratum }) =>
          `offset ${offsetMs.toFixed(1)} ms, round trip ${roundTripMs.toFixed(1)} ms, stratum ${stratum}`,
      });
    },
    readCertificate(target, options) {
      tracer.add(`reading the certificate of ${placeOf(target)}`);
      return traced(tracer, connections.readCertificate(target, options), {
        describe: (reading) => describeCertificate(reading, target),
        explain: explainAt("TLS", target),
      });
    },
  };
}

/** Data that is received in a row is shown in one piece: a secret may arrive in two. */
function traceConnection(connection: Connection, tracer: Tracer): Connection {
  const decoder = new TextDecoder();
  let received = "";
  const showReceived = (): void => {
    if (received !== "") tracer.addBlock("<", received);
    received = "";
  };
  const { startTls } = connection;
  return {
    ...startTls !== undefined && {
      startTls: async (tls) => {
        showReceived();
        tracer.add(`TLS handshake for ${tls.serverName}`);
        await startTls(tls);
        tracer.add("TLS started");
      },
    },
    async read() {
      const chunk = await connection.read();
      tracer.add(chunk === null ? "the server ended the connection" : `received ${chunk.length} B`);
      if (chunk !== null && received.length < KEPT_LENGTH_MAX) {
        received += decoder.decode(chunk.subarray(0, KEPT_LENGTH_MAX), { stream: true });
      }
      return chunk;
    },
    async write(bytes) {
      showReceived();
      await connection.write(bytes);
      tracer.add(`sent ${bytes.length} B`);
      tracer.addBlock(">", new TextDecoder().decode(bytes.subarray(0, KEPT_LENGTH_MAX)));
    },
    close: () => {
      connection.close();
      showReceived();
      tracer.add("closed");
    },
  };
}

interface Tracing extends Pick<TracedSystem, "clock" | "connections"> {
  readonly tracer: Tracer;
  readonly depth: TraceDepth;
}

function traceRequests(requests: Requests, tracing: Tracing): Requests {
  const { tracer, depth } = tracing;
  return {
    ...requests,
    async send(request, signal) {
      const { method, target, headers, body } = request;
      const url = new URL(target);
      const place = request.connection?.socket ?? request.connection?.address?.address;
      const by = place === undefined ? "" : ` by ${place}`;
      tracer.add(`request ${method} ${url.origin}${url.pathname}${hideQuery(url)}${by}`);
      if (depth === "full" && url.protocol === "https:") {
        tracer.addLater(url.host, (later) => traceTls(request, later, tracing));
      }
      for (const [name, value] of Object.entries(headers)) tracer.addBlock(">", headerLine(name, value));
      if (body !== undefined) tracer.addBlock(">", `(body of ${new TextEncoder().encode(body).length} B)`);
      try {
        return traceResponse(await requests.send(request, signal), signal, tracing);
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
  signal: AbortSignal,
  { tracer, clock, depth }: Tracing,
): IncomingResponse {
  const { peer } = response;
  tracer.add(`response ${response.status}${peer === undefined ? "" : ` from ${peer}`}`);
  // The iterator of `Headers` starts over at each step, so a long head would block the event loop.
  response.headers().forEach((value, name) => tracer.addBlock("<", headerLine(name, value)));
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
    headers: () => response.headers(),
    header: (name) => response.header(name),
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
  request: OutgoingRequest,
  signal: AbortSignal,
  { connections, tracer }: Tracing,
): Promise<void> {
  const { hostname: host, port: given } = new URL(request.target);
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
const EXCERPT_LENGTH_MAX = 1024;
/** The length that is kept of a body or an output until it is redacted. */
const KEPT_LENGTH_MAX = 8 * EXCERPT_LENGTH_MAX;

class Tracer {
  readonly #clock: Clock;
  readonly #startedMs: number;
  readonly #entries: { readonly prefix: string; readonly text: string }[] = [];
  readonly #later = new Map<string, (signal: AbortSignal) => Promise<void>>();
  #length = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
  }

  /** Adds a line, with the time since the begin of the run. */
  add(text: string): void {
    this.#push(`${(this.#clock.monotonicMs() - this.#startedMs).toFixed(1).padStart(8)} ms  `, text);
  }

  /** Adds lines of sent or received data; `mark` is before each. */
  addBlock(mark: string, text: string): void {
    this.#push(`             ${mark} `, text);
  }

  /**
   * Reads something for the trace alone once the check has its result, so that a server that responds only to the
   * check changes neither result nor duration. Work of the same key is done once.
   */
  addLater(key: string, work: (signal: AbortSignal) => Promise<void>): void {
    this.#later.set(key, work);
  }

  /** Reads data for the trace alone. The run has its result by then, also if the signal aborts. */
  async finish(signal: AbortSignal): Promise<void> {
    using deadline = startDeadline(this.#clock, LATER_TIMEOUT_MS, signal);
    for (const work of this.#later.values()) await work(deadline.signal);
  }

  /** The trace of the run, without secrets. */
  text(redact: Redact): string {
    // Redacted before it is cut: a part of a secret would not be found.
    return this.#entries.flatMap(({ prefix, text }) =>
      truncate(hideValues(redact(text, { isCut: true })), EXCERPT_LENGTH_MAX).split("\n")
        .map((line) => `${prefix}${truncate(line, LINE_LENGTH_MAX)}`)
    ).join("\n");
  }

  #push(prefix: string, text: string): void {
    if (this.#length > TRACE_LENGTH_MAX) return;
    this.#length += text.length + prefix.length;
    const isLeftOut = this.#length > TRACE_LENGTH_MAX;
    this.#entries.push(isLeftOut ? { prefix: "", text: "… (the rest is left out)" } : { prefix, text });
  }
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
export function describeCertificate({ problem, facts }: CertificateReading, target: HandshakeTarget): string {
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
