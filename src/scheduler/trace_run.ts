/**
 * Traces a run: the parts of the machine that a check uses are wrapped, and what it does with them becomes lines of
 * text. Values of headers and of JSON whose names are those of credentials are left out; the caller redacts the rest.
 */
import { isCredentialName } from "../config/credentials.ts";
import type { Clock } from "../domain/clock.ts";
import type { Connection, Connections, ConnectionTarget } from "../domain/connections.ts";
import type { ObserveContext } from "../domain/check_kind.ts";
import type { Dns } from "../domain/dns.ts";
import type { Files } from "../domain/files.ts";
import type { CapturedText, Processes } from "../domain/processes.ts";
import type { IncomingResponse, OutgoingRequest, Requests } from "../domain/requests.ts";
import { hostAndPort } from "../domain/runtime_permissions.ts";
import type { CertificateReading } from "../domain/tls.ts";
import type { TraceDepth } from "../domain/trace.ts";
import { startDeadline, unlessAborted } from "../shared/deadline.ts";
import type { Redact } from "../shared/redact.ts";
import { describeFileError, messageOf } from "../shared/describe_error.ts";
import { quote } from "../shared/quote.ts";
import { truncate } from "../shared/truncate.ts";

type TracedSystem = ObserveContext["system"];

/** Of all lines together, in UTF-16 units. */
const TRACE_LENGTH_MAX = 64 * 1024;
/** Of a body, or of the output of a command. */
const EXCERPT_LENGTH_MAX = 1024;
/** So much is kept to be redacted. */
const KEPT_LENGTH_MAX = 8 * EXCERPT_LENGTH_MAX;
const LINE_LENGTH_MAX = 500;

/** Collects what a run did. */
interface Tracer {
  /** Adds a line, with the time since the begin of the run. */
  add(text: string): void;
  /** Adds lines of what was sent or received; `mark` is before each. */
  addBlock(mark: string, text: string): void;
}

interface TracedRun {
  /** For the check. */
  readonly system: TracedSystem;
  /** What the run did, without secrets. */
  text(redact: Redact): string;
}

/** Wraps the parts of the machine that checks use; times begin now. */
export function startTrace(system: TracedSystem, depth: TraceDepth): TracedRun {
  const { clock, connections, requests, processes, files, dns } = system;
  const startedMs = clock.monotonicMs();
  const entries: { readonly prefix: string; readonly text: string }[] = [];
  let length = 0;
  const push = (prefix: string, text: string): void => {
    if (length > TRACE_LENGTH_MAX) return;
    length += text.length + prefix.length;
    entries.push(
      length > TRACE_LENGTH_MAX ? { prefix: "", text: "… (the rest is left out)" } : { prefix, text },
    );
  };
  const tracer: Tracer = {
    add: (text) => push(`${(clock.monotonicMs() - startedMs).toFixed(1).padStart(8)} ms  `, text),
    addBlock: (mark, text) => push(`             ${mark} `, text),
  };
  return {
    system: {
      ...system,
      requests: traceRequests(requests, { tracer, clock, connections, depth }),
      connections: traceConnections(connections, tracer, depth),
      processes: traceProcesses(processes, tracer),
      files: traceFiles(files, tracer),
      dns: traceDns(dns, tracer),
    },
    // Redacted before it is cut: a part of a secret would not be found.
    text: (redact) =>
      entries.flatMap(({ prefix, text }) =>
        truncate(hideValues(redact(text, { isCut: true })), EXCERPT_LENGTH_MAX).split("\n")
          .map((line) => `${prefix}${truncate(line, LINE_LENGTH_MAX)}`)
      ).join("\n"),
  };
}

function traceRequests(
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
        await traceTls(url, { connections, tracer, signal, request });
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
  for (const [name, value] of response.headers) tracer.addBlock("<", headerLine(name, value));
  let bytes = 0;
  let start = "";
  let isWhole = false;
  let isRead = false;
  const decoder = new TextDecoder();
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

/** A request of the runtime shows neither addresses nor certificates, so these are read over a second connection. */
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
    tracer.add(`addresses ${addresses.map(({ address }) => address).join(", ")}`);
    const authority = request.tls?.authority;
    const tls = { serverName: host, authorities: authority === undefined ? [] : [authority] };
    const reading = await connections.readCertificate({ ...target, tls }, { signal });
    tracer.add(`TLS (second connection): ${describeCertificate(reading)}`);
    await traceChain({ ...target, tls }, { connections, tracer, signal });
  } catch (error) {
    if (signal.aborted) return;
    tracer.add(`TLS (second connection): ${connections.explain(error, target, "TLS").reason}`);
  }
}

/** Shows which certificates the server sends, since a missing one makes others untrusted. */
async function traceChain(
  target: Parameters<Connections["readChain"]>[0],
  { connections, tracer, signal }: {
    readonly connections: Connections;
    readonly tracer: Tracer;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  try {
    const chain = await connections.readChain(target, signal);
    tracer.add(`certificates sent by the server: ${chain.length}`);
    for (const { subject, issuer, validToMs } of chain) {
      tracer.addBlock("<", `${subject}; issued by ${issuer}; valid to ${dayOf(validToMs)}`);
    }
  } catch (error) {
    if (!signal.aborted) tracer.add(`certificates sent by the server: not read: ${messageOf(error)}`);
  }
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function describeCertificate({ problem, facts }: CertificateReading): string {
  return [
    ...facts === null ? [] : [
      `certificate for ${facts.names.join(", ")}, issued by ${quote(facts.issuer)}, ` +
      `valid from ${dayOf(facts.validFromMs)} to ${dayOf(facts.validToMs)}, SHA-256 ${facts.fingerprint}`,
    ],
    problem === null ? "trusted" : `not accepted: ${problem.reason}`,
  ].join("; ");
}

function traceConnections(connections: Connections, tracer: Tracer, depth: TraceDepth): Connections {
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
          tracer.add(describeCertificate(reading));
          if (depth === "full") {
            await traceChain(target, { connections, tracer, signal: options.signal });
          }
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
      tracer.add(`failed: ${place}: ${isAbort(error) ? messageOf(error) : explain(error)}`);
      throw error;
    }
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof DOMException;
}

/** What was received is shown in one piece: a secret may come in two. */
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
      tracer.add({
        exited: () => `exit code ${"code" in end ? end.code : ""}`,
        signalled: () => `terminated by ${"signal" in end ? end.signal : ""}`,
        timed_out: () => "timeout",
      }[end.ended]());
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
  const traced = async <T>(
    what: string,
    path: string,
    work: Promise<T>,
    describe: (value: T) => string,
  ): Promise<T> => {
    try {
      const value = await work;
      tracer.add(`${what} ${quote(path)}: ${describe(value)}`);
      return value;
    } catch (error) {
      tracer.add(`${what} ${quote(path)}: ${describeFileError(error, { path })}`);
      throw error;
    }
  };
  return {
    ...files,
    stat: (path, options) =>
      traced(
        "look at",
        path,
        files.stat(path, options),
        ({ kind, sizeBytes, modifiedAtMs }) =>
          `${kind}, ${sizeBytes} B, changed ${
            modifiedAtMs === null ? "never" : new Date(modifiedAtMs).toISOString()
          }`,
      ),
    list: (directory) => traced("list", directory, files.list(directory), ({ length }) => `${length} names`),
  };
}

function traceDns(dns: Dns, tracer: Tracer): Dns {
  return {
    ...dns,
    async lookUp(question, signal) {
      const { name, type, server } = question;
      const place = server === null ? "" : ` at ${hostAndPort(server.host, server.port)}`;
      const answer = await dns.lookUp(question, signal);
      tracer.add(
        `look up ${type} of ${name}${place}: ${
          "records" in answer ? answer.records.join(", ") : answer.reason
        }`,
      );
      return answer;
    },
  };
}

const HIDDEN = "(hidden)";

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

const FIELD = /"([^"\\\n]{1,100})"(\s{0,9}:\s{0,9})"(?:[^"\\\n]|\\.){0,8192}(?:"|$)/g;

/** Values of JSON whose names are those of credentials, such as the tokens of a login. */
function hideValues(text: string): string {
  return text.replaceAll(
    FIELD,
    (whole, name: string, colon: string) => isCredentialName(name) ? `"${name}"${colon}"${HIDDEN}"` : whole,
  );
}
