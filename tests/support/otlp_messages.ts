/**
 * The messages of opentelemetry-proto 1.x that monitor sends, in the JSON of OTLP: fields in lower camel case, 64-bit
 * integers as decimal texts, ids as hexadecimal texts, enums as numbers. Receivers skip unknown fields, so here they fail.
 */
import assert from "node:assert/strict";

type FieldType =
  | "string"
  | "bool"
  | "double"
  | "uint32"
  | "int64"
  | "fixed64"
  | "trace_id"
  | "span_id"
  | { readonly enumMax: number }
  | { readonly message: string }
  | { readonly list: string };

interface MessageType {
  readonly fields: Readonly<Record<string, FieldType>>;
  readonly required?: readonly string[];
  /** Exactly one of them is set. */
  readonly oneOf?: readonly string[];
}

const message = (name: string): FieldType => ({ message: name });
const list = (name: string): FieldType => ({ list: name });

const MESSAGES: Readonly<Record<string, MessageType>> = {
  ExportMetricsServiceRequest: {
    fields: { resourceMetrics: list("ResourceMetrics") },
    required: ["resourceMetrics"],
  },
  ExportTraceServiceRequest: {
    fields: { resourceSpans: list("ResourceSpans") },
    required: ["resourceSpans"],
  },
  ResourceMetrics: {
    fields: { resource: message("Resource"), scopeMetrics: list("ScopeMetrics"), schemaUrl: "string" },
    required: ["resource", "scopeMetrics"],
  },
  ResourceSpans: {
    fields: { resource: message("Resource"), scopeSpans: list("ScopeSpans"), schemaUrl: "string" },
    required: ["resource", "scopeSpans"],
  },
  Resource: { fields: { attributes: list("KeyValue"), droppedAttributesCount: "uint32" } },
  ScopeMetrics: {
    fields: { scope: message("InstrumentationScope"), metrics: list("Metric"), schemaUrl: "string" },
    required: ["scope", "metrics"],
  },
  ScopeSpans: {
    fields: { scope: message("InstrumentationScope"), spans: list("Span"), schemaUrl: "string" },
    required: ["scope", "spans"],
  },
  InstrumentationScope: {
    fields: {
      name: "string",
      version: "string",
      attributes: list("KeyValue"),
      droppedAttributesCount: "uint32",
    },
    required: ["name"],
  },
  KeyValue: { fields: { key: "string", value: message("AnyValue") }, required: ["key", "value"] },
  AnyValue: {
    fields: { stringValue: "string", boolValue: "bool", intValue: "int64", doubleValue: "double" },
    oneOf: ["stringValue", "boolValue", "intValue", "doubleValue"],
  },
  Metric: {
    fields: {
      name: "string",
      description: "string",
      unit: "string",
      gauge: message("Gauge"),
      sum: message("Sum"),
    },
    required: ["name"],
    oneOf: ["gauge", "sum"],
  },
  Gauge: { fields: { dataPoints: list("NumberDataPoint") }, required: ["dataPoints"] },
  Sum: {
    fields: {
      dataPoints: list("NumberDataPoint"),
      aggregationTemporality: { enumMax: 2 },
      isMonotonic: "bool",
    },
    required: ["dataPoints", "aggregationTemporality", "isMonotonic"],
  },
  NumberDataPoint: {
    fields: {
      attributes: list("KeyValue"),
      startTimeUnixNano: "fixed64",
      timeUnixNano: "fixed64",
      asDouble: "double",
      asInt: "int64",
      flags: "uint32",
    },
    required: ["timeUnixNano"],
    oneOf: ["asDouble", "asInt"],
  },
  Span: {
    fields: {
      traceId: "trace_id",
      spanId: "span_id",
      traceState: "string",
      parentSpanId: "span_id",
      flags: "uint32",
      name: "string",
      kind: { enumMax: 5 },
      startTimeUnixNano: "fixed64",
      endTimeUnixNano: "fixed64",
      attributes: list("KeyValue"),
      droppedAttributesCount: "uint32",
      status: message("Status"),
    },
    required: ["traceId", "spanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano"],
  },
  Status: { fields: { message: "string", code: { enumMax: 2 } }, required: ["code"] },
};

const SCALARS: Readonly<Record<Extract<FieldType, string>, (value: unknown) => boolean>> = {
  string: (value) => typeof value === "string" && value.isWellFormed(),
  bool: (value) => typeof value === "boolean",
  double: (value) => typeof value === "number",
  uint32: (value) => Number.isInteger(value) && (value as number) >= 0,
  int64: (value) => typeof value === "string" && /^-?\d{1,19}$/.test(value),
  fixed64: (value) => typeof value === "string" && /^\d{1,20}$/.test(value),
  trace_id: (value) => typeof value === "string" && /^(?!0{32})[\da-f]{32}$/.test(value),
  span_id: (value) => typeof value === "string" && /^(?!0{16})[\da-f]{16}$/.test(value),
};

/** Fails unless a value is a message of a type. */
export function assertOtlp(value: unknown, type: string, path = type): void {
  const { fields, required = [], oneOf = [] } = MESSAGES[type] ?? assert.fail(`no message ${type}`);
  assert.ok(typeof value === "object" && value !== null && !Array.isArray(value), `${path} is no object`);
  const found = value as Readonly<Record<string, unknown>>;
  for (const name of required) assert.ok(name in found, `${path} has no ${name}`);
  if (oneOf.length > 0) {
    assert.equal(oneOf.filter((name) => name in found).length, 1, `${path} has not one of ${oneOf}`);
  }
  for (const [name, content] of Object.entries(found)) {
    const field = fields[name] ?? assert.fail(`${path} has an unknown field ${name}`);
    assertField(content, field, `${path}.${name}`);
  }
}

function assertField(value: unknown, type: FieldType, path: string): void {
  if (typeof type === "string") return assert.ok(SCALARS[type](value), `${path} is ${JSON.stringify(value)}`);
  if ("message" in type) return assertOtlp(value, type.message, path);
  if ("enumMax" in type) {
    return assert.ok(SCALARS.uint32(value) && (value as number) <= type.enumMax, `${path} is ${value}`);
  }
  assert.ok(Array.isArray(value), `${path} is no list`);
  value.forEach((item, index) => assertOtlp(item, type.list, `${path}[${index}]`));
}

export type Attributes = Readonly<Record<string, string | number | boolean>>;

export interface OtlpPoint {
  readonly name: string;
  readonly isCounter: boolean;
  readonly attributes: Attributes;
  readonly value: number;
  readonly timeMs: number;
}

/** Validates the body of a request with metrics, and returns its points. */
export function readMetrics(
  body: string,
): { readonly resource: Attributes; readonly points: readonly OtlpPoint[] } {
  const request = JSON.parse(body);
  assertOtlp(request, "ExportMetricsServiceRequest");
  const [{ resource, scopeMetrics: [{ metrics }] }] = request.resourceMetrics;
  const names = metrics.map(({ name }: { name: string }) => name);
  assert.equal(new Set(names).size, names.length, "a metric is there twice");
  return {
    resource: attributesOf(resource.attributes),
    points: metrics.flatMap(({ name, gauge, sum }: OtlpMetric) =>
      (sum ?? gauge ?? assert.fail()).dataPoints.map((point) => ({
        name,
        isCounter: sum !== undefined,
        attributes: attributesOf(point.attributes),
        value: point.asDouble,
        timeMs: Number(point.timeUnixNano) / 1e6,
      }))
    ),
  };
}

export interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: Attributes;
  readonly startMs: number;
  readonly endMs: number;
  /** `null`: it is no error. */
  readonly error: string | null;
}

/** Validates the body of a request with spans, and returns them. */
export function readSpans(body: string): readonly OtlpSpan[] {
  const request = JSON.parse(body);
  assertOtlp(request, "ExportTraceServiceRequest");
  const [{ scopeSpans: [{ spans }] }] = request.resourceSpans;
  return spans.map((
    { startTimeUnixNano, endTimeUnixNano, attributes, status, ...span }: OtlpSpan & {
      readonly startTimeUnixNano: string;
      readonly endTimeUnixNano: string;
      readonly attributes: readonly OtlpAttribute[];
      readonly status?: { readonly code: number; readonly message: string };
    },
  ) => ({
    ...span,
    attributes: attributesOf(attributes),
    startMs: Number(startTimeUnixNano) / 1e6,
    endMs: Number(endTimeUnixNano) / 1e6,
    error: status?.code === 2 ? status.message : null,
  }));
}

interface OtlpMetric {
  readonly name: string;
  readonly gauge?: OtlpPoints;
  readonly sum?: OtlpPoints;
}

interface OtlpPoints {
  readonly dataPoints: readonly {
    readonly attributes: readonly OtlpAttribute[];
    readonly asDouble: number;
    readonly timeUnixNano: string;
  }[];
}

interface OtlpAttribute {
  readonly key: string;
  readonly value: Readonly<Record<string, string | number | boolean>>;
}

function attributesOf(attributes: readonly OtlpAttribute[]): Attributes {
  const entries = attributes.map(({ key, value }) => {
    const [[type, content] = assert.fail()] = Object.entries(value);
    return [key, type === "intValue" ? Number(content) : content] as const;
  });
  assert.equal(new Set(entries.map(([key]) => key)).size, entries.length, "an attribute is there twice");
  return Object.fromEntries(entries);
}
