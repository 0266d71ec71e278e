/**
 * Traces a run: the parts of the machine that a check uses are wrapped, and their calls become lines of text. Values
 * of headers and of JSON whose names are those of credentials are omitted; the caller redacts the rest.
 */
import type { ObserveContext } from "../../domain/check_kind.ts";
import type { TraceDepth } from "../../domain/trace.ts";
import type { Redact } from "../../shared/redact.ts";
import { startDeadline } from "../../shared/deadline.ts";
import { truncate } from "../../shared/truncate.ts";
import { traceConnections } from "./trace_connections.ts";
import { traceDns, traceFiles, traceProcesses } from "./trace_host.ts";
import { traceRequests } from "./trace_requests.ts";
import { hideValues } from "./hidden_values.ts";
import { EXCERPT_LENGTH_MAX, type Tracer } from "./tracer.ts";

type TracedSystem = ObserveContext["system"];

/** The length of all lines together, in UTF-16 units. */
const TRACE_LENGTH_MAX = 64 * 1024;
const LINE_LENGTH_MAX = 500;
/** Maximum time of reading for the trace alone. */
const LATER_TIMEOUT_MS = 2_000;

interface TracedRun {
  /** For the check. */
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
