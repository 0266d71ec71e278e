import { afterColon } from "../../channels/clean_text.ts";
import { addMetrics, type MetricValues } from "../metrics/render_metrics.ts";
import {
  attributeText,
  type AttributeValue,
  createOtlpMetrics,
  type ExportOptions,
  nanoseconds,
  type OtlpOutcome,
  requestText,
  sendOtlp,
} from "./otlp.ts";
import type { RecordedRun, RunStep } from "../../scheduler/trace/record_steps.ts";
import type { SpanQueue } from "./span_queue.ts";

export interface ExportEnd {
  /** Describes why some of it was not accepted, not redacted; `null`: all of it was. */
  readonly failure: string | null;
  /** The delay that the collector asks for; 0: none. */
  readonly waitMs: number;
}

/**
 * Sends the values in several requests, since collectors limit the size of one. After a failure, the others are not
 * sent. Throws the signal's reason only.
 */
export async function exportMetrics(values: MetricValues, options: ExportOptions): Promise<ExportEnd> {
  const exposition = createOtlpMetrics(options.system.clock.wallMs(), values.name);
  let outcome = NOTHING_REJECTED;
  let sent = 0;
  const sendPart = async (): Promise<void> => {
    const { metrics, points } = exposition.take();
    if (!outcome.accepted) return;
    const { rejected, reason } = outcome;
    const next = await sendOtlp(
      { signal: "metrics", body: requestText("Metrics", options, metrics), count: points },
      options,
    );
    sent += points;
    outcome = next.accepted
      ? { accepted: true, rejected: rejected + next.rejected, reason: reason === "" ? next.reason : reason }
      : next;
  };
  await addMetrics(exposition, values, sendPart);
  await sendPart();
  return {
    failure: describeOutcome(outcome, { what: "metrics", sent: `${sent} metric points` }),
    waitMs: outcome.accepted ? 0 : outcome.retryAfterMs ?? 0,
  };
}

const NOTHING_REJECTED = { accepted: true, rejected: 0, reason: "" } as OtlpOutcome;

/** Describes why a collector did not accept all that was sent; `null`: it did. */
function describeOutcome(
  outcome: OtlpOutcome,
  { what, sent }: { readonly what: string; readonly sent: string },
): string | null {
  if (!outcome.accepted) return `cannot export ${what} to OpenTelemetry: ${outcome.reason}`;
  const { rejected, reason } = outcome;
  return rejected === 0
    ? null
    : `the OpenTelemetry collector rejected ${rejected} of ${sent}${afterColon(reason)}`;
}

/** The spans of a request: some 300 KB. */
export const SPANS_AT_A_TIME = 512;

interface SpansEnd extends ExportEnd {
  /** How many spans are lost; `null`: they may be sent again. */
  readonly lost: number | null;
}

/** Sends the spans of runs in one request. Throws the signal's reason only. */
export async function exportSpans(runs: readonly RecordedRun[], options: ExportOptions): Promise<SpansEnd> {
  const spans = runs.flatMap(spansOf);
  const body = requestText("Spans", options, spans.join());
  const outcome = await sendOtlp({ signal: "traces", body, count: spans.length }, options);
  const failure = describeOutcome(outcome, { what: "spans", sent: `${spans.length} spans` });
  if (outcome.accepted) return { failure, lost: outcome.rejected, waitMs: 0 };
  return { failure, lost: outcome.retryable ? null : spans.length, waitMs: outcome.retryAfterMs ?? 0 };
}

/** Sends all spans, for a single run. Returns a description of the first failure, not redacted; `null`: there was none. */
export async function exportAllSpans(queue: SpanQueue, options: ExportOptions): Promise<string | null> {
  let first: string | null = null;
  while (queue.spans > 0) {
    const runs = queue.first(SPANS_AT_A_TIME);
    const { failure, lost } = await exportSpans(runs, options);
    first ??= failure;
    if (lost === null) break;
    queue.sent(runs);
  }
  return first;
}

const KINDS = { internal: 1, client: 3 } as const;
const ERROR = 2;

/** Returns the span of a run and those of its steps, as texts of JSON. */
function spansOf(run: RecordedRun): readonly string[] {
  const { traceId, spanId, check, kind, condition, output, startedAtMs, durationMs, steps, droppedSteps } =
    run;
  const isFailed = condition === "critical" || condition === "unknown";
  const root = spanText({
    ...{ traceId, spanId, name: check, kind: KINDS.internal },
    startMs: startedAtMs,
    endMs: startedAtMs + durationMs,
    attributes: {
      "monitor.check.name": check,
      "monitor.check.kind": kind,
      "monitor.check.condition": condition,
      "monitor.check.output": output,
      ...droppedSteps > 0 && { "monitor.dropped_steps": droppedSteps },
    },
    failure: isFailed ? output : null,
  });
  return [root, ...steps.map((step) => stepText(step, run))];
}

function stepText(
  { spanId, name, isRequest, startMs, endMs, attributes, failure }: RunStep,
  { traceId, spanId: parentSpanId, startedAtMs }: RecordedRun,
): string {
  return spanText({
    ...{ traceId, spanId, parentSpanId, name, attributes, failure },
    kind: isRequest ? KINDS.client : KINDS.internal,
    startMs: startedAtMs + startMs,
    endMs: startedAtMs + endMs,
  });
}

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  /** Wall time; may have a fraction. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  readonly failure: string | null;
}

function spanText({ name, startMs, endMs, attributes, failure, ...ids }: Span): string {
  const head = JSON.stringify({
    ...ids,
    name: name.toWellFormed(),
    startTimeUnixNano: nanoseconds(startMs),
    endTimeUnixNano: nanoseconds(endMs),
    ...failure !== null && { status: { code: ERROR, message: failure.toWellFormed() } },
  });
  const texts = Object.entries(attributes).map(([key, value]) => attributeText(key, value));
  return `${head.slice(0, -1)},"attributes":[${texts.join()}]}`;
}
