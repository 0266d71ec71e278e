/**
 * Servers that are broken or hostile: each is an error of the state with the reason, within the deadline and with
 * bounded memory, and nothing keeps a client from being closed.
 */
import assert from "node:assert/strict";
import { requiresTools } from "../../../testing/tools.ts";
import { pause } from "../../../src/shared/deadline.ts";
import { openHeartbeats } from "../../../src/state/postgres/postgres_members.ts";
import { joinBytes } from "../../../src/shared/text.ts";
import { int16, int32, message, terminated } from "../../../src/shared/postgres/protocol.ts";
import {
  ACCEPTED,
  authentication,
  begin,
  type ClientMessages,
  complete,
  DEADLINE_MS,
  description,
  failure,
  NUL,
  ONE,
  ONE_COLUMN,
  PARSED,
  placeOf,
  READY,
  row,
  scram,
  type ScramServer,
  type Served,
  settle,
  SILENCE,
  STARTED,
  started,
  turn,
} from "./server_in_memory.ts";
import { testRows } from "../../support/rows.ts";

const PASSWORD = "pencil";
const MEBIBYTE = 2 ** 20;

/** What a server does, and how a statement ends. */
interface Row extends Served {
  /** The reason, without "cannot read state …: ". */
  readonly fails: string | RegExp;
  /** Timers of the server itself. @default 0 */
  readonly timers?: number;
  /** How much the client may read. @default 1 MiB */
  readonly bytesMax?: number;
}

const LATE = "no response within 15 s";
const CHECK_ADDRESS = "; check host and port, and that PostgreSQL runs there";
const UNPROVED = "server does not prove that it knows the password";
const IN_ANOTHER_ORDER = "server sends messages in another order";
const TOO_SHORT = "server sends a message that is too short";
const TOO_LONG = "server sends a message that is too long";
const TOO_MUCH = "server sends a response of more than 134217728 bytes";
const FLOOD_BYTES_MAX = 128 * MEBIBYTE;

/** A server that behaves up to a statement, and sends this as its response. */
function responding(...parts: readonly Uint8Array[]): Row["server"] {
  return async function* (client) {
    yield* untilStatement(client);
    yield joinBytes(parts);
    await SILENCE;
  };
}

/** A server that sends this as its first messages. */
function greeting(...parts: readonly Uint8Array[]): Row["server"] {
  return async function* (client) {
    await client.next();
    yield joinBytes(parts);
    await SILENCE;
  };
}

/** A server that sends a message without end, after some others. */
function flooding(before: readonly Uint8Array[], repeated: Uint8Array): Row["server"] {
  return async function* (client) {
    yield* untilStatement(client);
    yield joinBytes([...before, NOTICE]);
    const piece = joinBytes(Array.from({ length: Math.ceil(65_536 / repeated.length) }, () => repeated));
    for (;;) yield piece;
  };
}

/** A server that sends these messages of SCRAM, and then others. */
function challenging(options: Partial<ScramServer>): Row["server"] {
  return async function* (client) {
    yield* scram(client, { password: PASSWORD, ...options });
    yield joinBytes([ACCEPTED, STARTED]);
    await SILENCE;
  };
}

/** A server that sends two messages of SCRAM, waits for so many of the client, and sends this. */
function unproved(waits: number, ...parts: readonly Uint8Array[]): Row["server"] {
  return async function* (client) {
    const sent = scram(client, { password: PASSWORD });
    for (let messages = 0; messages < 2; messages++) yield (await sent.next()).value ?? ACCEPTED;
    for (let messages = 0; messages < waits; messages++) await client.next();
    if (parts.length > 0) yield joinBytes(parts);
    await SILENCE;
  };
}

/** A server that sends one byte a second, after some others. */
function dripping(
  before: (client: ClientMessages) => AsyncGenerator<Uint8Array, void>,
  bytes: Uint8Array,
): Row["server"] {
  return async function* (client, clock) {
    yield* before(client);
    for (const byte of bytes) {
      await pause(clock, 1_000);
      yield Uint8Array.of(byte);
    }
    await SILENCE;
  };
}

async function* unanswered(client: ClientMessages): AsyncGenerator<Uint8Array, void> {
  await client.next();
  yield new Uint8Array(0);
}

async function* untilStatement(client: ClientMessages): AsyncGenerator<Uint8Array, void> {
  yield* started(client);
  await client.statement();
}

const UTF8 = new TextEncoder();
const NOTICE = message("N", terminated("SNOTICE"), terminated("C00000"), terminated("Mhello"), NUL);
const SETTING = message("S", terminated("TimeZone"), terminated("UTC"));
const SCRAM = authentication(10, terminated("SCRAM-SHA-256"), NUL);
const NO_SCRAM = "server does not offer SCRAM-SHA-256; set it in pg_hba.conf, and the password again";

/** A header alone. */
function header(type: string, length: number): Uint8Array {
  return joinBytes([UTF8.encode(type), int32(length)]);
}

/** By the reason: what a server without a password sends first. */
const GREETINGS: Readonly<Record<string, Readonly<Record<string, readonly Uint8Array[]>>>> = {
  [LATE + CHECK_ADDRESS]: { "is silent from the start": [] },
  "server is not PostgreSQL": {
    "speaks HTTP": [UTF8.encode("HTTP/1.1 400 Bad Request\r\n\r\n")],
    "begins with a message of -1 bytes": [header("R", -1)],
  },
  [IN_ANOTHER_ORDER]: { "is ready without accepting the user": [READY] },
  [TOO_SHORT]: { "sends an Authentication message without a kind": [message("R", int16(0))] },
  "server error: unknown error": { "rejects the user without a reason": [message("E", NUL)] },
};

/** By the reason: what a server sends that has to prove that it knows the password. */
const LOGINS: Readonly<Record<string, Readonly<Record<string, Row["server"]>>>> = {
  [NO_SCRAM]: { "asks for the password as MD5": greeting(authentication(5, int32(1))) },
  "server asks for the password in another way": {
    "asks for the password in clear text after SCRAM has begun": greeting(SCRAM, authentication(3)),
  },
  [UNPROVED]: {
    "accepts the user after its request for SCRAM": greeting(SCRAM, ACCEPTED, STARTED),
    "accepts the user without its own proof": unproved(1, ACCEPTED, STARTED),
    "proves that it has another password": challenging({ signatureOf: () => new Uint8Array(32).toBase64() }),
    "sends a final message without a proof": challenging({ signatureOf: () => "" }),
    "answers to another nonce": challenging({ nonceOf: (nonce) => `x${nonce}server` }),
    "adds nothing to the nonce": challenging({ nonceOf: (nonce) => nonce }),
    "sends salt that is not Base64": challenging({ salt: "a" }),
  },
  "server asks for 1 SCRAM iterations, expected 4096 to 1000000": {
    "asks for one iteration": challenging({ iterations: 1 }),
  },
  "server asks for 2000000000 SCRAM iterations, expected 4096 to 1000000": {
    "asks for two billion iterations": challenging({ iterations: 2_000_000_000 }),
  },
  [LATE + CHECK_ADDRESS]: { "is silent after it has the password": unproved(0) },
};

/** By the reason: the response to a statement. */
const RESPONSES: Readonly<Record<string, Readonly<Record<string, readonly Uint8Array[]>>>> = {
  [LATE]: {
    "is silent after a statement": [],
    "announces 60 MiB, and sends none of it": [PARSED, ONE_COLUMN, header("D", 60 * MEBIBYTE)],
    "never says that it is ready": [PARSED, ONE_COLUMN, row("1"), complete("SELECT 1")],
  },
  "server sends a message of -1 bytes, expected 4 to 67108864": {
    "sends a later message of -1 bytes": [header("1", -1)],
  },
  [IN_ANOTHER_ORDER]: {
    "is ready without a result": [PARSED, READY],
    "sends a row before its description": [PARSED, row("1")],
  },
  "server describes -1 columns, expected 0 to 1664": {
    "describes 65,535 columns": [PARSED, message("T", int16(65_535), new Uint8Array(1_000))],
  },
  "server describes 2000 columns, expected 0 to 1664": {
    "describes 2,000 columns": [PARSED, description(Array.from({ length: 2_000 }, () => ["", 25]))],
  },
  [TOO_SHORT]: {
    "ends a description too early": [PARSED, message("T", int16(1), terminated("one"), int32(0))],
    "sends a value that is longer than its row": [PARSED, ONE_COLUMN, message("D", int16(1), int32(9), NUL)],
    "never ends its tag": [PARSED, ONE_COLUMN, message("C", UTF8.encode("SELECT 0")), READY],
  },
  [TOO_LONG]: {
    "sends more than the values of a row": [PARSED, ONE_COLUMN, message("D", int16(1), int32(-1), NUL)],
  },
  "server sends values that are not text": {
    "sends values in binary form": [
      PARSED,
      message("T", int16(1), terminated("one"), int32(0), int16(0), int32(23), int16(4), int32(-1), int16(1)),
    ],
  },
  "server sends a row of 2 columns, expected 1": {
    "sends a row of more columns": [PARSED, ONE_COLUMN, row("1", "2")],
  },
  "server sends text that is not UTF-8": {
    "sends text that is not UTF-8": [PARSED, description([["one", 25]]), row(Uint8Array.of(0xff))],
  },
  "server sends a number that is none": {
    "sends a number that ends with NUL": [PARSED, ONE_COLUMN, row("1\0")],
  },
  'server sends bytes that are not hexadecimal; set bytea_output to "hex"': {
    "sends half a byte": [PARSED, description([["one", 17]]), row("\\xabc")],
  },
  "server sends 1 rows, expected 2": {
    "loses a row": [PARSED, ONE_COLUMN, row("1"), complete("SELECT 2"), READY],
  },
};

/** A server that floods its client. */
const flood = (...given: Parameters<typeof flooding>): Row => ({
  server: flooding(...given),
  fails: TOO_MUCH,
  bytesMax: FLOOD_BYTES_MAX,
});

const byReason = <T>(
  cases: Readonly<Record<string, Readonly<Record<string, T>>>>,
  made: (value: T) => Omit<Row, "fails">,
): Readonly<Record<string, Row>> =>
  Object.fromEntries(
    Object.entries(cases).flatMap(([fails, named]) =>
      Object.entries(named).map(([name, value]) => [name, { ...made(value), fails }])
    ),
  );

const TABLE: Readonly<Record<string, Row>> = {
  ...byReason(GREETINGS, (parts) => ({ server: greeting(...parts) })),
  ...byReason(LOGINS, (server) => ({ server, password: PASSWORD, isPrivate: true })),
  ...byReason(RESPONSES, (parts) => ({ server: responding(...parts) })),
  "asks for the password in clear text, over a network": {
    server: greeting(authentication(3)),
    password: PASSWORD,
    fails: NO_SCRAM,
  },
  "accepts the user without asking for the password, over a network": {
    server: greeting(ACCEPTED, STARTED),
    password: PASSWORD,
    fails: 'server does not ask for the password; remove "password", or set scram-sha-256 in pg_hba.conf',
  },
  "closes at once": {
    server: async function* () {},
    fails: `connection closed by the server${CHECK_ADDRESS}`,
  },
  "rejects the user with a long text for a terminal": {
    server: greeting(failure("XX000", `\u001b[2J${"x".repeat(30_000)}`)),
    fails: /^server error: \[2Jx{190,200}… \(SQLSTATE XX000\)$/,
  },
  "sends a message of an unknown type": {
    server: responding(PARSED, header("!", 4)),
    fails: /^server sends a message of 4 bytes/,
  },
  "ends the connection with a reason": {
    server: async function* (client) {
      yield* untilStatement(client);
      yield failure("57P01", "terminating connection due to administrator command");
    },
    fails: "server error: terminating connection due to administrator command (SQLSTATE 57P01)",
  },
  "sends one byte a second at the start": {
    server: dripping(unanswered, joinBytes([ACCEPTED, STARTED])),
    fails: LATE + CHECK_ADDRESS,
    timers: 1,
  },
  "floods with notices before it is ready": {
    server: async function* (client) {
      await client.next();
      for (;;) yield message("N", terminated(`M${"x".repeat(1000)}`), NUL);
    },
    fails: "server sends too much before it is ready",
    bytesMax: 2 * MEBIBYTE,
  },
  "floods with notices": flood([PARSED], NOTICE),
  "floods with settings": flood([], SETTING),
  "floods with rows": flood([PARSED, ONE_COLUMN], row("12345".repeat(10_000))),
  "floods with rows without columns": flood([PARSED, description([])], row()),
};

Deno.test("a server that misbehaves is an error with the reason, in time and with bounded memory", async (t) => {
  for (const [name, row] of Object.entries(TABLE)) {
    const isLarge = row.bytesMax === FLOOD_BYTES_MAX;
    const run = async (): Promise<void> => {
      const trial = begin(row);
      const outcome = await settle(trial);
      if (typeof row.fails === "string") assert.equal(outcome, row.fails);
      else assert.match(String(outcome), row.fails);
      assert.ok(trial.clock.monotonicMs() <= DEADLINE_MS, `${trial.clock.monotonicMs()} ms`);
      const bytesRead = trial.connections.reduce((sum, connection) => sum + connection.bytesRead, 0);
      assert.ok(bytesRead <= (row.bytesMax ?? MEBIBYTE), `${bytesRead} bytes`);
      trial.client.close();
      assert.ok(trial.clock.timers <= (row.timers ?? 0), "no timer of the client is left");
    };
    // A flood of 128 MiB takes half a second.
    await t.step({ name, fn: run, ...isLarge ? requiresTools("time") : {} });
  }
});

/** Enough for what a server sends at once, and for a rejection. */
const TURNS = 10;

Deno.test("close() ends a statement at once, whatever the server does", async (t) => {
  await testRows(t, TABLE, async (row) => {
    const trial = begin(row);
    for (let turns = 0; turns < TURNS; turns++) await turn();
    trial.client.close();
    let isSettled = false;
    trial.outcome.finally(() => isSettled = true);
    for (let turns = 0; turns < TURNS && !isSettled; turns++) await turn();
    assert.ok(isSettled);
    assert.equal(trial.clock.monotonicMs(), 0);
    assert.equal(trial.clock.timers, row.timers ?? 0, "no timer of the client is left");
  });
});

Deno.test("a response that comes before its statement is none", async () => {
  const trial = begin({ server: responding(ONE, ONE) });
  assert.deepEqual(await settle(trial), {
    columns: [{ name: "one", typeId: 23 }],
    rows: [{ one: 1 }],
    count: 1,
  });
  const second = trial.client.query("SELECT 2 AS two").catch(String);
  assert.equal(await settle({ ...trial, outcome: second }), "ProtocolError: sends messages in another order");
  trial.client.close();
});

Deno.test("a heartbeat whose response has other rows than a monitor writes is an error of the state", async (t) => {
  const columns = ["written", "members", "queues", "silences", "uncertain"];
  for (const column of columns.slice(1)) {
    await testRows(t, OTHER_ROWS, async (expected, value) => {
      const values = columns.map((name) => name === "written" ? "1" : name === column ? value : "[]");
      const described = columns.map((name) => [name, name === "written" ? 23 : 25] as const);
      const response = [PARSED, description(described), row(...values), complete("SELECT 1"), READY];
      const { place, options, ...trial } = placeOf({ server: responding(...response) });
      const heartbeats = openHeartbeats(place, options);
      const own = { host: "one", id: "1", config: "", active: "", location: null, looks: [] };
      const outcome = heartbeats.beat(own, true).then(() => "", (error) => String(error));
      assert.match(await settle({ ...trial, outcome }), expected);
      await heartbeats.close();
    });
  }
});

const OTHER_ROWS: Readonly<Record<string, RegExp>> = {
  "null": /^StoreError: cannot write state "postgres:\/\/test": "\w+" of a row is not a list$/,
  "[": /^StoreError: cannot write state "postgres:\/\/test": /,
  "[null]": /^StoreError: cannot write state "postgres:\/\/test": "\w+" of a row is not (?:text|an object)$/,
  "[1]": /^StoreError: cannot write state "postgres:\/\/test": "\w+" of a row is not (?:text|an object)$/,
};
