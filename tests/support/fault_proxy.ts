/** A proxy that forwards everything, except for one fault at one byte of a connection. */
import { closeQuietly, startServer } from "./http_servers.ts";
import { resetConnection } from "./reset_connection.ts";

/**
 * The kinds of faults at a byte:
 * - `cut`: both sides read the end of the connection; earlier data arrives
 * - `reset`: both sides see a reset
 * - `stall`: nothing gets through any more, either way; the connection stays until the client leaves
 * - `truncate`: later data in this direction is lost, the other direction continues; the connection stays until the
 *   client disconnects
 * - `delay`: later data is delayed
 * - `drop`: the byte is lost
 * - `corrupt`: the byte is another
 */
export const FAULT_KINDS = ["cut", "reset", "stall", "truncate", "delay", "drop", "corrupt"] as const;
export type FaultKind = typeof FAULT_KINDS[number];

export type Way = "client" | "server";

export interface Fault {
  readonly kind: FaultKind;
  readonly from: Way;
  /** How many bytes went this way before. */
  readonly position: number;
  /** The bits that `corrupt` turns. */
  readonly bits: number;
  /** The only connection that it happens to, counted from 0; without it, it happens to each. */
  readonly connection?: number;
}

export interface Course {
  readonly client: Passage;
  readonly server: Passage;
}

export interface Passage {
  readonly sent: readonly number[];
  readonly arrived: readonly number[];
  /** How the receiver saw it end; `null` where it did not. */
  readonly end: "closed" | "reset" | null;
}

export interface FaultProxy extends AsyncDisposable {
  readonly port: number;
  /** One for each connection, in the order in which they came. */
  readonly courses: readonly Course[];
  /** Resolves when every client has disconnected by itself, and no more can connect. */
  close(): Promise<void>;
}

/** Starts a proxy before a server of this machine. */
export function startFaultProxy(serverPort: number, fault: Fault | null): FaultProxy {
  const servers = new Set<Deno.TcpConn>();
  const courses: Course[] = [];
  let isEnding = false;
  const { port, close, ...proxy } = startServer(async ({ connection, number }) => {
    const course = { client: newPassage(), server: newPassage() };
    courses.push(course);
    const server = await Deno.connect({ port: serverPort, hostname: "127.0.0.1" });
    servers.add(server);
    try {
      // Disposed of meanwhile: nothing else would close it.
      if (isEnding) return;
      const client = connection as Deno.TcpConn;
      client.setNoDelay();
      server.setNoDelay();
      const isMeant = fault?.connection === undefined || fault.connection === number;
      const ends: Ends = { client, server, over: null, course, fault: isMeant ? fault : null };
      const answer = carry("server", ends).catch(() => {});
      await carry("client", ends);
      // A server that waits for lost data would wait for ever.
      if (isMeant && fault !== null) closeQuietly(server);
      await answer;
    } finally {
      closeQuietly(server);
      servers.delete(server);
    }
  });
  return {
    port,
    courses,
    close,
    async [Symbol.asyncDispose]() {
      isEnding = true;
      servers.forEach(closeQuietly);
      await proxy[Symbol.asyncDispose]();
    },
  };
}

interface MutablePassage extends Passage {
  readonly sent: number[];
  readonly arrived: number[];
  end: Passage["end"];
}

function newPassage(): MutablePassage {
  return { sent: [], arrived: [], end: null };
}

interface Ends {
  readonly client: Deno.TcpConn;
  readonly server: Deno.TcpConn;
  readonly course: { readonly client: MutablePassage; readonly server: MutablePassage };
  readonly fault: Fault | null;
  /** The fault that applies to both directions. */
  over: "cut" | "stall" | "reset" | null;
}

const CHUNK_BYTES = 16_384;

/** Forwards the data of one side to the other, up to its end. */
async function carry(way: Way, ends: Ends): Promise<void> {
  const { course, fault } = ends;
  const [from, to] = way === "client" ? [ends.client, ends.server] : [ends.server, ends.client];
  const passage = course[way];
  let isLost = false;
  const send = async (bytes: Uint8Array): Promise<void> => {
    passage.arrived.push(...bytes);
    for (let rest = bytes; rest.length > 0;) rest = rest.subarray(await to.write(rest));
  };
  const chunk = new Uint8Array(CHUNK_BYTES);
  for (let count = await from.read(chunk); count !== null; count = await from.read(chunk)) {
    const piece = chunk.slice(0, count);
    const at = fault?.from === way ? fault.position - passage.sent.length : -1;
    passage.sent.push(...piece);
    // Closing with unread data resets the connection, so it is read nevertheless.
    if (isLost || ends.over !== null) continue;
    if (fault === null || at < 0 || at >= count) {
      await send(piece);
      continue;
    }
    await send(piece.subarray(0, at));
    const rest = await FAULTS[fault.kind]({ ends, fault, rest: piece.subarray(at) });
    if (rest === null) isLost = true;
    else await send(rest);
  }
  if (isLost || ends.over !== null) return;
  passage.end = "closed";
  await to.closeWrite();
}

interface Moment {
  readonly ends: Ends;
  readonly fault: Fault;
  /** The next data; the byte of the fault is first. */
  readonly rest: Uint8Array;
}

/** The delay of `delay`, so that later data is in a separate segment. */
const DELAY_MS = 2;

/** The data that is forwarded instead; `null`: none any more. */
const FAULTS: Readonly<Record<FaultKind, (moment: Moment) => Promise<Uint8Array | null>>> = {
  async cut({ ends }) {
    ends.over = "cut";
    ends.course.client.end = ends.course.server.end = "closed";
    await Promise.all([ends.client.closeWrite(), ends.server.closeWrite()]);
    return null;
  },
  reset({ ends }) {
    ends.over = "reset";
    ends.course.client.end = ends.course.server.end = "reset";
    resetConnection(ends.client);
    resetConnection(ends.server);
    return Promise.resolve(null);
  },
  stall({ ends }) {
    ends.over = "stall";
    return Promise.resolve(null);
  },
  truncate: () => Promise.resolve(null),
  async delay({ rest }) {
    await new Promise((resolve) => setTimeout(resolve, DELAY_MS));
    return rest;
  },
  drop: ({ rest }) => Promise.resolve(rest.subarray(1)),
  corrupt: ({ rest, fault }) =>
    Promise.resolve(rest.map((byte, index) => index === 0 ? byte ^ fault.bits : byte)),
};
