import assert from "node:assert/strict";
import { postgresQueryKind } from "../../src/checks/postgres_query.ts";
import type { PostgresQueryParameters } from "../../src/domain/generated/config.ts";
import { joinBytes } from "../../src/shared/text.ts";
import { createFiles } from "../../src/system/files.ts";
import { createConnections } from "../../src/system/tcp/connections.ts";
import { checkOf, contextOf } from "../../testing/builders.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import {
  ACCEPTED,
  authentication,
  type Behavior,
  type ClientMessages,
  complete,
  connectTo,
  description,
  failure,
  ONE,
  PARSED,
  READY,
  row,
  scram,
  SILENCE,
  STARTED,
} from "../state/postgres/server_in_memory.ts";
import { createAuthority, createCertificate } from "../support/certificates.ts";
import { problemTexts } from "../support/observe_check.ts";
import { POSTGRES, startPostgres } from "../support/postgres.ts";
import { type Rows, testRows } from "../support/rows.ts";

type Settings = Partial<PostgresQueryParameters>;

const TIMEOUT_MS = 10_000;

const queryCheck = (parameters: Settings, timeoutMs = TIMEOUT_MS) =>
  checkOf("postgres_query", {
    ...parameters.socket === undefined && { host: "127.0.0.1" },
    port: 5432,
    username: "ada",
    query: "SELECT 1",
    asWarning: false,
    ...parameters,
  }, { name: "db", timeoutMs });

/** Observes a server in memory; while it is silent, time passes. */
async function seenOf(behavior: Behavior, parameters: Settings): Promise<string> {
  const clock = { ...createFakeClock(), wallMs: () => Date.UTC(2026, 0, 31, 12) };
  const connections = {
    ...createConnections(createRealClock()),
    connect: (_target: unknown, { signal }: { readonly signal: AbortSignal }) => {
      const connection = connectTo(behavior);
      const read = async (): Promise<Uint8Array | null> => {
        const late = Promise.withResolvers<never>();
        signal.addEventListener("abort", () => late.reject(signal.reason));
        late.promise.catch(() => {});
        return await Promise.race([connection.read(), late.promise]);
      };
      return Promise.resolve({ ...connection, read });
    },
  };
  let isOver = false;
  const seen = postgresQueryKind.observe(
    queryCheck(parameters),
    contextOf({ system: { clock, connections } }),
  )
    .finally(() => isOver = true);
  while (behavior === hanging && !isOver) await clock.advance(1_000);
  const { condition, output } = await seen;
  return `${condition}: ${output}`;
}

/** A server that lets anyone in, and responds to the statements after BEGIN and the settings. */
function responding(...parts: readonly Uint8Array[]): Behavior {
  return async function* (client) {
    await client.next();
    yield joinBytes([ACCEPTED, STARTED]);
    yield* transaction(client);
    await client.statement();
    yield joinBytes(parts);
    await SILENCE;
  };
}

async function* transaction(client: ClientMessages): ReturnType<Behavior> {
  assert.match(await statementOf(client), /BEGIN.* READ ONLY/);
  yield joinBytes([PARSED, NO_DATA, complete("BEGIN"), READY]);
  assert.match(await statementOf(client), /statement_timeout/);
  yield ONE;
}

async function statementOf(client: ClientMessages): Promise<string> {
  const { body } = await client.next();
  await client.statement();
  return new TextDecoder().decode(body);
}

const NO_DATA = Uint8Array.of("n".charCodeAt(0), 0, 0, 0, 4);

const hanging = responding();

const INT8 = 20;
const returning = (type: number, ...values: readonly (string | null)[]): Behavior =>
  responding(
    PARSED,
    description([["v", type]]),
    ...values.map((value) => row(value)),
    complete(`SELECT ${values.length}`),
    READY,
  );
const greeting = (...parts: readonly Uint8Array[]): Behavior =>
  async function* (client) {
    await client.next();
    yield joinBytes(parts);
    await SILENCE;
  };
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

const ROWS: Rows<[behavior: Behavior, settings: Settings, expected: string]> = {
  "a result without an expectation": [returning(INT8, "7"), {}, "ok: value is 7"],
  "a number within its limit": [returning(INT8, "7"), { value: { atMost: 7 } }, "ok: value is 7"],
  "a number beyond it": [
    returning(INT8, "8"),
    { value: { atMost: 7 } },
    "critical: value is 8, expected a number of at most 7",
  ],
  "a decimal number": [returning(1700, "0.5"), { value: { lessThan: 1 } }, "ok: value is 0.5"],
  "a text": [returning(25, "up"), { value: "down" }, 'critical: value is "up", expected "down"'],
  "a boolean": [returning(16, "t"), { value: false }, "critical: value is true, expected false"],
  "JSON": [returning(3802, '{"a":1}'), { value: { equals: { a: 1 } } }, 'ok: value is {"a": 1}'],
  "an age": [
    returning(1184, "2026-01-31 13:59:00.123456+02"),
    { value: { newerThanMs: 3_600_000 } },
    'ok: value is "2026-01-31 13:59:00.123456+02:00"',
  ],
  "an age that is too high": [
    returning(1184, "2026-01-31 12:59:00+02"),
    { value: { newerThanMs: 3_600_000 } },
    "critical: value is …, expected a time within the last 1 h",
  ],
  "NULL, such as the newest of no rows": [
    returning(1184, null),
    { value: { newerThanMs: 3_600_000 } },
    "critical: value is null, expected a time within the last 1 h",
  ],
  "no row": [returning(INT8), { value: 0 }, "critical: there is no value, expected one"],
  "no row, as expected": [returning(INT8), { value: { exists: false } }, "ok: 0 rows"],
  "a row too many": [
    returning(INT8, "1"),
    { value: { exists: false } },
    "critical: value is 1, expected none",
  ],
  "rows": [
    returning(INT8, "1", "2"),
    { rows: { atMost: 1 } },
    "critical: rows: 2, expected a number of at most 1",
  ],
  "two rows in place of a value": [
    returning(INT8, "1", "2"),
    { value: 1 },
    "critical: query returns 2 rows, expected one",
  ],
  "two columns of one name in place of a value": [
    responding(PARSED, description([["v", INT8], ["v", INT8]]), row("1", "2"), complete("SELECT 1"), READY),
    { value: 2 },
    "critical: query returns 2 columns, expected one",
  ],
  "an error of the server": [
    responding(failure("42P01", 'relation "x" does not exist'), READY),
    {},
    'critical: server error: relation "x" does not exist (SQLSTATE 42P01)',
  ],
  "an error in the middle of the rows": [
    responding(
      PARSED,
      description([["v", INT8]]),
      row("1"),
      failure("57014", "canceling statement due to statement timeout"),
      READY,
    ),
    {},
    "critical: server error: canceling statement … (SQLSTATE 57014); the query takes longer than the timeout of the check",
  ],
  "a server that asks for a password": [
    greeting(authentication(10, bytes("SCRAM-SHA-256\0\0"))),
    {},
    'critical: server asks for a password; set "password"',
  ],
  "a wrong password": [
    (client) => scram(client, { password: "other" }),
    { password: "pencil" },
    "critical: server error: password authentication failed (SQLSTATE 28P01)",
  ],
  "another server": [
    greeting(bytes("HTTP/1.1 400 Bad Request\r\n\r\n")),
    {},
    "critical: server is not PostgreSQL",
  ],
  "the end": [async function* () {}, {}, "critical: connection closed by the server"],
  "no TLS": [greeting(bytes("N")), { tls: true }, "critical: server does not accept TLS;…"],
  "data in front of TLS": [
    greeting(bytes("SS")),
    { tls: true },
    "critical: server sent more in front of TLS",
  ],
  "silence": [hanging, {}, "critical: timeout after 10 s while reading from 127.0.0.1:5432"],
};

Deno.test("postgres_query compares a value, and is never ok without one", async (t) => {
  await testRows(t, ROWS, async ([behavior, settings, expected]) => {
    const seen = await seenOf(behavior, settings);
    const [begin = "", end = ""] = expected.split("…");
    assert.ok(
      seen.startsWith(begin) && (expected.includes("…") ? seen.endsWith(end) : seen === expected),
      seen,
    );
  });
});

Deno.test("postgres_query reads a response up to a limit", async () => {
  let sent = 0;
  const flood: Behavior = async function* (client) {
    await client.next();
    yield joinBytes([ACCEPTED, STARTED]);
    yield* transaction(client);
    await client.statement();
    yield joinBytes([PARSED, description([["v", INT8]])]);
    const rows = joinBytes(Array.from({ length: 1_000 }, () => row("1")));
    for (;; sent += rows.length) yield rows;
  };
  assert.equal(await seenOf(flood, {}), "critical: server sends a response of more than 1048576 bytes");
  assert.ok(sent < 2 ** 20, String(sent));
});

Deno.test("postgres_query rejects a server that is named twice, and warns of clear text", () => {
  const errors = (settings: Settings) => problemTexts(postgresQueryKind.errors?.(queryCheck(settings)));
  assert.deepEqual(errors({}), []);
  assert.deepEqual(errors({ host: "db", socket: "/s" }), [': expected either "host" or "socket"']);
  assert.deepEqual(errors({ socket: "/s", tls: true }), [
    'tls: "tls" cannot be used with "socket": remove one of them',
  ]);
  assert.deepEqual(errors({ verify: false }), [
    'verify: "verify" cannot be used with a connection without "tls": remove one of them',
  ]);
  const warnings = (settings: Settings) => problemTexts(postgresQueryKind.warnings?.(queryCheck(settings)));
  assert.deepEqual(warnings({ password: "x" }), []);
  assert.deepEqual(warnings({ host: "db", password: "x" }), []);
  assert.deepEqual(warnings({ host: "db", password: "x", tls: false }), [
    "tls: is not set, so others on the way can read the traffic",
  ]);
});

Deno.test({
  ...POSTGRES,
  name: "postgres_query reads from a real server over TLS, and can change nothing there",
  fn: async (t) => {
    const authority = createAuthority();
    const access = "local all all trust\nhostssl all all all scram-sha-256\n";
    const certificate = createCertificate({ authority, hosts: ["localhost"] });
    await using server = await startPostgres({ access, certificate });
    const caFile = `${server.directory}/authority.pem`;
    await Deno.writeTextFile(caFile, authority.cert);
    const clock = createRealClock();
    const system = { clock, connections: createConnections(clock), files: createFiles(clock) };
    const observe = async (settings: Settings, timeoutMs?: number): Promise<string> => {
      const context = contextOf({ system });
      const { condition, output } = await postgresQueryKind.observe(queryCheck(settings, timeoutMs), context);
      return `${condition}: ${output}`;
    };
    const socket = {
      socket: `${server.directory}/.s.PGSQL.${server.port}`,
      username: "monitor",
      database: "postgres",
    };
    const secure = {
      host: "localhost",
      port: server.port,
      username: "ada",
      password: "pencil",
      database: "postgres",
    };
    const rows: Rows<[settings: Settings, expected: RegExp, timeoutMs?: number]> = {
      "a value": [
        { ...socket, query: "SELECT count(*) FROM pg_database", value: { atLeast: 3 } },
        /^ok: value is 3$/,
      ],
      "a role": [{ ...socket, query: "SELECT true", value: true }, /^ok: value is true$/],
      "a time": [{ ...socket, query: "SELECT now()", value: { newerThanMs: 600_000 } }, /^ok: value is "/],
      "a statement that writes": [
        { ...socket, query: "CREATE TABLE t()" },
        /^critical: server error: cannot execute CREATE TABLE in a read-only transaction \(SQLSTATE 25006\)/,
      ],
      "two statements": [
        { ...socket, query: "COMMIT; CREATE TABLE t()" },
        /^critical: .*\(SQLSTATE 42601\)$/,
      ],
      "a slow query": [
        { ...socket, query: "SELECT pg_sleep(600)" },
        /^critical: (?:timeout after|server error:)/,
        300,
      ],
      "a flood": [
        { ...socket, query: "SELECT repeat('x', 3000000)" },
        /^critical: server sends a message of 3000010 bytes, expected 4 to 1048576$/,
      ],
      "a flood of rows": [
        { ...socket, query: "SELECT generate_series(1, 1000000)" },
        /^critical: .*more than /,
      ],
      "without TLS": [{ ...secure, tls: false }, /^critical: server error: no pg_hba/],
      "an unknown authority": [{ ...secure, tls: true }, /^critical: TLS handshake /],
      "a role over TLS": [{ ...secure, tls: true, caFile }, /^critical: server error: password .*28P01\)$/],
    };
    await testRows(t, rows, async ([settings, expected, timeoutMs]) => {
      assert.match(await observe(settings, timeoutMs), expected);
    });
    await t.step("a server that hangs", async () => {
      const file = await Deno.readTextFile(`${server.directory}/data/postmaster.pid`);
      const id = Number(file.split("\n")[0]);
      Deno.kill(id, "SIGSTOP");
      try {
        assert.match(await observe({ ...socket, query: "SELECT 1" }, 300), /^critical: timeout after /);
      } finally {
        Deno.kill(id, "SIGCONT");
      }
    });
  },
});
