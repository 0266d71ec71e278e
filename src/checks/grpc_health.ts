import type { CheckOf } from "../domain/check.ts";
import type { CheckKindEntry, ParameterProblem } from "../domain/check_kind.ts";
import type { Connection } from "../domain/connections.ts";
import { hostAndPort, permissionsOfServer } from "../domain/runtime_permissions.ts";
import { lazily } from "../shared/lazily.ts";
import { decodeComponent, joinBytes, quote } from "../shared/text.ts";
import { trustErrors, trustWarnings, unusedKeys } from "./certificate_verdict.ts";
import { type ConnectionEnd, ConnectionReader, hasConnected, observeConnection } from "./connection_run.ts";
import { hostPortIn, portSubject } from "./targets.ts";

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
    nameOf: ({ text }) => `grpc_${text.replace(SCHEME, "")}`,
    subjectsOf: (
      { parameters: { host, port, service } },
    ) => [`grpc ${portSubject(host, port)} ${service}`.trim()],
    textOf: ({ parameters: { host, port } }) => hostAndPort(host, port),
    goesDown: true,
  },
  warnings: ({ parameters }) => trustWarnings(parameters),
  errors: findErrors,
  requiredPermissions: ({ parameters }) => permissionsOfServer(parameters, parameters),
};

const SCHEME = /^grpcs?:\/\//i;

function* findErrors({ parameters }: CheckOf<"grpc_health">): Generator<ParameterProblem> {
  const { tls, serverName, caFile, verify } = parameters;
  yield* trustErrors(parameters);
  if (!tls) yield* unusedKeys({ server_name: serverName, ca_file: caFile, verify }, 'requires "tls": true');
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

/** A header of HTTP/2 (RFC 7541), of which a client that reads one response needs only a part. */
type Header = readonly [name: string, value: string];

/** Encodes headers as literals that no table keeps. */
export function encodeHeaders(headers: readonly Header[]): Uint8Array {
  const text = (content: string): Uint8Array => {
    const bytes = new TextEncoder().encode(content);
    return joinBytes([encodeLength(bytes.length), bytes]);
  };
  return joinBytes(headers.flatMap(([name, value]) => [Uint8Array.of(0), text(name), text(value)]));
}

/** An integer with a prefix of 7 bits (section 5.1). */
function encodeLength(length: number): Uint8Array {
  return Uint8Array.from(length < 127 ? [length] : [127, ...varint(length - 127)]);
}

/** Seven bits a byte, the least significant first. */
function varint(value: number): readonly number[] {
  return value < 128 ? [value] : [value % 128 + 128, ...varint(Math.floor(value / 128))];
}

const TABLE_BYTES_MAX = 4096;

/** Decodes the header blocks of a connection, in their order. */
export class HeaderDecoder {
  readonly #dynamic: Header[] = [];
  #block: Uint8Array = new Uint8Array();
  #at = 0;

  /** Returns the headers of a block; `null`: it is malformed. */
  decode(block: Uint8Array): readonly Header[] | null {
    this.#block = block;
    this.#at = 0;
    const headers: Header[] = [];
    while (this.#at < block.length) {
      const first = block[this.#at] ?? 0;
      // A new size of the table: the entries that are too many are never referred to.
      if (first >> 5 === 1) {
        this.#integer(5);
        continue;
      }
      const isIndexed = first >> 7 === 1;
      const isKept = first >> 6 === 1;
      const index = this.#integer(isIndexed ? 7 : isKept ? 6 : 4);
      const known = STATIC[index - 1] ?? this.#dynamic[index - 1 - STATIC.length];
      if (index > 0 && known === undefined) return null;
      const name = known === undefined ? this.#text() : known[0];
      const value = isIndexed ? known?.[1] ?? null : this.#text();
      if (name === null || value === null) return null;
      if (isKept) this.#keep([name, value]);
      headers.push([name, value]);
    }
    return this.#at === block.length ? headers : null;
  }

  #keep(header: Header): void {
    this.#dynamic.unshift(header);
    const sizeOf = ([name, value]: Header): number => name.length + value.length + 32;
    let size = this.#dynamic.reduce((sum, one) => sum + sizeOf(one), 0);
    while (size > TABLE_BYTES_MAX) {
      const last = this.#dynamic.pop();
      if (last === undefined) return;
      size -= sizeOf(last);
    }
  }

  #integer(bits: number): number {
    const limit = 2 ** bits - 1;
    let value = (this.#block[this.#at++] ?? 0) & limit;
    if (value < limit) return value;
    for (let shift = 1; shift < 2 ** 28; shift *= 128) {
      const byte = this.#block[this.#at++] ?? 0;
      value += (byte & 127) * shift;
      if (byte < 128) break;
    }
    return value;
  }

  #text(): string | null {
    const isCoded = (this.#block[this.#at] ?? 0) >> 7 === 1;
    const length = this.#integer(7);
    const bytes = this.#block.subarray(this.#at, this.#at + length);
    this.#at += length;
    return this.#at > this.#block.length ? null : isCoded ? decodeHuffman(bytes) : latin1(bytes);
  }
}

function latin1(bytes: Iterable<number>): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
}

/** The lengths of the codes of all bytes (appendix B); codes of one length are in the order of the bytes. */
const CODE_LENGTHS = `
  13 23 28 28 28 28 28 28 28 24 30 28 28 30 28 28 28 28 28 28 28 28 30 28 28 28 28 28 28 28 28 28
  6 10 10 12 13 6 8 11 10 10 8 11 8 6 6 6 5 5 5 6 6 6 6 6 6 6 7 8 15 6 12 10
  13 6 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 8 7 8 13 19 13 14 6
  15 5 6 5 6 5 6 6 6 5 7 7 6 6 6 5 6 7 6 5 5 6 7 7 7 7 7 15 11 14 13 28
  20 22 20 20 22 22 22 23 22 23 23 23 23 23 24 23 24 24 22 23 24 23 23 23 23 21 22 23 22 23 23 24
  22 21 20 22 22 23 23 21 23 22 22 24 21 22 23 23 21 21 22 21 23 22 23 23 20 22 22 22 23 22 22 23
  26 26 20 19 22 23 22 25 26 26 26 27 27 26 24 25 19 21 26 27 27 26 27 24 21 21 26 26 28 27 27 27
  20 24 20 21 22 21 21 23 22 22 25 25 24 24 26 23 26 27 26 26 27 27 27 27 27 28 27 27 27 27 27 26
`.trim().split(/\s+/).map(Number);

const CODE_LENGTH_MAX = 30;

/** The byte of each code, by its bits with a 1 in front. */
const readCodes = lazily((): ReadonlyMap<number, number> => {
  const found = new Map<number, number>();
  let code = 0;
  for (let length = 1; length <= CODE_LENGTH_MAX; length++) {
    code *= 2;
    for (const [byte, one] of CODE_LENGTHS.entries()) {
      if (one === length) found.set(2 ** length + code++, byte);
    }
  }
  return found;
});

function decodeHuffman(bytes: Uint8Array): string | null {
  const codes = readCodes();
  const decoded: number[] = [];
  let code = 1;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      code = code * 2 + (byte >> bit & 1);
      const found = codes.get(code);
      if (found !== undefined) {
        decoded.push(found);
        code = 1;
      } else if (code >= 2 ** (CODE_LENGTH_MAX + 1)) return null;
    }
  }
  return latin1(decoded);
}

/** Appendix A. */
const STATIC: readonly Header[] = `:authority|:method GET|:method POST|:path /|:path /index.html|:scheme http|
:scheme https|:status 200|:status 204|:status 206|:status 304|:status 400|:status 404|:status 500|accept-charset|
accept-encoding gzip, deflate|accept-language|accept-ranges|accept|access-control-allow-origin|age|allow|
authorization|cache-control|content-disposition|content-encoding|content-language|content-length|content-location|
content-range|content-type|cookie|date|etag|expect|expires|from|host|if-match|if-modified-since|if-none-match|
if-range|if-unmodified-since|last-modified|link|location|max-forwards|proxy-authenticate|proxy-authorization|range|
referer|refresh|retry-after|server|set-cookie|strict-transport-security|transfer-encoding|user-agent|vary|via|
www-authenticate`.replaceAll("\n", "").split("|").map((line) => {
  const [name = "", ...value] = line.split(" ");
  return [name, value.join(" ")];
});
