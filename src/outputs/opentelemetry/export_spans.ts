import type { RecordedRun, RunStep } from "../../scheduler/trace/record_steps.ts";
import { describeOutcome, type ExportOptions, resourceOf } from "./export_metrics.ts";
import { attributeText, type AttributeValue, nanoseconds, requestText } from "./otlp_json.ts";
import { sendOtlp } from "./send_otlp.ts";
import type { SpanQueue } from "./span_queue.ts";

/** The spans of a request: some 300 KB. */
export const SPANS_AT_A_TIME = 512;

interface SpansEnd {
  /** Describes why some of them were not accepted, not redacted; `null`: all were. */
  readonly failure: string | null;
  /** How many spans are lost; `null`: they may be sent again. */
  readonly lost: number | null;
  /** The delay that the collector asks for; 0: none. */
  readonly waitMs: number;
}

/** Sends the spans of runs in one request. Throws the signal's reason only. */
export async function exportSpans(runs: readonly RecordedRun[], options: ExportOptions): Promise<SpansEnd> {
  const spans = runs.flatMap(spansOf);
  const body = requestText("Spans", resourceOf(options), spans.join());
  const outcome = await sendOtlp({ signal: "traces", body, count: spans.length }, options);
  const failure = describeOutcome(outcome, { what: "spans", sent: `${spans.length} spans` });
  if (outcome.accepted) return { failure, lost: outcome.rejected, waitMs: 0 };
  return {
    failure,
    lost: outcome.retryable ? null : spans.length,
    waitMs: outcome.retryAfterMs ?? 0,
  };
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
