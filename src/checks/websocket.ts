import type { CheckOf } from "../domain/check.ts";
import type { CheckKindEntry, ParameterProblem } from "../domain/check_kind.ts";
import type { Connection } from "../domain/connections.ts";
import { permissionsOfServer } from "../domain/runtime_permissions.ts";
import { joinBytes, oneLine, quote } from "../shared/text.ts";
import { trustErrors, trustWarnings, unusedKeys } from "./certificate_verdict.ts";
import { type ConnectionEnd, ConnectionReader, hasConnected, observeConnection } from "./connection_run.ts";

type Parameters = CheckOf<"websocket">["parameters"];

export const websocketKind: CheckKindEntry<"websocket"> = {
  observe: async (check, context) => {
    const { host, port, isSecure } = placeOf(check.parameters);
    return await observeConnection(
      check,
      { target: { host, port }, tls: isSecure ? {} : null, context },
      async (connection, { enter }) => {
        enter("sending");
        await connection.write(new TextEncoder().encode(handshakeOf(check.parameters)));
        enter("reading");
        return await exchange(check.parameters, new ConnectionReader(connection, BYTES_MAX), connection);
      },
    );
  },
  limit: "network",
  hasResponded: hasConnected,
  target: {
    form: "URL",
    claims: ({ text }) => /^wss?:\/\//i.test(text),
    parametersOf: ({ text }) => /^wss?:\/\//i.test(text) ? { url: text } : null,
    nameOf: ({ text }) => text.replace(/^wss?:\/\//i, "").replace(/[?#].*/, ""),
    subjectsOf: ({ parameters }) => [textOf(parameters) ?? "websocket"],
    textOf: ({ parameters }) => textOf(parameters),
    goesDown: true,
  },
  warnings: ({ parameters }) => trustWarnings(parameters),
  errors: findErrors,
  requiredPermissions: ({ parameters }) => {
    const { isSecure, ...server } = placeOf(parameters);
    return permissionsOfServer(server, { tls: isSecure, caFile: parameters.caFile });
  },
};

function placeOf({ url }: Parameters) {
  const { protocol, hostname, port, pathname, search } = new URL(url);
  const isSecure = protocol === "wss:";
  return {
    isSecure,
    host: hostname,
    port: port === "" ? isSecure ? 443 : 80 : Number(port),
    path: pathname + search,
  };
}

/** A URL without its query, which may have secrets; one whose placeholder has no value is none. */
function textOf({ url }: Parameters): string | undefined {
  const parsed = URL.parse(url);
  return parsed === null ? undefined : `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
}

/**
 * The nonce of RFC 6455, section 1.3, with its answer: it proves that the server understands the protocol, and nothing
 * depends on its secrecy. The mask is fixed for the same reason: it keeps scripts of browsers from choosing the bytes.
 */
const KEY = "dGhlIHNhbXBsZSBub25jZQ==";
const ACCEPT = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
const MASK = [0x37, 0xfa, 0x21, 0x3d] as const;

function handshakeOf({ url, headers = {} }: Parameters): string {
  const lines = {
    Host: new URL(url).host,
    Upgrade: "websocket",
    Connection: "Upgrade",
    "Sec-WebSocket-Key": KEY,
    "Sec-WebSocket-Version": "13",
    ...headers,
  };
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return `GET ${placeOf({ url } as Parameters).path} HTTP/1.1\r\n${head}\r\n`;
}

/** Of a run: handshake and messages. */
const BYTES_MAX = 1024 * 1024;
const HEAD_BYTES_MAX = 16 * 1024;
const HEAD_END = new TextEncoder().encode("\r\n\r\n");

const TEXT = 1;
const CLOSE = 8;
const PING = 9;
const PONG = 10;

async function exchange(
  { send, expect }: Parameters,
  bytes: ConnectionReader,
  connection: Connection,
): Promise<ConnectionEnd> {
  const head = await bytes.takeUntil(HEAD_END, HEAD_BYTES_MAX);
  if (head === null || head === "too_long") {
    return { ends: "violated", text: "server sent no whole response to the handshake" };
  }
  const [status = "", ...lines] = LATIN_1.decode(head).split("\r\n");
  const valueOf = (name: string): string =>
    lines.find((line) => line.toLowerCase().startsWith(`${name}:`))?.slice(name.length + 1).trim() ?? "";
  if (!/^HTTP\/1\.1 101\b/.test(status)) {
    return { ends: "violated", text: `server replied ${quote(oneLine(status))}, expected status 101` };
  }
  if (valueOf("upgrade").toLowerCase() !== "websocket" || valueOf("sec-websocket-accept") !== ACCEPT) {
    return { ends: "violated", text: "server replied with status 101, but not to this handshake" };
  }
  if (send !== undefined) await connection.write(frame(TEXT, new TextEncoder().encode(send)));
  const end = expect === undefined
    ? { ends: "ok" as const, text: "connected" }
    : await awaitMessage(expect, bytes, connection);
  // 1000: a normal end.
  if (end.ends === "ok") await connection.write(frame(CLOSE, Uint8Array.of(3, 0xe8)));
  return end;
}

async function awaitMessage(
  expect: string,
  bytes: ConnectionReader,
  connection: Connection,
): Promise<ConnectionEnd> {
  const { compileLinePattern } = await import("./body_pattern.ts");
  const pattern = await compileLinePattern(expect);
  const wish = `expected a message that matches ${quote(expect)}`;
  let message: Uint8Array[] = [];
  let last = "";
  while (true) {
    const soFar = last === "" ? "" : `; the last one was ${quote(last)}`;
    const next = await readFrame(bytes);
    if (next === null) return { ends: "violated", text: `connection closed by the server, ${wish}${soFar}` };
    if (typeof next === "string") {
      return next === "too_long"
        ? { ends: "unknown", text: `more than ${BYTES_MAX / 1024} KiB came, ${wish}` }
        : { ends: "violated", text: next };
    }
    const { opcode, isLast, payload } = next;
    if (opcode === CLOSE) {
      const code = payload.length < 2 ? "" : ` with ${(payload[0] ?? 0) * 256 + (payload[1] ?? 0)}`;
      const why = oneLine(new TextDecoder().decode(payload.subarray(2)));
      const text = `closed by the server${code}${why === "" ? "" : ` ${quote(why)}`}, ${wish}${soFar}`;
      return { ends: "violated", text };
    }
    if (opcode === PING) await connection.write(frame(PONG, payload));
    if (opcode >= CLOSE) continue;
    message.push(payload);
    if (!isLast) continue;
    last = new TextDecoder().decode(joinBytes(message));
    message = [];
    const match = pattern.match(last);
    if (match === "too_long") return { ends: "unknown", text: `cannot search all messages, ${wish}` };
    if (match !== null) return { ends: "ok", text: `connected, a message matches ${quote(expect)}` };
  }
}

/** A frame of the server (RFC 6455, section 5.2); `null`: there is none any more. A text: what is wrong. */
async function readFrame(bytes: ConnectionReader) {
  const head = await bytes.take(2);
  if (head === null || head === "too_long") return head;
  const [first = 0, second = 0] = head;
  if ((second & 0x80) !== 0 || (first & 0x70) !== 0) return "server sent a frame that is not of the protocol";
  const short = second & 0x7f;
  const extended = short < 126 ? new Uint8Array() : await bytes.take(short === 126 ? 2 : 8);
  if (extended === null || extended === "too_long") return extended;
  const length = short < 126 ? short : extended.reduce((sum, byte) => sum * 256 + byte, 0);
  const payload = await bytes.take(length);
  if (payload === null || payload === "too_long") return payload;
  return { opcode: first & 0xf, isLast: (first & 0x80) !== 0, payload };
}

function frame(opcode: number, payload: Uint8Array): Uint8Array {
  const { length } = payload;
  const size = length < 126
    ? [length]
    : length < 65_536
    ? [126, length >> 8, length & 0xff]
    : [127, 0, 0, 0, 0, length >>> 24, length >> 16 & 0xff, length >> 8 & 0xff, length & 0xff];
  const head = [0x80 | opcode, 0x80 | (size[0] ?? 0), ...size.slice(1), ...MASK];
  return joinBytes([Uint8Array.from(head), payload.map((byte, at) => byte ^ (MASK[at % 4] ?? 0))]);
}

const LATIN_1 = new TextDecoder("latin1");

/** Headers of the handshake itself. */
const OWN_HEADER = /^(?:host|upgrade|connection|sec-websocket-(?:key|version|extensions))$/i;

function* findErrors({ parameters }: CheckOf<"websocket">): Generator<ParameterProblem> {
  const { url, headers = {}, caFile, verify } = parameters;
  yield* trustErrors(parameters);
  const parsed = URL.parse(url);
  if (parsed === null) return;
  const { protocol, username, password } = parsed;
  if (username !== "" || password !== "") {
    yield { path: ["url"], message: 'has a login in it: write "headers": { "Authorization": \u2026 }' };
  }
  for (const name of Object.keys(headers).filter((name) => OWN_HEADER.test(name))) {
    yield { path: ["headers", name], message: "is a header of the handshake, remove it" };
  }
  if (protocol !== "wss:") yield* unusedKeys({ ca_file: caFile, verify }, "requires a URL with wss://");
}
