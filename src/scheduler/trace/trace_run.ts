/**
 * Traces a run: the parts of the machine that a check uses are wrapped, and their calls become lines of text. Values
 * of headers and of JSON whose names are those of credentials are omitted; the caller redacts the rest.
 */
import type { ObserveContext } from "../../domain/check_kind.ts";
import type { TraceDepth } from "../../domain/check.ts";
import type { Redact } from "../../shared/redact.ts";
import { startDeadline } from "../../shared/deadline.ts";
import { quote, truncate } from "../../shared/text.ts";
import {
  describeCertificate,
  EXCERPT_LENGTH_MAX,
  KEPT_LENGTH_MAX,
  type Tracer,
  traceRequests,
} from "./trace_requests.ts";
import { hideValues } from "./hidden_values.ts";
import type { Files } from "../../domain/system.ts";
import type { CapturedText, Processes } from "../../domain/processes.ts";
import { hostAndPort } from "../../domain/runtime_permissions.ts";
import { describeFileError, messageOf } from "../../shared/describe_error.ts";
import { timeText } from "../../shared/local_time.ts";
import type {
  Connection,
  ConnectionPhase,
  Connections,
  ConnectionTarget,
  Dns,
} from "../../domain/connections.ts";

type TracedSystem = ObserveContext["system"];

/** The length of all lines together, in UTF-16 units. */
const TRACE_LENGTH_MAX = 64 * 1024;
const LINE_LENGTH_MAX = 500;
/** Maximum time of reading for the trace alone. */
const LATER_TIMEOUT_MS = 2_000;

interface TracedRun {
  readonly system: TracedSystem;
  /** Reads data for the trace alone. The run has its result by then, also if the signal aborts. */
  finish(signal: AbortSignal): Promise<void>;
  /** The trace of the run, without secrets. */
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
  const later = new Map<string, (signal: AbortSignal) => Promise<void>>();
  const tracer: Tracer = {
    addLater: (key, work) => void later.set(key, work),
    add: (text) => push(`${(clock.monotonicMs() - startedMs).toFixed(1).padStart(8)} ms  `, text),
    addBlock: (mark, text) => push(`             ${mark} `, text),
  };
  return {
    system: {
      ...system,
      requests: traceRequests(requests, { tracer, clock, connections, depth }),
      connections: traceConnections(connections, tracer),
      processes: traceProcesses(processes, tracer),
      files: traceFiles(files, tracer),
      dns: traceDns(dns, tracer),
    },
    async finish(signal) {
      using deadline = startDeadline(clock, LATER_TIMEOUT_MS, signal);
      for (const work of later.values()) await work(deadline.signal);
    },
    // Redacted before it is cut: a part of a secret would not be found.
    text: (redact) =>
      entries.flatMap(({ prefix, text }) =>
        truncate(hideValues(redact(text, { isCut: true })), EXCERPT_LENGTH_MAX).split("\n")
          .map((line) => `${prefix}${truncate(line, LINE_LENGTH_MAX)}`)
      ).join("\n"),
  };
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
          `${kind}, ${sizeBytes} B, changed ${modifiedAtMs === null ? "never" : timeText(modifiedAtMs)}`,
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

function traceConnections(connections: Connections, tracer: Tracer): Connections {
  const placeOf = ({ host, port, address, socket }: ConnectionTarget): string =>
    socket ?? `${hostAndPort(host, port)}${address === undefined ? "" : ` (${address.address})`}`;
  const traced = async <T>(
    target: ConnectionTarget,
    { phase, place = placeOf(target), work, describe }: {
      readonly phase: ConnectionPhase;
      readonly place?: string;
      work(): Promise<T>;
      describe(value: T): string;
    },
  ): Promise<T> => {
    try {
      const value = await work();
      tracer.add(describe(value));
      return value;
    } catch (error) {
      const reason = error instanceof DOMException
        ? messageOf(error)
        : connections.explain(error, target, phase).reason;
      tracer.add(`failed: ${place}: ${reason}`);
      throw error;
    }
  };
  return {
    ...connections,
    async connect(target, options) {
      tracer.add(`connecting to ${placeOf(target)}${target.tls === undefined ? "" : " with TLS"}`);
      const connection = await traced(target, {
        phase: "connecting",
        work: () => connections.connect(target, options),
        describe: () => `connected to ${placeOf(target)}`,
      });
      return traceConnection(connection, tracer);
    },
    resolve: (target, signal) =>
      traced(target, {
        phase: "connecting",
        place: target.host,
        work: () => connections.resolve(target, signal),
        describe: (found) => `addresses of ${target.host}: ${found.map(({ address }) => address).join(", ")}`,
      }),
    readTime(target, signal) {
      tracer.add(`asking ${placeOf(target)} for the time`);
      return traced(target, {
        phase: "reading",
        work: () => connections.readTime(target, signal),
        describe: ({ offsetMs, roundTripMs, stratum }) =>
          `offset ${offsetMs.toFixed(1)} ms, round trip ${roundTripMs.toFixed(1)} ms, stratum ${stratum}`,
      });
    },
    readCertificate(target, options) {
      tracer.add(`reading the certificate of ${placeOf(target)}`);
      return traced(target, {
        phase: "TLS",
        work: () => connections.readCertificate(target, options),
        describe: (reading) => describeCertificate(reading, target),
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
