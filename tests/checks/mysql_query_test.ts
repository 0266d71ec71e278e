/** A scripted server of MySQL, and a real MariaDB. */
import assert from "node:assert/strict";
import { mysqlQueryKind } from "../../src/checks/mysql_query.ts";
import type { CheckResult } from "../../src/domain/check.ts";
import type { MysqlQueryParameters } from "../../src/domain/generated/config.ts";
import { joinBytes } from "../../src/shared/text.ts";
import { createFiles } from "../../src/system/files.ts";
import { createConnections } from "../../src/system/tcp/connections.ts";
import { checkOf, contextOf, tempDirectory } from "../../testing/builders.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import { runChild, startChild, testWith, tool } from "../../testing/tools.ts";
import { createAuthority, createCertificate } from "../support/certificates.ts";
import { freePort, startServer, type Visitor } from "../support/http_servers.ts";
import { problemTexts } from "../support/observe_check.ts";
import { readUntil } from "../support/read_until.ts";
import { type Rows, testRows } from "../support/rows.ts";

/** A name that leads to a server of the tests, as if it were on another machine. */
const ELSEWHERE = "db.example.org";

type Settings = Partial<MysqlQueryParameters>;

const queryCheck = (parameters: Settings, timeoutMs = 60_000) =>
  checkOf("mysql_query", {
    ...parameters.socket === undefined && { host: "127.0.0.1" },
    port: 3306,
    username: "ada",
    query: "SELECT 1",
    asWarning: false,
    ...parameters,
  }, { name: "db", timeoutMs });

function observe(parameters: Settings, timeoutMs?: number): Promise<CheckResult> {
  const clock = createRealClock();
  const connections = createConnections(clock);
  const system = {
    clock: { ...clock, wallMs: () => Date.UTC(2026, 0, 31, 12) },
    connections: {
      ...connections,
      connect: (...[target, options]: Parameters<typeof connections.connect>) =>
        connections.connect(target.host === ELSEWHERE ? { ...target, host: "127.0.0.1" } : target, options),
    },
    files: createFiles(clock),
  };
  return mysqlQueryKind.observe(queryCheck(parameters, timeoutMs), contextOf({ system }));
}

const bytes = (...values: readonly (number | string)[]): Uint8Array =>
  joinBytes(
    values.map((value) => typeof value === "string" ? new TextEncoder().encode(value) : Uint8Array.of(value)),
  );
const packet = (sequence: number, ...values: readonly (number | string)[]): Uint8Array => {
  const body = bytes(...values);
  return joinBytes([
    Uint8Array.of(body.length & 0xff, body.length >> 8 & 0xff, body.length >> 16, sequence),
    body,
  ]);
};
const zeros = (count: number): readonly number[] => Array.from({ length: count }, () => 0);

const SALT = "abcdefgh";
const SALT_END = "ijklmnopqrst";
/** Capabilities: everything but TLS; with it, TLS too. */
const greeting = (plugin: string, { version = "8.4.0", hasTls = false } = {}): Uint8Array =>
  packet(
    0,
    10,
    version,
    0,
    1,
    0,
    0,
    0,
    SALT,
    0,
    0xff,
    hasTls ? 0xff : 0xf7,
    45,
    2,
    0,
    0xff,
    0xff,
    21,
    ...zeros(10),
    SALT_END,
    0,
    plugin,
    0,
  );
const OK = (sequence: number): Uint8Array => packet(sequence, 0, 0, 0, 2, 0, 0, 0);
const FAILED = (sequence: number, code: number, text: string): Uint8Array =>
  packet(sequence, 0xff, code & 0xff, code >> 8, "#HY000", text);
const EOF = (sequence: number): Uint8Array => packet(sequence, 0xfe, 0, 0, 2, 0);
const column = (sequence: number): Uint8Array => packet(sequence, 3, "def", ...zeros(5), 12, ...zeros(12));
const text = (value: string | null): readonly (number | string)[] =>
  value === null ? [0xfb] : [value.length, value];
const result = (...values: readonly (string | null)[]): Uint8Array =>
  joinBytes([
    packet(1, 1),
    column(2),
    EOF(3),
    ...values.map((value, index) => packet(index + 4, ...text(value))),
    EOF(values.length + 4),
  ]);

/** Returns packets whose numbers go around so often. */
function repeated(count: number, packetAt: (index: number) => Uint8Array): readonly Uint8Array[] {
  return Array(count).fill(joinBytes(Array.from({ length: 256 }, (_, index) => packetAt(index))));
}

/** Reads one packet of a client. */
async function read({ connection }: Visitor): Promise<Uint8Array> {
  const take = async (count: number): Promise<Uint8Array> => {
    const taken = new Uint8Array(count);
    for (let at = 0; at < count;) {
      at += await connection.read(taken.subarray(at)) ?? assert.fail("the client has left");
    }
    return taken;
  };
  const [low = 0, middle = 0, high = 0] = await take(4);
  return await take(low + middle * 0x100 + high * 0x10000);
}

type Meeting = (visitor: Visitor) => Promise<void>;

/** Lets anyone in, accepts the settings and the transaction, and answers the query. */
const answering = (answer: Uint8Array, statements: string[] = []): Meeting => async (visitor) => {
  await visitor.send(greeting("mysql_native_password"));
  await read(visitor);
  await visitor.send(OK(2));
  for (let count = 0; count < 3; count++) {
    statements.push(new TextDecoder().decode(await read(visitor)).slice(1));
    await visitor.send(OK(1));
  }
  statements.push(new TextDecoder().decode(await read(visitor)).slice(1));
  await visitor.send(answer);
  await visitor.untilGone();
};

async function digest(hash: string, ...parts: readonly Uint8Array[]): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest(hash, joinBytes(parts) as Uint8Array<ArrayBuffer>));
}

/** Whether a response to the greeting proves the password "s3cret"; the proof has so many bytes. */
async function proves(response: Uint8Array, hash: "SHA-1" | "SHA-256", at: number): Promise<boolean> {
  const once = await digest(hash, bytes("s3cret"));
  const twice = await digest(hash, once);
  const salt = bytes(SALT, SALT_END);
  const mask = await digest(hash, ...hash === "SHA-1" ? [salt, twice] : [twice, salt]);
  return once.every((byte, index) => (byte ^ (mask[index] ?? 0)) === response[at + index]);
}

/** Of a response to the greeting: behind capabilities, lengths, character set, "ada" and the length of the proof. */
const PROOF_AT = 4 + 4 + 1 + 23 + 4 + 1;
const denied = (sequence: number): Uint8Array => FAILED(sequence, 1045, "Access denied");

const asking = (plugin: string, hash: "SHA-1" | "SHA-256", then: Meeting): Meeting => async (visitor) => {
  await visitor.send(greeting(plugin));
  const response = await read(visitor);
  if (!await proves(response, hash, PROOF_AT)) return await visitor.send(denied(2));
  await then(visitor);
};
const rest = (sequence: number): Meeting => async (visitor) => {
  await visitor.send(OK(sequence));
  for (let count = 0; count < 3; count++) {
    await read(visitor);
    await visitor.send(OK(1));
  }
  await read(visitor);
  await visitor.send(result("7"));
  await visitor.untilGone();
};

const ROWS: Rows<[meet: Meeting, settings: Settings, expected: string]> = {
  "a value": [answering(result("7")), {}, "ok: value is 7"],
  "a number of digits": [
    answering(result("7")),
    { value: { atMost: 5 } },
    "critical: value is 7, expected a number of at most 5",
  ],
  "a text": [answering(result("up")), { value: "up" }, 'ok: value is "up"'],
  "no row": [answering(result()), { value: 1 }, "critical: there is no value, expected one"],
  "the number of rows": [answering(result("1", "2")), { rows: 2 }, "ok: 2 rows, expected one"],
  "NULL": [answering(result(null)), { value: 1 }, "critical: value is null, expected 1"],
  "no result": [answering(OK(1)), {}, "critical: query returns no rows: expected a SELECT"],
  "an error": [
    answering(FAILED(1, 1146, "Table 'x' does not exist")),
    {},
    "critical: server error: Table 'x' does not exist (1146)",
  ],
  "an error behind rows": [
    answering(joinBytes([packet(1, 1), column(2), EOF(3), FAILED(4, 3024, "interrupted")])),
    {},
    "critical: server error: interrupted (3024); the query takes longer than the timeout of the check",
  ],
  "a request for a file": [
    answering(packet(1, 0xfb, "/etc/passwd")),
    {},
    "critical: server asks for a file of this machine",
  ],
  "packets out of order": [answering(packet(5, 1)), {}, "critical: server sent packets out of order"],
  "a row that is cut": [
    answering(joinBytes([packet(1, 1), column(2), EOF(3), packet(4, 9, "x")])),
    {},
    "critical: server sent a packet that is too short",
  ],
  "a flood of rows": [
    answering(
      joinBytes([
        packet(1, 1),
        column(2),
        EOF(3),
        ...repeated(47, (index) => packet(index + 4 & 0xff, 1, "x")),
      ]),
    ),
    {},
    "critical: result has more than 1048576 bytes: select less",
  ],
  "a huge packet": [
    answering(Uint8Array.of(0xff, 0xff, 0xff, 1)),
    {},
    "critical: result has more than 1048576 bytes: select less",
  ],
  "another server": [(visitor) => visitor.send("SSH-2.0-OpenSSH_9.9\r\n"), {}, "critical: "],
  "an error in place of a greeting": [
    (visitor) => visitor.send(packet(0, 0xff, 0x10, 0x04, "Too many connections")),
    {},
    "critical: server error: Too many connections (1040)",
  ],
  "an end": [() => Promise.resolve(), {}, "critical: connection closed by the server"],
  "a login by SHA-1": [
    asking("mysql_native_password", "SHA-1", rest(2)),
    { password: "s3cret" },
    "ok: value is 7",
  ],
  "a wrong password": [
    asking("mysql_native_password", "SHA-1", rest(2)),
    { password: "wrong" },
    "critical: server error: Access denied (1045)",
  ],
  "a login by SHA-256": [
    asking("caching_sha2_password", "SHA-256", async (visitor) => {
      await visitor.send(packet(2, 1, 3));
      await rest(3)(visitor);
    }),
    { password: "s3cret" },
    "ok: value is 7",
  ],
  "a password that is encrypted with the key of a server on this machine": [
    asking("caching_sha2_password", "SHA-256", async (visitor) => {
      await visitor.send(packet(2, 1, 4));
      assert.deepEqual(await read(visitor), bytes(2));
      const { publicKey, privateKey } = await crypto.subtle.generateKey(
        { name: "RSA-OAEP", hash: "SHA-1", modulusLength: 1024, publicExponent: Uint8Array.of(1, 0, 1) },
        true,
        ["encrypt", "decrypt"],
      );
      const der = new Uint8Array(await crypto.subtle.exportKey("spki", publicKey));
      const pem = `-----BEGIN PUBLIC KEY-----\n${der.toBase64()}\n-----END PUBLIC KEY-----\n`;
      await visitor.send(packet(4, 1, pem));
      const secret = Uint8Array.from(await read(visitor));
      const masked = new Uint8Array(await crypto.subtle.decrypt("RSA-OAEP", privateKey, secret));
      const salt = bytes(SALT, SALT_END);
      assert.deepEqual(masked.map((byte, index) => byte ^ (salt[index] ?? 0)), bytes("s3cret", 0));
      await rest(6)(visitor);
    }),
    { password: "s3cret" },
    "ok: value is 7",
  ],
  "a password that is wanted by a server on another machine": [
    asking("caching_sha2_password", "SHA-256", (visitor) => visitor.send(packet(2, 1, 4))),
    { host: ELSEWHERE, tls: false, password: "s3cret" },
    'critical: server wants the password itself: use TLS, with "verify"',
  ],
  "a key that is none": [
    asking("caching_sha2_password", "SHA-256", async (visitor) => {
      await visitor.send(packet(2, 1, 4));
      await read(visitor);
      await visitor.send(packet(4, 1, "-----BEGIN PUBLIC KEY-----"));
    }),
    { password: "s3cret" },
    "critical: server sent an RSA key that cannot be used",
  ],
  "a flood of columns without a byte": [
    answering(
      joinBytes([
        packet(1, 0xfe, ...Array.from({ length: 8 }, () => 0x7f)),
        ...repeated(1_055, (index) => Uint8Array.of(0, 0, 0, index + 2 & 0xff)),
      ]),
    ),
    {},
    "critical: result has more than 1048576 bytes: select less",
  ],
  "another plugin, to get the password": [
    async (visitor) => {
      await visitor.send(greeting("mysql_native_password"));
      await read(visitor);
      await visitor.send(packet(2, 0xfe, "mysql_clear_password", 0));
      await visitor.untilGone();
    },
    { password: "s3cret" },
    'critical: server wants the login "mysql_clear_password", which is not supported',
  ],
  "no TLS": [
    (visitor) => visitor.send(greeting("mysql_native_password")),
    { tls: true },
    'critical: server does not accept TLS; configure it there, or "tls": false',
  ],
  "data in front of TLS": [
    (visitor) => visitor.send(joinBytes([greeting("mysql_native_password", { hasTls: true }), OK(2)])),
    { tls: true },
    "critical: server sent more in front of TLS",
  ],
};

Deno.test("mysql_query compares a value, and is never ok without one", async (t) => {
  await testRows(t, ROWS, async ([meet, settings, expected]) => {
    await using server = startServer(meet);
    const { condition, output } = await observe({ port: server.port, ...settings });
    assert.equal(`${condition}: ${output}`.slice(0, expected.length), expected, output);
    assert.ok(expected.endsWith(": ") || `${condition}: ${output}` === expected, output);
  });
});

Deno.test("mysql_query reads in a transaction that the server limits", async () => {
  const statements: string[] = [];
  await using server = startServer(answering(result("7"), statements));
  await observe({ port: server.port }, 5_000);
  assert.deepEqual(statements, [
    "SET SESSION max_execution_time = 5000",
    "SET SESSION innodb_lock_wait_timeout = 5",
    "START TRANSACTION READ ONLY",
    "SELECT 1",
  ]);
  const errors = (query: string) => problemTexts(mysqlQueryKind.errors?.(queryCheck({ query })));
  for (
    const query of ["select 1", " (SELECT 1)", "SHOW REPLICA STATUS", "WITH a AS (SELECT 1) SELECT * FROM a"]
  ) {
    assert.deepEqual(errors(query), []);
  }
  for (const query of ["CREATE TABLE x(y int)", "/*! DROP TABLE x */", "SET GLOBAL x = 1", ";"]) {
    assert.match(errors(query).join(), /^query: begins with ".*", expected one of SELECT, /);
  }
});

testWith("mariadbd", "mariadb-install-db")(
  "mysql_query reads from a real MariaDB, over TCP, TLS and a socket, and changes nothing",
  async () => {
    await using temporary = await tempDirectory();
    const { path } = temporary;
    const [data, socket, port] = [`${path}/data`, `${path}/mysqld.sock`, freePort()];
    const user = Deno.uid() === 0 ? ["--user=root"] : [];
    const authority = createAuthority();
    const { cert, key } = createCertificate({ authority, toDay: 60 });
    await Deno.writeTextFile(`${path}/ca.pem`, authority.cert);
    await Deno.writeTextFile(`${path}/cert.pem`, cert);
    await Deno.writeTextFile(`${path}/key.pem`, key);
    const made = await runChild(tool("mariadb-install-db"), [
      ...[
        "--no-defaults",
        `--datadir=${data}`,
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
        ...user,
      ],
    ]);
    assert.ok(made.success, made.stderr);
    await Deno.writeTextFile(
      `${path}/init.sql`,
      [
        "CREATE DATABASE shop;",
        "CREATE TABLE shop.orders (id int, at datetime);",
        "INSERT INTO shop.orders VALUES (1, '2026-01-31 11:59:00'), (2, NULL);",
        "CREATE USER ada@'%' IDENTIFIED BY 's3cret';",
        "GRANT ALL ON shop.* TO ada@'%';",
      ].join("\n"),
    );
    const server = startChild(tool("mariadbd"), [
      ...[
        "--no-defaults",
        `--datadir=${data}`,
        `--socket=${socket}`,
        `--port=${port}`,
        "--bind-address=127.0.0.1",
        ...user,
      ],
      ...[
        `--pid-file=${path}/pid`,
        `--ssl-cert=${path}/cert.pem`,
        `--ssl-key=${path}/key.pem`,
        `--init-file=${path}/init.sql`,
      ],
    ], { stdout: "null", stderr: "piped" });
    try {
      const own = { port, username: "ada", password: "s3cret", database: "shop" };
      await readUntil(server.stderr, "ready for connections");
      const seen = async (settings: Settings): Promise<string> => {
        const { condition, output } = await observe({ ...own, ...settings });
        return `${condition}: ${output}`;
      };
      const query = "SELECT count(*) FROM orders";
      assert.equal(await seen({ query, value: 2 }), "ok: value is 2");
      assert.equal(
        await seen({ host: "localhost", tls: true, caFile: `${path}/ca.pem`, query }),
        "ok: value is 2",
      );
      assert.match(await seen({ host: "localhost", tls: true, query }), /^critical: .*not trusted/);
      assert.match(await seen({ socket, query }), /^ok: value is 2/);
      assert.match(
        await seen({ query: "SELECT max(at) FROM orders", value: { newerThanMs: 3_600_000 } }),
        /^ok: value is "2026-01-31 11:59:00"/,
      );
      assert.match(
        await seen({ password: "wrong" }),
        /^critical: server error: Access denied for user 'ada'/,
      );
      assert.match(
        await seen({ query: "INSERT INTO orders VALUES (3, NULL)" }),
        /the transaction is read-only$/,
      );
      assert.match(
        await seen({ query: "SELECT repeat('x', 3000000)" }),
        /result has more than 1048576 bytes/,
      );
      const { condition, output } = await observe({ ...own, query: "SELECT sleep(60)" }, 500);
      assert.match(
        `${condition}: ${output}`,
        /^critical: (?:timeout after 0\.5 s|server error: .*longer than the timeout)/,
      );
      server.kill("SIGSTOP");
      try {
        const hung = await observe({ ...own, query }, 500);
        assert.match(`${hung.condition}: ${hung.output}`, /^critical: timeout after 0\.5 s/);
      } finally {
        server.kill("SIGCONT");
      }
    } finally {
      server.kill("SIGTERM");
      await server.status;
    }
  },
);
