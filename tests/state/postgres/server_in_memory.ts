/** A PostgreSQL server in memory that behaves as a test chooses: well, or badly. */
import assert from "node:assert/strict";
import { createHash, createHmac, pbkdf2Sync } from "node:crypto";
import { setImmediate } from "node:timers";
import type { Connection } from "../../../src/domain/connections.ts";
import type { PostgresPlace } from "../../../src/domain/stores.ts";
import {
  explainPostgresFailure,
  PostgresClient,
  type PostgresClientOptions,
} from "../../../src/state/postgres/postgres_client.ts";
import {
  int16,
  int32,
  message,
  type ServerMessage,
  type StatementResult,
  terminated,
} from "../../../src/shared/postgres/protocol.ts";
import { createFakeClock, type FakeClock } from "../../../testing/fake_clock.ts";
import { joinBytes } from "../../../src/shared/text.ts";

/** What a server sends; it waits for the client in between. */
export type Behavior = (client: ClientMessages) => AsyncGenerator<Uint8Array, void>;

/** The messages that a client has sent. */
export class ClientMessages {
  #bytes = new Uint8Array(0);
  #arrived = Promise.withResolvers<void>();
  #isFirst = true;

  add(bytes: Uint8Array): void {
    this.#bytes = joinBytes([this.#bytes, bytes]) as Uint8Array<ArrayBuffer>;
    this.#arrived.resolve();
    this.#arrived = Promise.withResolvers();
  }

  /** Waits for the next message; the first one has no type. */
  async next(): Promise<ServerMessage> {
    const start = this.#isFirst ? 0 : 1;
    for (;;) {
      const bytes = this.#bytes;
      const length = bytes.length < start + 4 ? Infinity : new DataView(bytes.buffer).getInt32(start);
      if (bytes.length >= start + length) {
        this.#bytes = bytes.slice(start + length);
        this.#isFirst = false;
        const type = start === 0 ? "" : String.fromCharCode(bytes[0] ?? 0);
        return { type, body: bytes.subarray(start + 4, start + length) };
      }
      await this.#arrived.promise;
    }
  }

  /** Waits for the end of a statement's messages. */
  async statement(): Promise<void> {
    while ((await this.next()).type !== "S");
  }
}

/** A connection to such a server. */
export interface ServedConnection extends Connection {
  /** How many bytes the client has read. */
  readonly bytesRead: number;
  /** Whether the client waits for the server. */
  readonly isWaiting: boolean;
}

/** Once it is closed, reading never settles: nobody may rely on that. */
export function connectTo(behavior: Behavior): ServedConnection {
  const client = new ClientMessages();
  const sent = behavior(client);
  let isClosed = false;
  let isWaiting = false;
  let bytesRead = 0;
  return {
    get bytesRead() {
      return bytesRead;
    },
    get isWaiting() {
      return isWaiting;
    },
    read: async () => {
      // As data of a socket does, it gives other work a turn.
      await new Promise<void>((resolve) => void setImmediate(resolve));
      isWaiting = true;
      const { value, done } = await sent.next();
      isWaiting = false;
      if (isClosed) return await SILENCE;
      if (done) return null;
      bytesRead += value.length;
      return value.slice();
    },
    write: (bytes) => {
      client.add(bytes);
      return Promise.resolve();
    },
    close: () => void (isClosed = true),
  };
}

/** It never settles. */
export const SILENCE: Promise<never> = new Promise(() => {});

const TEXT = new TextEncoder();

export const NUL: Uint8Array = Uint8Array.of(0);

/** An Authentication message. */
export function authentication(kind: number, ...rest: readonly Uint8Array[]): Uint8Array {
  return message("R", int32(kind), ...rest);
}

export const ACCEPTED: Uint8Array = authentication(0);
export const READY: Uint8Array = message("Z", TEXT.encode("I"));
export const PARSED: Uint8Array = joinBytes([message("1"), message("2")]);

/** Settings, the key for cancelling, and the end of the startup. */
export const STARTED: Uint8Array = joinBytes([
  message("S", terminated("server_version"), terminated("16.1")),
  message("K", int32(1), int32(2)),
  READY,
]);

/** A RowDescription of columns with the numbers of their types. */
export function description(columns: readonly (readonly [name: string, type: number])[]): Uint8Array {
  const fields = columns.map(([name, type]) =>
    joinBytes([terminated(name), int32(0), int16(0), int32(type), int16(-1), int32(-1), int16(0)])
  );
  return message("T", int16(columns.length), ...fields);
}

/** A DataRow. */
export function row(...values: readonly (string | Uint8Array | null)[]): Uint8Array {
  const cells = values.map((value) => {
    if (value === null) return int32(-1);
    const bytes = typeof value === "string" ? TEXT.encode(value) : value;
    return joinBytes([int32(bytes.length), bytes]);
  });
  return message("D", int16(values.length), ...cells);
}

/** A CommandComplete. */
export function complete(tag: string): Uint8Array {
  return message("C", terminated(tag));
}

/** An ErrorResponse. */
export function failure(code: string, text: string): Uint8Array {
  return message("E", terminated("SERROR"), terminated(`C${code}`), terminated(`M${text}`), NUL);
}

export const ONE_COLUMN: Uint8Array = description([["one", 23]]);

/** A response with one row. */
export const ONE: Uint8Array = joinBytes([PARSED, ONE_COLUMN, row("1"), complete("SELECT 1"), READY]);

const WRITABLE = joinBytes([PARSED, description([["read_only", 23]]), row("0"), complete("SELECT 1"), READY]);

/** Starts a session without asking for a password, and says that it is writable. */
export async function* started(client: ClientMessages): ReturnType<Behavior> {
  await client.next();
  yield joinBytes([ACCEPTED, STARTED]);
  yield* writable(client);
}

export async function* writable(client: ClientMessages): ReturnType<Behavior> {
  await client.statement();
  yield WRITABLE;
}

export interface ScramServer {
  readonly password: string;
  /** @default 4,096 */
  readonly iterations?: number;
  readonly nonceOf?: (client: string) => string;
  readonly salt?: string;
  readonly signatureOf?: (right: string) => string;
}

/** Authenticates the client with SCRAM-SHA-256, up to the server's own proof. */
export async function* scram(client: ClientMessages, options: ScramServer): ReturnType<Behavior> {
  const {
    password,
    iterations = 4_096,
    nonceOf = (nonce) => `${nonce}server`,
    signatureOf = (right) => right,
  } = options;
  const salt = options.salt ?? TEXT.encode("salt of 16 bytes").toBase64();
  await client.next();
  yield authentication(10, terminated("SCRAM-SHA-256"), NUL);
  const first = new TextDecoder().decode((await client.next()).body);
  const bare = first.slice(first.indexOf("n=,r="));
  const serverFirst = `r=${nonceOf(bare.slice(5))},s=${salt},i=${iterations}`;
  yield authentication(11, TEXT.encode(serverFirst));
  const final = new TextDecoder().decode((await client.next()).body);
  const text = `${bare},${serverFirst},${final.slice(0, final.indexOf(",p="))}`;
  const salted = pbkdf2Sync(password, Uint8Array.fromBase64(salt), iterations, 32, "sha256");
  const sign = (key: Uint8Array, of: string) => createHmac("sha256", key).update(of).digest();
  const clientKey = sign(salted, "Client Key");
  const clientSignature = sign(createHash("sha256").update(clientKey).digest(), text);
  const proof = clientKey.map((byte, index) => byte ^ (clientSignature[index] ?? 0));
  if (final.slice(final.indexOf(",p=") + 3) !== new Uint8Array(proof).toBase64()) {
    yield failure("28P01", "password authentication failed");
    return;
  }
  const signature = new Uint8Array(sign(sign(salted, "Server Key"), text)).toBase64();
  yield authentication(12, TEXT.encode(`v=${signatureOf(signature)}`));
}

/** A server, and what the client knows of it. */
export interface Served {
  server(client: ClientMessages, clock: FakeClock): ReturnType<Behavior>;
  /** `null`: none is set. @default null */
  readonly password?: string | null;
  /** Whether the connection is a Unix socket. @default false */
  readonly isPrivate?: boolean;
}

/** A statement on a server, and the clock. */
export interface Trial {
  readonly clock: FakeClock;
  readonly client: PostgresClient;
  readonly connections: readonly ServedConnection[];
  /** The result, or the reason of the failure. */
  readonly outcome: Promise<StatementResult | string>;
}

/** What a client needs to connect to it. */
interface Place {
  readonly clock: FakeClock;
  readonly place: PostgresPlace;
  readonly options: PostgresClientOptions;
  readonly connections: readonly ServedConnection[];
}

export function placeOf({ server, password = null, isPrivate = false }: Served): Place {
  const clock = createFakeClock();
  const connections: ServedConnection[] = [];
  const place: PostgresPlace = {
    targets: [isPrivate ? { socketPath: "/nowhere" } : { host: "127.0.0.1", port: 5432, tls: null }],
    database: "postgres",
    user: "monitor",
    password,
    schema: "monitor",
    prepare: true,
    url: "postgres://test",
  };
  const options: PostgresClientOptions = {
    clock,
    randomId: () => "nonce",
    connections: {
      connectDatabase: () => {
        const connection = connectTo((messages) => server(messages, clock));
        connections.push(connection);
        return Promise.resolve(connection);
      },
      explain: () => assert.fail("the connection comes about"),
    },
  };
  return { clock, place, options, connections };
}

/** Begins a statement on it. Whatever fails must be explained. */
export function begin(served: Served): Trial {
  const { clock, place, options, connections } = placeOf(served);
  const client = new PostgresClient(place, options);
  const outcome = client.query("SELECT 1 AS one").catch((error) => {
    const explained = explainPostgresFailure(error, { action: "read", place });
    assert.ok(explained !== null, error);
    return explained.message.replace('cannot read state "postgres://test": ', "");
  });
  return { clock, client, connections, outcome };
}

/** Gives everything its turn; only while the client waits for a silent server, time passes. */
export async function settle<T>(
  { clock, connections, outcome }: Pick<Trial, "clock" | "connections"> & { readonly outcome: Promise<T> },
): Promise<T> {
  let isSettled = false;
  outcome.finally(() => isSettled = true);
  for (let turnsWaited = 0; !isSettled;) {
    await turn();
    turnsWaited = connections.at(-1)?.isWaiting ? turnsWaited + 1 : 0;
    if (turnsWaited > TURNS) await clock.advance(1_000);
  }
  return await outcome;
}

/** So many turns without data are silence. */
const TURNS = 5;

/** Gives everything else its turn. */
export function turn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

/** Four attempts, each with a deadline of 15 s. */
export const DEADLINE_MS: number = 61_000;
