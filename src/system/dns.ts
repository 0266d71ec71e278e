import type { Clock } from "../domain/clock.ts";
import type {
  ConnectionPhase,
  Dns,
  DnsAnswer,
  DnsQuestion,
  DnsServerAddress,
} from "../domain/connections.ts";
import { RESOLVER_FILE } from "../domain/runtime_permissions.ts";
import { messageOf } from "../shared/describe_error.ts";
import { isOwnFailure } from "../shared/failure_words.ts";
import { onAbort } from "../shared/on_abort.ts";
import { decodeResponse, encodeQuery, textOf } from "./dns_message.ts";
import { missingNetwork } from "./http/request_failure.ts";
import { connectTcp, type ConnectTcpOptions } from "./tcp/connect_tcp.ts";
import { explainConnectionError } from "./tcp/connection_failure.ts";
import { closeQuietly, writeAll } from "./tcp/tcp_stream.ts";

/**
 * The machine's look-ups. A server is queried over TCP, which every name server supports (RFC 7766): the runtime's
 * own look-up queries no server for names of `/etc/hosts` and `localhost`, and does not distinguish an error of the
 * server from a name without records. It is used for the resolver of the machine, where the first is the result that
 * other programs get.
 */
export function createDns(clock: Clock): Dns {
  return {
    lookUp: async (question, signal) => {
      const { server } = question;
      return server === null
        ? await askMachine(question, signal)
        : await askServer(question, server, { clock, signal });
    },
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

/** The text of a record that the runtime has parsed. */
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
