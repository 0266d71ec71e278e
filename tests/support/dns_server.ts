/** A DNS server on loopback that does to a client whatever a test wants, over TCP (RFC 7766). */

/** One question, as it came. */
export interface DnsQuery {
  /** Without the final dot, in small letters. */
  readonly name: string;
  /** Such as `A`; a number as text if it is not known here. */
  readonly type: string;
  /** The question section, and the id before it. */
  readonly id: number;
  readonly question: Uint8Array;
}

/** Returns the messages to send, in order; none is silence. */
export type DnsBehavior = (query: DnsQuery) => Iterable<Uint8Array>;

export interface DnsServer extends AsyncDisposable {
  readonly port: number;
  readonly queries: readonly DnsQuery[];
}

const TYPES: Readonly<Record<string, number>> = {
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

/**
 * Starts a server that responds to every query with the result of `behave`, and waits until the client disconnects.
 */
export function startDnsServer(behave: DnsBehavior): DnsServer {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const queries: DnsQuery[] = [];
  const open = new Set<Promise<void>>();
  const converse = async (connection: Deno.Conn): Promise<void> => {
    const buffer = new Uint8Array(4096);
    const count = await connection.read(buffer) ?? 0;
    if (count < 14) return;
    const query = readQuery(buffer.subarray(2, count));
    queries.push(query);
    for (const reply of behave(query)) {
      const framed = Uint8Array.of(reply.length >> 8, reply.length & 255, ...reply);
      for (let rest = framed; rest.length > 0;) rest = rest.subarray(await connection.write(rest));
    }
    await connection.read(buffer);
  };
  const accepting = (async () => {
    for await (const connection of listener) {
      // A client that has disconnected is no failure.
      open.add(converse(connection).catch(() => {}).finally(() => connection.close()));
    }
  })();
  return {
    port: listener.addr.port,
    queries,
    async [Symbol.asyncDispose]() {
      listener.close();
      await Promise.all([accepting, ...open]);
    },
  };
}

function readQuery(message: Uint8Array): DnsQuery {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(new TextDecoder().decode(message.subarray(at + 1, at + 1 + length)));
    at += 1 + length;
  }
  const number = (message[at + 1] ?? 0) * 256 + (message[at + 2] ?? 0);
  const [type = `${number}`] = Object.entries(TYPES).find(([, other]) => other === number) ?? [];
  return {
    name: labels.join(".").toLowerCase(),
    type,
    id: (message[0] ?? 0) * 256 + (message[1] ?? 0),
    question: message.slice(12, at + 5),
  };
}

/** One record of a response about the name of the query, or another one. */
export interface DnsRecord {
  readonly type: string;
  readonly data: Uint8Array;
  readonly name?: string;
}

export interface DnsMessageOptions {
  /** 0: no error, 2: SERVFAIL, 3: NXDOMAIN, 5: REFUSED. @default 0 */
  readonly code?: number;
  readonly isTruncated?: boolean;
  /** @default that of the query */
  readonly id?: number;
}

export function dnsReply(
  query: DnsQuery,
  records: readonly DnsRecord[],
  { code = 0, isTruncated = false, id = query.id }: DnsMessageOptions = {},
): Uint8Array {
  return Uint8Array.from([
    ...[id, 0x8180 | code | (isTruncated ? 0x0200 : 0), 1, records.length, 0, 0].flatMap(twoBytes),
    ...query.question,
    ...records.flatMap(({ type, data, name }) => [
      ...name === undefined ? [0xc0, 12] : dnsName(name),
      ...twoBytes(TYPES[type] ?? 0),
      ...[0, 1, 0, 0, 0, 60],
      ...twoBytes(data.length),
      ...data,
    ]),
  ]);
}

export function twoBytes(number: number): readonly number[] {
  return [number >> 8 & 255, number & 255];
}

export function dnsAddress(address: string): DnsRecord {
  return { type: "A", data: Uint8Array.from(address.split(".").map(Number)) };
}

/** A name as it stands in a message, uncompressed. */
export function dnsName(name: string): Uint8Array {
  const labels = name.split(".").filter((label) => label !== "").map((label) =>
    new TextEncoder().encode(label)
  );
  return Uint8Array.from([...labels.flatMap((label) => [label.length, ...label]), 0]);
}

/** The data of a TXT record; texts of up to 255 bytes each. */
export function dnsTexts(...texts: readonly string[]): Uint8Array {
  return Uint8Array.from(
    texts.flatMap((text) => {
      const bytes = new TextEncoder().encode(text);
      return [bytes.length, ...bytes];
    }),
  );
}
