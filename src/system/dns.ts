/** Queries and responses of DNS (RFC 1035). Names are text in the form of zone files, without the final dot. */
import type { Clock } from "../domain/clock.ts";
import type {
  ConnectionPhase,
  Dns,
  DnsAnswer,
  DnsQuestion,
  DnsServerAddress,
  RecordType,
} from "../domain/connections.ts";
import { RESOLVER_FILE } from "../domain/runtime_permissions.ts";
import { messageOf } from "../shared/describe_error.ts";
import { isOwnFailure } from "../shared/failure_words.ts";
import { onAbort } from "../shared/deadline.ts";
import { explainConnectionError, missingNetwork } from "./network_failure.ts";
import { connectTcp, type ConnectTcpOptions } from "./tcp/connect_tcp.ts";
import { closeQuietly, writeAll } from "./tcp/tcp_stream.ts";
import { asciiName, canonicalAddress } from "../shared/ip_address.ts";

/**
 * The machine's look-ups. A server is queried over TCP, which every name server supports (RFC 7766): the runtime's
 * own look-up queries no server for names of `/etc/hosts` and `localhost`, and does not distinguish an error of the
 * server from a name without records. It is used for the resolver of the machine, where the first is the result that
 * other programs get.
 */
export function createDns(clock: Clock): Dns {
  return {
    lookUp: (question, signal) =>
      question.server === null
        ? askMachine(question, signal)
        : askServer(question, question.server, { clock, signal }),
    machineServers,
  };
}

const LENGTH_BYTES = 2;

async function askServer(
  { name, type }: DnsQuestion,
  server: DnsServerAddress,
  { clock, signal }: ConnectTcpOptions,
): Promise<DnsAnswer> {
  const query = { id: crypto.getRandomValues(new Uint16Array(1))[0] ?? 0, name, type };
  let phase: ConnectionPhase = "connecting";
  try {
    const connection = await connectTcp(server, { clock, signal });
    const stopListening = onAbort(signal, () => closeQuietly(connection));
    try {
      phase = "reading";
      const message = encodeQuery(query);
      await writeAll(connection, Uint8Array.of(message.length >> 8, message.length & 255, ...message));
      const response = await readMessage(connection);
      const answer = response === null ? { reason: "no complete response" } : decodeResponse(response, query);
      return "records" in answer ? answer : { ...answer, isObstacle: false };
    } finally {
      stopListening();
      closeQuietly(connection);
    }
  } catch (error) {
    signal.throwIfAborted();
    const failure = explainConnectionError(error, server, phase);
    return { reason: failure.reason, isObstacle: isOwnFailure(failure) };
  }
}

/** Reads one message; `null`: the connection was closed before its end. */
async function readMessage(connection: Deno.Conn): Promise<Uint8Array | null> {
  const buffer = new Uint8Array(LENGTH_BYTES + 65_535);
  let size = 0;
  for (;;) {
    const count = await connection.read(buffer.subarray(size));
    if (count === null) return null;
    size += count;
    const end = LENGTH_BYTES + (buffer[0] ?? 0) * 256 + (buffer[1] ?? 0);
    if (size >= Math.max(LENGTH_BYTES, end)) return buffer.subarray(LENGTH_BYTES, end);
  }
}

async function askMachine({ name, type }: DnsQuestion, signal: AbortSignal): Promise<DnsAnswer> {
  signal.throwIfAborted();
  try {
    // One of its signatures serves for all: each record is read by its type.
    const records: readonly unknown[] = await Deno.resolveDns(name, type as "A", { signal });
    return { records: records.map(recordText) };
  } catch (error) {
    signal.throwIfAborted();
    return explain(error);
  }
}

export function recordText(record: unknown): string {
  if (typeof record === "string") return withoutDot(record);
  // A TXT record consists of texts without a meaning of their own (RFC 7208, section 3.3). The runtime has a character for each byte.
  if (Array.isArray(record)) {
    return textOf(Uint8Array.from(record.join(""), (character) => character.charCodeAt(0)));
  }
  const fields = Object.entries(record as Readonly<Record<string, string | number | boolean>>);
  if (fields.some(([name]) => name === "tag")) {
    const { critical, tag, value } = Object.fromEntries(fields);
    return `${critical ? 128 : 0} ${tag} "${value}"`;
  }
  return fields.map(([, value]) => withoutDot(String(value))).join(" ");
}

function withoutDot(name: string): string {
  return name.replace(/(?<=.)\.$/, "");
}

function explain(error: unknown): DnsAnswer {
  const text = messageOf(error);
  if (error instanceof Deno.errors.NotCapable) {
    return { isObstacle: true, reason: missingNetwork(/"([^"]+)"/.exec(text)?.[1] ?? "") };
  }
  if (error instanceof Deno.errors.NotFound) return { isObstacle: false, reason: "no records" };
  if (error instanceof Deno.errors.TimedOut) return { isObstacle: false, reason: "no response" };
  if (/Too many open files/.test(text)) {
    return { isObstacle: true, reason: "too many open files on this machine" };
  }
  return { isObstacle: false, reason: text.replace(/^(?:proto error|io error): /, "") };
}

/** The port is always the same (resolv.conf(5)). */
const PORT = 53;

async function machineServers(): Promise<readonly DnsServerAddress[]> {
  const text = await Deno.readTextFile(RESOLVER_FILE).catch(() => "");
  return [...text.matchAll(/^\s*nameserver\s+([^\s%]+)/gm)].map(([, host = ""]) => ({ host, port: PORT }));
}

const TYPES: Readonly<Record<RecordType, number>> = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  CAA: 257,
};

interface DnsQuery {
  /** 0 to 65535. */
  readonly id: number;
  /** Absolute, with the final dot. */
  readonly name: string;
  readonly type: RecordType;
}

const RECURSION_DESIRED = 0x0100;
const INTERNET = 1;

/** The name must have labels of at most 63 bytes, and 255 in all. */
export function encodeQuery({ id, name, type }: DnsQuery): Uint8Array {
  const labels = asciiName(name).split(".").filter((label) => label !== "")
    .map((label) => new TextEncoder().encode(label));
  return Uint8Array.from([
    ...[id, RECURSION_DESIRED, 1, 0, 0, 0].flatMap(twoBytes),
    ...labels.flatMap((label) => [label.length, ...label]),
    0,
    ...[TYPES[type], INTERNET].flatMap(twoBytes),
  ]);
}

function twoBytes(number: number): readonly number[] {
  return [number >> 8 & 255, number & 255];
}

const ERRORS: Readonly<Record<number, string>> = {
  1: "query rejected as malformed (FORMERR)",
  2: "server failure (SERVFAIL)",
  3: "no such name (NXDOMAIN)",
  4: "query not supported (NOTIMP)",
  5: "query refused (REFUSED)",
};

const IS_RESPONSE = 0x8000;
const IS_TRUNCATED = 0x0200;
const ERROR_CODE = 0x000f;

export function decodeResponse(
  message: Uint8Array,
  query: DnsQuery,
): { readonly records: readonly string[] } | { readonly reason: string } {
  try {
    const reader = new MessageReader(message);
    const id = reader.number(2);
    const flags = reader.number(2);
    if (id !== query.id || (flags & IS_RESPONSE) === 0) return { reason: "response to another query" };
    if ((flags & IS_TRUNCATED) !== 0) return { reason: "truncated response" };
    const code = flags & ERROR_CODE;
    if (code !== 0) return { reason: ERRORS[code] ?? `error code ${code}` };
    const [questions, answers] = [reader.number(2), reader.number(2)];
    reader.skip(4);
    for (let index = 0; index < questions; index++) {
      reader.name();
      reader.skip(4);
    }
    const records = readAnswers(reader, answers, query);
    return records.length === 0 ? { reason: "no records" } : { records };
  } catch (error) {
    if (error instanceof RangeError) return { reason: "malformed response" };
    throw error;
  }
}

/** More aliases in a row are none of a sane zone. */
const ALIASES_MAX = 16;

/** Reads the records of a name, or of the target of its alias. */
function readAnswers(reader: MessageReader, count: number, { name, type }: DnsQuery): readonly string[] {
  const aliases = new Map<string, string>();
  const found: { readonly owner: string; readonly text: string }[] = [];
  for (let index = 0; index < count; index++) {
    const owner = reader.name().toLowerCase();
    const number = reader.number(2);
    const isInternet = reader.number(2) === INTERNET;
    reader.skip(4);
    const data = reader.part(reader.number(2));
    if (!isInternet) continue;
    if (number === TYPES.CNAME) aliases.set(owner, data.name().toLowerCase());
    if (number === TYPES[type]) found.push({ owner, text: RECORD_TEXTS[type](data.again()) });
  }
  const names = new Set([asciiName(name).toLowerCase().replace(/\.$/, "")]);
  for (let last = [...names].at(-1); last !== undefined && names.size <= ALIASES_MAX;) {
    const next = type === "CNAME" ? undefined : aliases.get(last);
    last = next === undefined || names.has(next) ? undefined : next;
    if (last !== undefined) names.add(last);
  }
  return found.filter(({ owner }) => names.has(owner)).map(({ text }) => text);
}

const RECORD_TEXTS: Readonly<Record<RecordType, (data: MessageReader) => string>> = {
  A: (data) => [1, 1, 1, 1].map((size) => data.number(size)).join("."),
  AAAA: (data) => {
    const groups = new Array(8).fill(2).map((size) => data.number(size).toString(16));
    return canonicalAddress(groups.join(":")) ?? "";
  },
  CNAME: (data) => data.name(),
  NS: (data) => data.name(),
  PTR: (data) => data.name(),
  MX: (data) => `${data.number(2)} ${data.name()}`,
  SRV: (data) => `${data.number(2)} ${data.number(2)} ${data.number(2)} ${data.name()}`,
  SOA: (data) => [data.name(), data.name(), ...[4, 4, 4, 4, 4].map((size) => data.number(size))].join(" "),
  CAA: (data) => `${data.number(1)} ${textOf(data.bytes(data.number(1)))} "${textOf(data.bytes(data.left))}"`,
  // The texts of a record have no meaning of their own (RFC 7208, section 3.3).
  TXT: (data) => {
    const whole: number[] = [];
    while (data.left > 0) whole.push(...data.bytes(data.number(1)));
    return textOf(Uint8Array.from(whole));
  },
};

const UTF_8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text in a record: as UTF-8 with all of its characters, or else with its bytes as numbers, so that none gets lost. */
function textOf(bytes: Uint8Array): string {
  try {
    return UTF_8.decode(bytes);
  } catch {
    return Array.from(bytes, (byte) => {
      const character = String.fromCharCode(byte);
      return /[ -~]/.test(character) && character !== "\\" ? character : numbered(byte);
    }).join("");
  }
}

const NAME_LENGTH_MAX = 255;

/** With more, a name of this length refers to a reference. */
const REFERENCES_MAX = NAME_LENGTH_MAX >> 1;

/** Reads a message, or a part of it. Reading beyond it is a `RangeError`. */
class MessageReader {
  readonly #bytes: Uint8Array;
  readonly #start: number;
  readonly #end: number;
  #at: number;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#start = start;
    this.#at = start;
    this.#end = end;
  }

  get left(): number {
    return this.#end - this.#at;
  }

  skip(size: number): void {
    if (size > this.left) throw new RangeError("The message ends early");
    this.#at += size;
  }

  number(size: number): number {
    const from = this.#at;
    this.skip(size);
    return this.#bytes.subarray(from, this.#at).reduce((number, byte) => number * 256 + byte, 0);
  }

  bytes(size: number): Uint8Array {
    const from = this.#at;
    this.skip(size);
    return this.#bytes.subarray(from, this.#at);
  }

  /** Consumes the next bytes, which may refer to names before them. */
  part(size: number): MessageReader {
    const from = this.#at;
    this.skip(size);
    return new MessageReader(this.#bytes, from, this.#at);
  }

  again(): MessageReader {
    return new MessageReader(this.#bytes, this.#start, this.#end);
  }

  /** Reads a name, whose end may be that of an earlier one (section 4.1.4). Each reference leads further back. */
  name(): string {
    const labels: string[] = [];
    let length = 0;
    let at = this.#at;
    let limit = this.#at;
    let references = 0;
    for (;;) {
      const size = this.#byteAt(at);
      if (size >= 0xc0) {
        const target = (size & 0x3f) * 256 + this.#byteAt(at + 1);
        if (references === 0) this.skip(at + 2 - this.#at);
        if (target >= limit) throw new RangeError("A name refers to what follows it");
        limit = target;
        if (++references > REFERENCES_MAX) throw new RangeError("A name has too many references");
        at = target;
        continue;
      }
      if (size > 63) throw new RangeError("A label is too long");
      length += size + 1;
      if (length > NAME_LENGTH_MAX) throw new RangeError("A name is too long");
      if (size === 0) {
        if (references === 0) this.skip(at + 1 - this.#at);
        return labels.length === 0 ? "." : labels.join(".");
      }
      const label = this.#bytes.subarray(at + 1, at + 1 + size);
      labels.push(Array.from(label, (byte) => LABEL_TEXTS[byte]).join(""));
      at += 1 + size;
    }
  }

  #byteAt(position: number): number {
    const byte = this.#bytes[position];
    if (byte === undefined) throw new RangeError("The message ends early");
    return byte;
  }
}

/** Bytes that have a meaning in names, or none, are written as numbers (section 5.1). */
const LABEL_TEXTS = Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  return /[!-~]/.test(character) && !/[.\\]/.test(character) ? character : numbered(byte);
});

function numbered(byte: number): string {
  return `\\${String(byte).padStart(3, "0")}`;
}
