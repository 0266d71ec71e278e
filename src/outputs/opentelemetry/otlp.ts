/**
 * The JSON of OTLP 1.x: the messages of opentelemetry-proto with 64-bit integers as texts, ids as hexadecimal texts and
 * enums as numbers.
 */
import { type Exposition, FAMILIES, type MetricName, metricType } from "../metrics/families.ts";
import { afterColon } from "../../channels/clean_text.ts";
import type { Opentelemetry } from "../../domain/generated/config.ts";
import type { IncomingResponse } from "../../domain/connections.ts";
import type { System } from "../../domain/system.ts";
import { startDeadline } from "../../shared/deadline.ts";
import { describeRequestFailure } from "../../shared/failure_words.ts";
import { readStart, retryAfterMs } from "../../shared/read_response.ts";
import { oneLine } from "../../shared/text.ts";

export type AttributeValue = string | number | boolean;

export interface ExportOptions {
  readonly settings: Opentelemetry;
  readonly system: Pick<System, "clock" | "requests" | "hostName">;
  readonly version: string;
  /** The name of this process among those of the service; `null`: the host's. */
  readonly instance: string | null;
  readonly abort: AbortSignal;
}

/** Returns an attribute as a text of JSON; several are joined with commas. Lone surrogates have no UTF-8. */
export function attributeText(key: string, value: AttributeValue): string {
  return JSON.stringify({ key: key.toWellFormed(), value: valueOf(value) });
}

function valueOf(value: AttributeValue): Readonly<Record<string, unknown>> {
  if (typeof value === "string") return { stringValue: value.toWellFormed() };
  if (typeof value === "boolean") return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** Returns a time in nanoseconds, from milliseconds that may have a fraction. */
export function nanoseconds(ms: number): string {
  return `${Math.round(ms * 1000)}000`;
}

/** The body of a request about this process; the items are texts of JSON, joined with commas. */
export function requestText(
  kind: "Metrics" | "Spans",
  { settings: { serviceName }, system, version, instance }: Omit<ExportOptions, "abort">,
  items: string,
): string {
  const hostName = system.hostName();
  const attributes = [
    attributeText("service.name", serviceName),
    attributeText("service.version", version),
    attributeText("service.instance.id", instance ?? hostName),
    attributeText("host.name", hostName),
  ];
  const scope = JSON.stringify({ name: "monitor", version });
  return `{"resource${kind}":[{"resource":{"attributes":[${attributes}]},"scope${kind}":[{"scope":${scope},` +
    `"${kind.toLowerCase()}":[${items}]}]}]}`;
}

const CUMULATIVE = 2;

/** Begins an empty list of metrics, every point of which gets the name of the monitor, if it has one. */
export function createOtlpMetrics(nowMs: number, monitor?: string): OtlpMetrics {
  const timeUnixNano = nanoseconds(nowMs);
  const commonLabels = monitor === undefined ? "" : attributeText("monitor", monitor);
  const pointsByName = new Map<MetricName, string[]>();
  let count = 0;
  return {
    label: attributeText,
    add: (name, samples) => {
      const seen = new Set<string>();
      const points = pointsByName.get(name) ?? [];
      for (const [labels, value] of samples) {
        if (!Number.isFinite(value) || seen.has(labels)) continue;
        seen.add(labels);
        const attributes = [labels, commonLabels].filter((text) => text !== "").join();
        points.push(`{"attributes":[${attributes}],"timeUnixNano":"${timeUnixNano}","asDouble":${value}}`);
        count++;
      }
      if (points.length > 0) pointsByName.set(name, points);
    },
    take: () => {
      const metrics = [...pointsByName].map(([name, points]) => metricText(name, points)).join();
      const taken = { metrics, points: count };
      pointsByName.clear();
      count = 0;
      return taken;
    },
  };
}

interface OtlpMetrics extends Exposition {
  /** Returns the metrics since the last call as a text of JSON, and how many points they have. */
  take(): { readonly metrics: string; readonly points: number };
}

/**
 * Counters have no start time: those of checks go on from the state, so the start of this process would be taken for a
 * reset. Without it, a receiver finds resets by values that fall, as Prometheus does.
 */
function metricText(name: MetricName, points: readonly string[]): string {
  const data = `"dataPoints":[${points.join()}]`;
  const shape = metricType(name) === "counter"
    ? `"sum":{"aggregationTemporality":${CUMULATIVE},"isMonotonic":true,${data}}`
    : `"gauge":{${data}}`;
  return `{"name":"${name}","description":${JSON.stringify(FAMILIES[name])},${shape}}`;
}

/** What OTLP sends, by the name in the URL. */
export type Signal = "metrics" | "traces";

/** How a collector received a request; reasons are not redacted. */
export type OtlpOutcome =
  /** `rejected` is the number of points or spans that it did not accept, for a reason. */
  | { readonly accepted: true; readonly rejected: number; readonly reason: string }
  /** `retryAfterMs` is the delay that it asks for, at most an hour; `null`: none. */
  | {
    readonly accepted: false;
    readonly retryable: boolean;
    readonly reason: string;
    readonly retryAfterMs: number | null;
  };

const TIMEOUT_MS = 10_000;
/** More would be no response of OTLP. */
const RESPONSE_BYTES_MAX = 16 * 1024;
/** The specification of OTLP has these repeated, and no others. */
const RETRYABLE_STATUSES: readonly number[] = [429, 502, 503, 504];

/** Sends one request with a body in JSON. Throws the signal's reason only. */
export async function sendOtlp(
  { signal, body, count }: { readonly signal: Signal; readonly body: string; readonly count: number },
  { settings: { target, headers }, system: { clock, requests }, abort }: {
    readonly settings: Pick<Opentelemetry, "target" | "headers">;
    readonly system: Pick<System, "clock" | "requests">;
    readonly abort: AbortSignal;
  },
): Promise<OtlpOutcome> {
  const url = signalUrl(target, signal);
  const { host } = new URL(url);
  const failed = (reason: string): OtlpOutcome => ({
    accepted: false,
    retryable: true,
    reason,
    retryAfterMs: null,
  });
  using deadline = startDeadline(clock, TIMEOUT_MS, abort);
  let response: IncomingResponse | null = null;
  try {
    const given = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
    response = await requests.send({
      target: url,
      method: "POST",
      headers: { "content-type": "application/json", "user-agent": "monitor", ...Object.fromEntries(given) },
      body,
    }, deadline.signal);
    const { status } = response;
    // Without a body, the status suffices.
    const { text } = await readStart(response, RESPONSE_BYTES_MAX);
    if (status >= 200 && status < 300) return acceptedOf(text, count);
    return {
      accepted: false,
      retryable: RETRYABLE_STATUSES.includes(status),
      reason: `${host} returned status ${status}${afterColon(shortened(parse(text).message))}`,
      retryAfterMs: retryAfterMs(response.header("retry-after"), clock.wallMs()),
    };
  } catch (error) {
    abort.throwIfAborted();
    if (deadline.signal.aborted) return failed(`no response from ${host} within ${TIMEOUT_MS / 1000} s`);
    return failed(describeRequestFailure(requests.explain(error, url), url));
  } finally {
    await response?.close();
  }
}

/** The path of the signal is added, in front of a query. */
function signalUrl(target: string, signal: Signal): string {
  const url = new URL(target);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/v1/${signal}`;
  return url.href;
}

interface OtlpResponse {
  readonly message?: unknown;
  readonly partialSuccess?: {
    readonly rejectedDataPoints?: unknown;
    readonly rejectedSpans?: unknown;
    readonly errorMessage?: unknown;
  } | null;
}

/** Parses a response; empty if it is none, such as a page of a proxy. */
function parse(text: string): OtlpResponse {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

function acceptedOf(text: string, sent: number): OtlpOutcome {
  const { rejectedDataPoints, rejectedSpans, errorMessage } = parse(text).partialSuccess ?? {};
  const rejected = Number(rejectedDataPoints ?? rejectedSpans ?? 0);
  return {
    accepted: true,
    rejected: Number.isFinite(rejected) ? Math.min(Math.max(rejected, 0), sent) : 0,
    reason: shortened(errorMessage),
  };
}

function shortened(message: unknown): string {
  return typeof message === "string" ? oneLine(message) : "";
}
