/**
 * Servers that are broken or hostile: each is an error of the state with the reason, within the deadline and with
 * bounded memory, and nothing keeps a client from being closed.
 */
import assert from "node:assert/strict";
import { requiresTools } from "../../../testing/tools.ts";
import { pause } from "../../../src/shared/deadline.ts";
import { openHeartbeats } from "../../../src/state/postgres/postgres_members.ts";
import { int16, int32, joined, message, terminated } from "../../../src/state/postgres/protocol.ts";
import {
  ACCEPTED,
  authentication,
  begin,
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
  writable,
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
    yield* started(client);
    await client.statement();
    yield joined(parts);
    await SILENCE;
  };
}

/** A server that sends this as its first messages. */
function greeting(...parts: readonly Uint8Array[]): Row["server"] {
  return async function* (client) {
    await client.next();
    yield joined(parts);
    await SILENCE;
  };
}

/** A server that sends a message without end, after some others. */
function flooding(before: readonly Uint8Array[], repeated: Uint8Array): Row["server"] {
  return async function* (client) {
    yield* started(client);
    await client.statement();
    yield joined([...before, NOTICE]);
    const piece = joined(Array.from({ length: Math.ceil(65_536 / repeated.length) }, () => repeated));
    for (;;) yield piece;
  };
}

function challenging(options: Partial<ScramServer>, ...after: readonly Uint8Array[]): Row["server"] {
  return async function* (client) {
    yield* scram(client, { password: PASSWORD, ...options });
    yield joined([...after, ACCEPTED, STARTED]);
    await SILENCE;
  };
}

const NOTICE = message("N", terminated("SNOTICE"), terminated("C00000"), terminated("Mhello"), NUL);
const SETTING = message("S", terminated("TimeZone"), terminated("UTC"));

/** A header alone. */
function header(type: string, length: number): Uint8Array {
  return joined([new TextEncoder().encode(type), int32(length)]);
}

const TABLE: Readonly<Record<string, Row>> = {
  "closes at once": {
    server: async function* () {},
    fails: `connection closed by the server${CHECK_ADDRESS}`,
  },
  "is silent from the start": { server: greeting(), fails: LATE + CHECK_ADDRESS },
  "speaks HTTP": {
    server: greeting(new TextEncoder().encode("HTTP/1.1 400 Bad Request\r\n\r\n")),
    fails: "server is not PostgreSQL",
  },
  "begins with a message of -1 bytes": {
    server: greeting(header("R", -1)),
    fails: "server is not PostgreSQL",
  },
  "begins with a message of 2 GiB": {
    server: greeting(header("R", 2 ** 31 - 1)),
    fails: "server is not PostgreSQL",
  },
  "sends one byte a second at the start": {
    server: async function* (client, clock) {
      await client.next();
      for (const byte of joined([ACCEPTED, STARTED])) {
        await pause(clock, 1_000);
        yield Uint8Array.of(byte);
      }
      await SILENCE;
    },
    fails: LATE + CHECK_ADDRESS,
    timers: 1,
  },
  "floods with notices before it is ready": {
    server: async function* (client) {
      await client.next();
      for (;;) yield NOTICE;
    },
    fails: "server sends too much before it is ready",
    bytesMax: 2 * MEBIBYTE,
  },
  "is ready without accepting the user": { server: greeting(READY), fails: IN_ANOTHER_ORDER },
  "accepts the user twice": { server: greeting(ACCEPTED, ACCEPTED, STARTED), fails: IN_ANOTHER_ORDER },
  "sends an Authentication message without a kind": {
    server: greeting(message("R", int16(0))),
    fails: TOO_SHORT,
  },
  "asks for the password in clear text": {
    server: greeting(authentication(3)),
    password: PASSWORD,
    fails: "server does not offer SCRAM-SHA-256; set it in pg_hba.conf, and the password again",
  },
  "asks for the password as MD5": {
    server: greeting(authentication(5, int32(1))),
    password: PASSWORD,
    isPrivate: true,
    fails: "server does not offer SCRAM-SHA-256; set it in pg_hba.conf, and the password again",
  },
  "asks for the password in clear text after SCRAM has begun": {
    server: greeting(authentication(10, terminated("SCRAM-SHA-256"), NUL), authentication(3)),
    password: PASSWORD,
    isPrivate: true,
    fails: "server asks for the password in another way",
  },
  "accepts the user without asking for the password": {
    server: greeting(ACCEPTED, STARTED),
    password: PASSWORD,
    fails:
      'server does not ask for the password; remove "password" of "state", or set scram-sha-256 in pg_hba.conf',
  },
  "accepts the user after its request for SCRAM": {
    server: greeting(authentication(10, terminated("SCRAM-SHA-256"), NUL), ACCEPTED, STARTED),
    password: PASSWORD,
    isPrivate: true,
    fails: UNPROVED,
  },
  "accepts the user without its own proof": {
    server: async function* (client) {
      const sent = scram(client, { password: PASSWORD });
      for (let messages = 0; messages < 2; messages++) yield (await sent.next()).value ?? ACCEPTED;
      await client.next();
      yield joined([ACCEPTED, STARTED]);
      await SILENCE;
    },
    password: PASSWORD,
    isPrivate: true,
    fails: UNPROVED,
  },
  "proves that it has another password": {
    server: challenging({ signatureOf: () => new Uint8Array(32).toBase64() }),
    password: PASSWORD,
    fails: UNPROVED,
  },
  "sends a final message without a proof": {
    server: challenging({ signatureOf: () => "" }),
    password: PASSWORD,
    fails: UNPROVED,
  },
  "answers to another nonce": {
    server: challenging({ nonceOf: (nonce) => `x${nonce}server` }),
    password: PASSWORD,
    fails: UNPROVED,
  },
  "adds nothing to the nonce": {
    server: challenging({ nonceOf: (nonce) => nonce }),
    password: PASSWORD,
    fails: UNPROVED,
  },
  "asks for one iteration": {
    server: challenging({ iterations: 1 }),
    password: PASSWORD,
    fails: "server asks for 1 SCRAM iterations, expected 4096 to 1000000",
  },
  "asks for two billion iterations": {
    server: challenging({ iterations: 2_000_000_000 }),
    password: PASSWORD,
    fails: "server asks for 2000000000 SCRAM iterations, expected 4096 to 1000000",
  },
  "sends salt that is not Base64": {
    server: challenging({ salt: "a" }),
    password: PASSWORD,
    fails: UNPROVED,
  },
  "is silent after it has the password": {
    server: async function* (client) {
      const sent = scram(client, { password: PASSWORD });
      for (let messages = 0; messages < 2; messages++) yield (await sent.next()).value ?? ACCEPTED;
      await SILENCE;
    },
    password: PASSWORD,
    fails: LATE + CHECK_ADDRESS,
  },
  "rejects the user without a reason": {
    server: greeting(message("E", NUL)),
    fails: "server error: unknown error",
  },
  "rejects the user with a long text for a terminal": {
    server: greeting(failure("XX000", `\u001b[2J${"x".repeat(30_000)}`)),
    fails: /^server error: \[2Jx{190,200}… \(SQLSTATE XX000\)$/,
  },
  "is silent after a statement": { server: responding(), fails: LATE },
  "sends a later message of -1 bytes": {
    server: responding(header("1", -1)),
    fails: "server sends a message of -1 bytes, expected 4 to 67108864",
  },
  "sends a later message of 0 bytes": {
    server: responding(header("1", 0)),
    fails: "server sends a message of 0 bytes, expected 4 to 67108864",
  },
  "sends a later message of 2 GiB": {
    server: responding(PARSED, ONE_COLUMN, header("D", 2 ** 31 - 1)),
    fails: "server sends a message of 2147483647 bytes, expected 4 to 67108864",
  },
  "announces 60 MiB, and sends none of it": {
    server: responding(PARSED, ONE_COLUMN, header("D", 60 * MEBIBYTE)),
    fails: LATE,
  },
  "sends a message of an unknown type": {
    server: responding(PARSED, header("!", 4)),
    fails: /^server sends a message of 4 bytes/,
  },
  "begins to copy": { server: responding(PARSED, message("H", int16(0), int16(0))), fails: IN_ANOTHER_ORDER },
  "is ready without a result": { server: responding(PARSED, READY), fails: IN_ANOTHER_ORDER },
  "sends a row before its description": { server: responding(PARSED, row("1")), fails: IN_ANOTHER_ORDER },
  "sends a row of no description": {
    server: responding(PARSED, message("n"), row("1")),
    fails: IN_ANOTHER_ORDER,
  },
  "describes the columns twice": {
    server: responding(PARSED, ONE_COLUMN, ONE_COLUMN),
    fails: IN_ANOTHER_ORDER,
  },
  "describes 65,535 columns": {
    server: responding(PARSED, message("T", int16(65_535), new Uint8Array(1_000))),
    fails: "server describes -1 columns, expected 0 to 1664",
  },
  "describes 2,000 columns": {
    server: responding(PARSED, description(Array.from({ length: 2_000 }, () => ["", 25]))),
    fails: "server describes 2000 columns, expected 0 to 1664",
  },
  "ends a description too early": {
    server: responding(PARSED, message("T", int16(1), terminated("one"), int32(0))),
    fails: TOO_SHORT,
  },
  "never ends the name of a column": {
    server: responding(PARSED, message("T", int16(1), new TextEncoder().encode("one"))),
    fails: TOO_SHORT,
  },
  "sends values in binary form": {
    server: responding(
      PARSED,
      message("T", int16(1), terminated("one"), int32(0), int16(0), int32(23), int16(4), int32(-1), int16(1)),
    ),
    fails: "server sends values that are not text",
  },
  "sends a row of more columns": {
    server: responding(PARSED, ONE_COLUMN, row("1", "2")),
    fails: "server sends a row of 2 columns, expected 1",
  },
  "sends a row of -1 columns": {
    server: responding(PARSED, ONE_COLUMN, message("D", int16(-1))),
    fails: "server sends a row of -1 columns, expected 1",
  },
  "sends a value of -2 bytes": {
    server: responding(PARSED, ONE_COLUMN, message("D", int16(1), int32(-2))),
    fails: TOO_SHORT,
  },
  "sends a value that is longer than its row": {
    server: responding(PARSED, ONE_COLUMN, message("D", int16(1), int32(9), NUL)),
    fails: TOO_SHORT,
  },
  "sends more than the values of a row": {
    server: responding(PARSED, ONE_COLUMN, message("D", int16(1), int32(-1), NUL)),
    fails: TOO_LONG,
  },
  "sends text that is not UTF-8": {
    server: responding(PARSED, description([["one", 25]]), row(Uint8Array.of(0xff))),
    fails: "server sends text that is not UTF-8",
  },
  "sends a number that ends with NUL": {
    server: responding(PARSED, ONE_COLUMN, row("1\0")),
    fails: "server sends a number that is none",
  },
  "sends an empty number": {
    server: responding(PARSED, ONE_COLUMN, row("")),
    fails: "server sends a number that is none",
  },
  "sends half a byte": {
    server: responding(PARSED, description([["one", 17]]), row("\\xabc")),
    fails: 'server sends bytes that are not hexadecimal; set bytea_output to "hex"',
  },
  "loses a row": {
    server: responding(PARSED, ONE_COLUMN, row("1"), complete("SELECT 2"), READY),
    fails: "server sends 1 rows, expected 2",
  },
  "never ends its tag": {
    server: responding(PARSED, ONE_COLUMN, message("C", new TextEncoder().encode("SELECT 0")), READY),
    fails: TOO_SHORT,
  },
  "never says that it is ready": {
    server: responding(PARSED, ONE_COLUMN, row("1"), complete("SELECT 1")),
    fails: LATE,
  },
  "closes within a row": {
    server: async function* (client) {
      yield* started(client);
      await client.statement();
      yield joined([PARSED, ONE_COLUMN, row("1").subarray(0, 8)]);
    },
    fails: "connection closed by the server",
  },
  "ends the connection with a reason": {
    server: async function* (client) {
      yield* started(client);
      await client.statement();
      yield failure("57P01", "terminating connection due to administrator command");
    },
    fails: "server error: terminating connection due to administrator command (SQLSTATE 57P01)",
  },
  "sends one byte a second": {
    server: async function* (client, clock) {
      yield* started(client);
      await client.statement();
      for (const byte of ONE) {
        await pause(clock, 1_000);
        yield Uint8Array.of(byte);
      }
      await SILENCE;
    },
    fails: LATE,
    timers: 1,
  },
  "floods with notices": { server: flooding([PARSED], NOTICE), fails: TOO_MUCH, bytesMax: FLOOD_BYTES_MAX },
  "floods with settings": { server: flooding([], SETTING), fails: TOO_MUCH, bytesMax: FLOOD_BYTES_MAX },
  "floods with errors": {
    server: flooding([], failure("XX000", "no")),
    fails: TOO_MUCH,
    bytesMax: FLOOD_BYTES_MAX,
  },
  "floods with rows": {
    server: flooding([PARSED, ONE_COLUMN], row("12345".repeat(10_000))),
    fails: TOO_MUCH,
    bytesMax: FLOOD_BYTES_MAX,
  },
  "floods with rows without columns": {
    server: flooding([PARSED, description([])], row()),
    fails: TOO_MUCH,
    bytesMax: FLOOD_BYTES_MAX,
  },
};

Deno.test("a server that misbehaves is an error with the reason, in time and with bounded memory", async (t) => {
  for (const [name, row] of Object.entries(TABLE)) {
    const isLarge = row.bytesMax === FLOOD_BYTES_MAX && name !== "floods with rows";
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

/** What a good server sends, with SCRAM. */
const GOOD: Row["server"] = async function* (client) {
  yield* scram(client, { password: PASSWORD });
  yield joined([ACCEPTED, STARTED]);
  yield* writable(client);
  await client.statement();
  yield ONE;
  await client.statement();
  yield ONE;
};

Deno.test("a server that ends or pauses after any byte is an error in time", async () => {
  let bytes = 0;
  const whole = begin({
    password: PASSWORD,
    server: async function* (...server) {
      for await (const piece of GOOD(...server)) {
        bytes += piece.length;
        yield piece;
      }
    },
  });
  assert.deepEqual(await settle(whole), { rows: [{ one: 1 }], count: 1 });
  assert.ok(bytes > 300, `${bytes} bytes`);
  // Each takes some milliseconds of SCRAM.
  const [wholeBytes, step] = [bytes, 7];
  for (const ends of [true, false]) {
    for (let place = 0; place < wholeBytes; place += step) {
      const trial = begin({
        password: PASSWORD,
        server: async function* (...server) {
          let left = place;
          for await (const piece of GOOD(...server)) {
            if (left > 0) yield piece.subarray(0, left);
            left -= piece.length;
            if (left <= 0) break;
          }
          if (!ends) await SILENCE;
        },
      });
      assert.match(
        String(await settle(trial)),
        ends ? /^connection closed by the server/ : /^no response within/,
      );
      assert.ok(trial.clock.monotonicMs() <= DEADLINE_MS, `${place}: ${trial.clock.monotonicMs()} ms`);
      trial.client.close();
    }
  }
});

Deno.test("a response that comes before its statement is none", async () => {
  const trial = begin({
    server: async function* (client) {
      yield* started(client);
      await client.statement();
      yield joined([ONE, ONE]);
      await SILENCE;
    },
  });
  assert.deepEqual(await settle(trial), { rows: [{ one: 1 }], count: 1 });
  const second = trial.client.query("SELECT 2 AS two").catch(String);
  assert.equal(
    await settle({ ...trial, outcome: second }),
    "ProtocolError: sends messages in another order",
  );
  trial.client.close();
});

Deno.test("a heartbeat whose response has other rows than a monitor writes is an error of the state", async (t) => {
  const columns = ["written", "members", "queues", "silences", "uncertain"];
  for (const column of columns.slice(1)) {
    for (const [value, expected] of Object.entries(OTHER_ROWS)) {
      await t.step(`${column} is ${value}`, async () => {
        const values = columns.map((name) => name === "written" ? "1" : name === column ? value : "[]");
        const { place, options, ...trial } = placeOf({
          server: responding(
            PARSED,
            description(columns.map((name) => [name, name === "written" ? 23 : 25])),
            row(...values),
            complete("SELECT 1"),
            READY,
          ),
        });
        const heartbeats = openHeartbeats(place, options);
        const own = { host: "one", id: "1", config: "", active: "", location: null, looks: [] };
        const outcome = heartbeats.beat(own, true).then(() => "", (error) => String(error));
        assert.match(await settle({ ...trial, outcome }), expected);
        await heartbeats.close();
      });
    }
  }
});

const OTHER_ROWS: Readonly<Record<string, RegExp>> = {
  "null": /^StoreError: cannot write state "postgres:\/\/test": "\w+" of a row is not a list$/,
  "[": /^StoreError: cannot write state "postgres:\/\/test": /,
  "[null]": /^StoreError: cannot write state "postgres:\/\/test": "\w+" of a row is not (?:text|an object)$/,
  "[1]": /^StoreError: cannot write state "postgres:\/\/test": "\w+" of a row is not (?:text|an object)$/,
};
