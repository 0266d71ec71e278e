import type { CheckOf } from "../domain/check.ts";
import type { CheckKindEntry, ParameterProblem } from "../domain/check_kind.ts";
import type { Connection } from "../domain/connections.ts";
import { hostAndPort, permissionsOfServer } from "../domain/runtime_permissions.ts";
import { decodeComponent, quote } from "../shared/text.ts";
import { joinBytes } from "../shared/join_bytes.ts";
import { trustErrors, trustWarnings } from "./certificate_verdict.ts";
import { type ConnectionEnd, ConnectionReader, hasConnected, observeConnection } from "./connection_run.ts";
import { encodeHeaders, type Header, HeaderDecoder, varint } from "./http/hpack.ts";
import { hostPortIn, nameFor, portSubject } from "./targets.ts";

type Parameters = CheckOf<"grpc_health">["parameters"];

export const grpcHealthKind: CheckKindEntry<"grpc_health"> = {
  observe: async (check, context) => {
    const { host, port, tls, serverName = host } = check.parameters;
    return await observeConnection(
      check,
      { target: { host, port }, tls: tls ? { serverName, protocols: ["h2"] } : null, context },
      async (connection, { enter }) => {
        enter("sending");
        await connection.write(requestOf(check.parameters));
        enter("reading");
        return evaluate(await readResponse(connection), check.parameters);
      },
    );
  },
  limit: "network",
  hasResponded: hasConnected,
  target: {
    form: "HOST:PORT",
    claims: ({ text }) => SCHEME.test(text),
    parametersOf: ({ text }) => {
      const place = hostPortIn(text.replace(SCHEME, "").replace(/\/$/, ""));
      return place === null ? null : { ...place, ...text.toLowerCase().startsWith("grpcs") && { tls: true } };
    },
    nameOf: ({ text }) => nameFor(`grpc_${text.replace(SCHEME, "")}`),
    subjectsOf: (
      { parameters: { host, port, service } },
    ) => [`grpc ${portSubject(host, port)} ${service}`.trim()],
    textOf: ({ parameters: { host, port } }) => hostAndPort(host, port),
    goesDown: true,
  },
  warnings: ({ parameters }) => trustWarnings(parameters),
  errors: ({ parameters }) => [...findErrors(parameters)],
  requiredPermissions: ({ parameters }) => permissionsOfServer(parameters, parameters),
};

const SCHEME = /^grpcs?:\/\//i;

function* findErrors(parameters: Parameters): Generator<ParameterProblem> {
  const { tls, serverName, caFile, verify } = parameters;
  yield* trustErrors(parameters);
  if (tls) return;
  for (const [key, value] of Object.entries({ server_name: serverName, ca_file: caFile, verify })) {
    if (value !== undefined) yield { path: [key], message: `"${key}" requires "tls": true` };
  }
}

// HTTP/2 (RFC 9113), for one request whose response is short.

const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;
const CONTINUATION = 9;
const END_STREAM = 1;
const ACK = 1;
const END_HEADERS = 4;
const PADDED = 8;
const PRIORITY = 32;

/** That of a client that has not asked for another one. */
const FRAME_BYTES_MAX = 16_384;
/**
 * Of a run. A response of the protocol has some hundred bytes. Less than the 65,535 after which a server waits to be
 * allowed more (RFC 9113, section 6.9.2), so that a longer message ends here and not by the timeout.
 */
const BYTES_MAX = 48 * 1024;

function requestOf({ host, port, tls, serverName = host, service }: Parameters): Uint8Array {
  const headers: readonly Header[] = [
    [":method", "POST"],
    [":scheme", tls ? "https" : "http"],
    [":path", "/grpc.health.v1.Health/Check"],
    [":authority", hostAndPort(serverName, port)],
    ["content-type", "application/grpc"],
    ["te", "trailers"],
    ["user-agent", "monitor"],
  ];
  const name = new TextEncoder().encode(service);
  // HealthCheckRequest: field 1 is the service.
  const message = name.length === 0
    ? name
    : joinBytes([Uint8Array.of(0x0a), Uint8Array.from(varint(name.length)), name]);
  const prefix = new Uint8Array(5);
  new DataView(prefix.buffer).setUint32(1, message.length);
  return joinBytes([
    new TextEncoder().encode("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    // No pushed responses.
    frame(SETTINGS, 0, { payload: Uint8Array.of(0, 2, 0, 0, 0, 0) }),
    frame(HEADERS, END_HEADERS, { stream: 1, payload: encodeHeaders(headers) }),
    frame(DATA, END_STREAM, { stream: 1, payload: joinBytes([prefix, message]) }),
  ]);
}

function frame(
  type: number,
  flags: number,
  { stream = 0, payload }: { readonly stream?: number; readonly payload: Uint8Array },
): Uint8Array {
  const head = new Uint8Array(9);
  const view = new DataView(head.buffer);
  view.setUint32(0, payload.length * 256 + type);
  view.setUint8(4, flags);
  view.setUint32(5, stream);
  return joinBytes([head, payload]);
}

interface GrpcResponse {
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Uint8Array;
}

/** Reads the response; a text: what is wrong, `too_long`: it is longer than what is read. */
async function readResponse(connection: Connection): Promise<GrpcResponse | string | "too_long"> {
  const decoder = new HeaderDecoder();
  const headers = new Map<string, string>();
  const body: Uint8Array[] = [];
  let block: Uint8Array[] = [];
  let isLast = false;
  const reader = new ConnectionReader(connection, BYTES_MAX);
  while (true) {
    const head = await reader.take(9);
    const view = head instanceof Uint8Array ? new DataView(head.buffer, head.byteOffset, head.length) : null;
    const length = view === null ? 0 : view.getUint32(0) >>> 8;
    if (length > FRAME_BYTES_MAX) return "server does not use HTTP/2";
    const payload = view === null ? head : await reader.take(length);
    if (payload === "too_long") return payload;
    if (view === null || payload === null) return "connection closed by the server before its response";
    const [type, flags, stream] = [view.getUint8(3), view.getUint8(4), view.getUint32(5) & 0x7fffffff];
    if (type === SETTINGS && (flags & ACK) === 0) {
      await connection.write(frame(SETTINGS, ACK, { payload: new Uint8Array() }));
    } else if (type === PING && (flags & ACK) === 0) {
      await connection.write(frame(PING, ACK, { payload }));
    } else if (type === GOAWAY && payload.subarray(0, 4).every((byte) => byte === 0)) {
      // A server that ends still responds to the streams up to the one it names (RFC 9113, section 6.8).
      return "connection ended by the server before its response";
    } else if (type === RST_STREAM && stream === 1) {
      return `request rejected by the server (HTTP/2 error ${payload[3] ?? 0})`;
    } else if (stream === 1 && (type === HEADERS || type === CONTINUATION)) {
      isLast ||= type === HEADERS && (flags & END_STREAM) !== 0;
      block.push(type === HEADERS ? contentOf(payload, flags) : payload);
      if ((flags & END_HEADERS) === 0) continue;
      const decoded = decoder.decode(joinBytes(block));
      if (decoded === null) return "server sent malformed headers";
      for (const [name, value] of decoded) headers.set(name, value);
      block = [];
    } else if (stream === 1 && type === DATA) {
      isLast ||= (flags & END_STREAM) !== 0;
      body.push(contentOf(payload, flags));
    }
    if (isLast && block.length === 0) return { headers, body: joinBytes(body) };
  }
}

/** A payload without padding and priority. */
function contentOf(payload: Uint8Array, flags: number): Uint8Array {
  const padding = (flags & PADDED) === 0 ? 0 : payload[0] ?? 0;
  const from = ((flags & PADDED) === 0 ? 0 : 1) + ((flags & PRIORITY) === 0 ? 0 : 5);
  return payload.subarray(from, Math.max(from, payload.length - padding));
}

// gRPC, and its health service (grpc.health.v1).

const STATUSES =
  "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED"
    .split(" ");

const SERVING = 1;
const HEALTH = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"];

function evaluate(response: GrpcResponse | string, { service }: Parameters): ConnectionEnd {
  const violated = (text: string): ConnectionEnd => ({ ends: "violated", text });
  if (response === "too_long") {
    return { ends: "unknown", text: `response is longer than the ${BYTES_MAX / 1024} KiB that are read` };
  }
  if (typeof response === "string") return violated(response);
  const { headers, body } = response;
  const name = service === "" ? "server" : `service ${quote(service)}`;
  const status = headers.get("grpc-status");
  if (status === undefined) {
    const code = headers.get(":status") ?? "none";
    return violated(`server replied with HTTP status ${code}, not by gRPC`);
  }
  if (status !== "0") {
    const message = decodeComponent(headers.get("grpc-message") ?? "");
    const shown = STATUSES[Number(status)] ?? status;
    return violated(`${name}: gRPC status ${shown}${message === "" ? "" : `: ${quote(message)}`}`);
  }
  const health = healthIn(body);
  if (health === null) return violated(`${name}: response is no health status`);
  const text = `${name} is ${HEALTH[health] ?? health}`;
  return health === SERVING ? { ends: "ok", text } : violated(text);
}

/** The status in a HealthCheckResponse, which is field 1 and the only one; absent it is 0. */
function healthIn(body: Uint8Array): number | null {
  const isPlain = body[0] === 0 && body.length >= 5 &&
    new DataView(body.buffer, body.byteOffset).getUint32(1) === body.length - 5;
  if (!isPlain) return null;
  const [tag, value, ...others] = body.subarray(5);
  if (tag === undefined) return 0;
  return tag === 8 && value !== undefined && value < 128 && others.length === 0 ? value : null;
}
