/**
 * The JSON of OTLP 1.x: the messages of opentelemetry-proto with 64-bit integers as texts, ids as hexadecimal texts and
 * enums as numbers.
 */
import { type Exposition, FAMILIES, type MetricName, metricType } from "../metrics/families.ts";

export type AttributeValue = string | number | boolean;

/** What all data is about: this process. */
export interface Resource {
  readonly serviceName: string;
  readonly version: string;
  readonly hostName: string;
  /** Distinguishes processes of one service. */
  readonly instance: string;
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

/** The body of a request; the items are texts of JSON, joined with commas. */
export function requestText(
  kind: "Metrics" | "Spans",
  { serviceName, version, hostName, instance }: Resource,
  items: string,
): string {
  const attributes = [
    attributeText("service.name", serviceName),
    attributeText("service.version", version),
    attributeText("service.instance.id", instance),
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
