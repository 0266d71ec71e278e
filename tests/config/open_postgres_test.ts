import assert from "node:assert/strict";
import { parseDatabaseHost, postgresIn } from "../../src/config/postgres_settings.ts";
import {
  openPostgresPlace,
  parsePostgresUrl,
  permissionsOfPostgres,
} from "../../src/config/open_postgres.ts";
import { load } from "../../testing/config_system.ts";
import { testRows } from "../support/rows.ts";

const POSTGRES = { hosts: ["db.example.org"], database: "monitor", user: "monitor" };

const ACCESS: Parameters<typeof openPostgresPlace>[1] = {
  environment: (name) => name === "PASSWORD" ? "right password" : undefined,
  mayReadEnvironment: () => true,
  files: {
    stat: () => Promise.reject(new Deno.errors.NotFound("none")),
    read: () => Promise.reject(new Deno.errors.NotFound("none")),
  } as unknown as Parameters<typeof openPostgresPlace>[1]["files"],
};

Deno.test("parseDatabaseHost() accepts hosts, ports and directories of sockets", () => {
  const table: Readonly<Record<string, ReturnType<typeof parseDatabaseHost>>> = {
    "db.example.org": { host: "db.example.org", port: 5432 },
    "db:6432": { host: "db", port: 6432 },
    "[::1]:5433": { host: "[::1]", port: 5433 },
    "/run/postgresql:5433": { socketPath: "/run/postgresql/.s.PGSQL.5433" },
    "/run/postgresql/": { socketPath: "/run/postgresql/.s.PGSQL.5432" },
    "/run/postgresql/.s.PGSQL.5433": { socketPath: "/run/postgresql/.s.PGSQL.5433" },
    "db:0": null,
    "db:65536": null,
    "::1": null,
    "https://db": null,
    "a b": null,
    "": null,
  };
  for (const [text, expected] of Object.entries(table)) {
    assert.deepEqual(parseDatabaseHost(text), expected, text);
  }
});

Deno.test("parsePostgresUrl() parses a URL, and returns the error of an invalid one", async (t) => {
  const good = parsePostgresUrl(
    "postgres://moni%20tor@db1,db2:5433/main?password_env=P&ca_file=ca.pem&schema=s&prepare=false&sslmode=verify-full",
    "/etc",
  );
  assert.ok("written" in good);
  assert.deepEqual(good.written, {
    hosts: ["db1", "db2:5433"],
    database: "main",
    user: "moni tor",
    password: "${env:P}",
    ca_file: "ca.pem",
    schema: "s",
    prepare: false,
  });
  const bad: Readonly<Record<string, RegExp>> = {
    "postgres://monitor:x@db/main": /^--state contains a password/,
    "postgres://monitor@db/main?sslmode=require": /^sslmode is "require", expected verify-full/,
    "postgres://monitor@db/main?password=x": /^--state has the unknown parameter "password"/,
    "postgres://db/main": /expected postgres:\/\/USER@HOST\[:PORT\]\/DATABASE$/,
    "postgres://monitor@db": /expected postgres/,
  };
  await testRows(t, bad, (message, url) => {
    const problem = parsePostgresUrl(url, "/");
    assert.ok("message" in problem);
    assert.match(problem.message, message);
  });
});

Deno.test("openPostgresPlace() reads secrets, and verifies TLS except on this machine", async () => {
  const hosts = ["db.example.org:5433", "localhost", "127.0.0.5", "/run/postgresql"];
  const settings = postgresIn(
    { state: { postgres: { ...POSTGRES, hosts, password: "${env:PASSWORD}" } } },
    "/etc",
  );
  assert.ok(settings !== null);
  const place = await openPostgresPlace(settings, ACCESS);
  assert.deepEqual(place.targets, [
    { host: "db.example.org", port: 5433, tls: { serverName: "db.example.org", authorities: [] } },
    { host: "localhost", port: 5432, tls: null },
    { host: "127.0.0.5", port: 5432, tls: null },
    { socketPath: "/run/postgresql/.s.PGSQL.5432" },
  ]);
  const { password, schema, prepare, url } = place;
  assert.deepEqual([password, schema, prepare], ["right password", "monitor", true]);
  assert.doesNotMatch(url, /right password/);
  assert.deepEqual(await permissionsOfPostgres(settings, ACCESS), {
    net: ["db.example.org:5433", "localhost:5432", "127.0.0.5:5432"],
    read: ["/run/postgresql/.s.PGSQL.5432"],
    write: ["/run/postgresql/.s.PGSQL.5432"],
    env: ["PASSWORD", "DENO_TLS_CA_STORE"],
  });
});

Deno.test("openPostgresPlace() names the secret or file that this machine lacks", async () => {
  const rows = [
    [{ password: "${env:NONE}" }, 'password: the environment variable "NONE" is not set'],
    [{ ca_file: "ca.pem" }, 'ca_file "/etc/ca.pem": file does not exist'],
  ] as const;
  for (const [keys, message] of rows) {
    const settings = postgresIn({ state: { postgres: { ...POSTGRES, ...keys } } }, "/etc");
    assert.ok(settings !== null);
    await assert.rejects(openPostgresPlace(settings, ACCESS), { name: "MissingSettingError", message });
  }
});

Deno.test("loadConfig() accepts a database as state", async () => {
  const { postgres, statePath } = await load({ defaults: {}, state: { postgres: POSTGRES } });
  assert.equal(statePath, null);
  assert.equal(postgres?.url, "postgres://monitor@db.example.org/monitor");
});
