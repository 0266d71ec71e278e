/** The possible failures of a database: each is one line with a hint. */
import assert from "node:assert/strict";
import type { PostgresPlace } from "../../../src/domain/stores.ts";
import { StoreError } from "../../../src/domain/store.ts";
import { PostgresClient } from "../../../src/state/postgres/postgres_client.ts";
import { POSTGRES_MIGRATIONS } from "../../../src/state/postgres/postgres_tables.ts";
import { openPostgresStore } from "../../../src/state/postgres/postgres_store.ts";
import { createAuthority, createCertificate } from "../../support/certificates.ts";
import {
  clientOptions,
  type PostgresServer,
  sharedPostgres,
  startPostgres,
  storeOptions,
  testPostgres,
} from "../../support/postgres.ts";
import { updateOf } from "../records.ts";
import { testRows } from "../../support/rows.ts";

const AUTHORITY = createAuthority();

const ACCESS = `local all monitor,poor trust
local all secret,prepared scram-sha-256
local all old md5
host all all 127.0.0.1/32 scram-sha-256
`;

const postgres = sharedPostgres({
  access: ACCESS,
  certificate: createCertificate({ authority: AUTHORITY, hosts: ["db.example.org"] }),
});

async function run(...statements: readonly string[]): Promise<void> {
  const client = new PostgresClient(postgres().place(), clientOptions());
  for (const statement of statements) await client.query(statement);
  client.close();
}

async function failureOf(place: PostgresPlace): Promise<string> {
  try {
    await (await openPostgresStore(place, storeOptions())).close();
    return "none";
  } catch (error) {
    assert.ok(error instanceof StoreError, String(error));
    assert.doesNotMatch(error.message, /right password|\n/);
    const isTemporary = /no socket|does not resolve|refused/.test(error.message);
    assert.equal(error.failure === "unreachable", isTemporary, error.message);
    return error.message.replace('cannot open state "postgres://test": ', "");
  }
}

function secured(
  server: PostgresServer,
  members: { readonly serverName?: string; readonly trusts?: boolean } = {},
) {
  const { serverName = "db.example.org", trusts = true } = members;
  const tls = { serverName, authorities: trusts ? [AUTHORITY.cert] : [] };
  return server.place({
    targets: [{ host: "127.0.0.1", port: server.port, tls }],
    user: "secret",
    password: "right password",
    database: "owned",
  });
}

testPostgres("openPostgresStore() logs in with a password, and over verified TLS", async () => {
  await run("CREATE ROLE secret LOGIN PASSWORD 'right password'", "CREATE DATABASE owned OWNER secret");
  const login = { user: "secret", password: "right password", database: "owned" };
  assert.equal(await failureOf(postgres().place(login)), "none");
  assert.equal(await failureOf(secured(postgres())), "none");
});

/** Passwords that SASLprep changes, or rejects: then PostgreSQL uses them as they are (RFC 4013). */
const PASSWORDS: Readonly<Record<string, string>> = {
  "a soft hyphen": "I\u00adX",
  "a space that is not ASCII": "a\u00a0b\u3000c",
  "a compatibility character": "\u2168\ufb01\u00aa",
  "a prohibited character, and a compatibility character": "\ue000\ufb01",
  "a character that Unicode 3.2 lacks, and a compatibility character": "\u{1f600}\ufb01",
  "text from right to left that ends with a digit": "\u0627\ufb501",
  "text in both directions": "\u0627a\u0628",
};

testPostgres("query() prepares a password as PostgreSQL does", async (t) => {
  await run("CREATE ROLE prepared LOGIN");
  await testRows(t, PASSWORDS, async (password) => {
    await run(`ALTER ROLE prepared PASSWORD '${password}'`);
    const client = new PostgresClient(postgres().place({ user: "prepared", password }), clientOptions());
    assert.equal((await client.query("SELECT 1 AS one")).count, 1);
    client.close();
  });
});

testPostgres("openPostgresStore() returns the error and a hint", async (t) => {
  await run(
    "CREATE ROLE poor LOGIN",
    "SET password_encryption = 'md5'",
    "CREATE ROLE old LOGIN PASSWORD 'right password'",
    "CREATE DATABASE standby",
    "ALTER DATABASE standby SET default_transaction_read_only = on",
    ...["newer", "taken"].flatMap((schema) => [
      `CREATE SCHEMA ${schema}`,
      `CREATE TABLE ${schema}.meta AS SELECT 99 AS ${schema === "newer" ? "schema_version" : "version"}`,
    ]),
  );
  await using web = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    () => new Response("web"),
  );
  const at = (host: string, port: number) => ({
    targets: [{ host, port, tls: { serverName: host, authorities: [] } }],
  });
  const hint = "check host and port, and that PostgreSQL runs there";
  const table: Readonly<Record<string, readonly [place: Partial<PostgresPlace>, message: string]>> = {
    "wrong password": [
      { user: "secret", password: "wrong password" },
      'wrong password, or no role "secret"; check "user" and "password"',
    ],
    "no password": [{ user: "secret" }, 'server asks for a password; set "password"'],
    "missing database": [
      { database: "none" },
      'database "none" does not exist; create it: createdb --owner=monitor none',
    ],
    "missing privileges": [
      { user: "poor", schema: "monitor" },
      'role "poor" lacks rights; grant them, see: monitor state schema (monitor)',
    ],
    "newer schema": [
      { schema: "newer" },
      `it is of version 99, and this monitor knows versions up to ${POSTGRES_MIGRATIONS.length}; ` +
      "use the newer monitor, or keep the state elsewhere",
    ],
    "schema of another program": [
      { schema: "taken" },
      'schema "taken" has other tables of the same names; use another "schema"',
    ],
    "standby": [{ database: "standby" }, "it is a standby, which is read-only; name the primary"],
    "missing socket": [
      { targets: [{ socketPath: "/nowhere/.s.PGSQL.5432" }] },
      "no socket of that name; check the path, and that PostgreSQL runs",
    ],
    "not PostgreSQL": [at("127.0.0.1", web.addr.port), `server is not PostgreSQL; ${hint}`],
    "unknown host": [at("nowhere.invalid", 5432), `name does not resolve; ${hint}`],
    "unknown authority": [
      secured(postgres(), { trusts: false }),
      'certificate is not trusted (unknown issuer); set "ca_file" to the certificate of its authority',
    ],
  };
  await testRows(t, table, async ([place, message]) => {
    assert.equal(await failureOf(postgres().place(place)), message);
  });
  await t.step("several servers", async () => {
    const targets = [...at("127.0.0.1", 1).targets, ...at("nowhere.invalid", 5432).targets];
    assert.match(
      await failureOf(postgres().place({ targets })),
      /^127\.0\.0\.1:1: connection refused;.*; nowhere\.invalid:5432: name does not resolve;/,
    );
  });
});

testPostgres("openPostgresStore() rejects an expired certificate, and a server without TLS", async () => {
  const certificate = createCertificate({
    authority: AUTHORITY,
    hosts: ["db.example.org"],
    fromDay: -9,
    toDay: -3,
  });
  await using server = await startPostgres({ access: ACCESS, certificate });
  assert.match(
    await failureOf(secured(server)),
    /^certificate expired .*; renew the certificate of the server$/,
  );
  await Deno.writeTextFile(`${server.directory}/data/postgresql.conf`, "\nssl = off", { append: true });
  await server.kill();
  await server.start();
  assert.equal(
    await failureOf(secured(server)),
    'server does not accept TLS; set "ssl = on" in postgresql.conf',
  );
});

testPostgres("a store reconnects when its server restarts after a crash", async () => {
  await using server = await startPostgres({ settings: ["fsync = on"] });
  const store = await openPostgresStore(server.place(), storeOptions());
  await store.save([updateOf("web")]);
  await server.kill();
  await assert.rejects(store.save([updateOf("mail")]), { name: "StoreError" });
  await server.start();
  const until = performance.now() + 120_000;
  for (;;) {
    try {
      await store.save([updateOf("mail")]);
      break;
    } catch (error) {
      if (performance.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  assert.deepEqual((await store.records()).map(({ name }) => name), ["web", "mail"]);
  await store.close();
});
