/**
 * Queries of MySQL and MariaDB by the client/server protocol 4.1, as their documentation has it
 * (dev.mysql.com/doc/dev/mysql-server/latest/PAGE_PROTOCOL.html, mariadb.com/kb/en/clientserver-protocol).
 */
import type { CheckOf } from "../domain/check.ts";
import type { CheckKindEntry, ParameterProblem } from "../domain/check_kind.ts";
import type { Connection } from "../domain/connections.ts";
import { MYSQL_URL } from "../shared/database_url.ts";
import { isLoopback } from "../shared/ip_address.ts";
import { joinBytes, oneLine, quote } from "../shared/text.ts";
import { ConnectionReader } from "./connection_run.ts";
import {
  DATABASE_KIND,
  DatabaseFailure,
  type DatabaseSession,
  observeDatabase,
  type QueryResult,
  queryResult,
  sqlTarget,
} from "./database_check.ts";

export const mysqlQueryKind: CheckKindEntry<"mysql_query"> = {
  ...DATABASE_KIND,
  observe: (check, context) =>
    observeDatabase(check, context, { tlsFirst: false, query: (session) => query(check, session) }),
  target: sqlTarget("mysql://USER@HOST/DATABASE", MYSQL_URL),
  errors: (check) => [...DATABASE_KIND.errors(check), ...queryErrors(check)],
};

/** A read-only transaction does not reject the statements that end it first, such as CREATE TABLE of MariaDB. */
const READING: readonly string[] = ["SELECT", "SHOW", "WITH", "VALUES", "TABLE", "EXPLAIN", "DESCRIBE"];

function queryErrors({ parameters: { query } }: CheckOf<"mysql_query">): readonly ParameterProblem[] {
  const [word = ""] = /^[^\s;(]+/.exec(query.replace(/^[\s(]+/, "")) ?? [];
  if (READING.includes(word.toUpperCase())) return [];
  return [{ path: ["query"], message: `begins with ${quote(word)}, expected one of ${READING.join(", ")}` }];
}

/** Runs the query in a read-only transaction, which the server ends when the connection is closed. */
async function query(
  { parameters, timeoutMs }: CheckOf<"mysql_query">,
  session: DatabaseSession,
): Promise<QueryResult> {
  const server = new Server(session.connection);
  const { isMaria } = await logIn(server, parameters, session);
  session.enter("reading");
  const seconds = Math.max(1, Math.ceil(timeoutMs / 1_000));
  await server.settle(
    isMaria
      ? `SET SESSION max_statement_time = ${timeoutMs / 1_000}`
      : `SET SESSION max_execution_time = ${timeoutMs}`,
  );
  await server.settle(`SET SESSION innodb_lock_wait_timeout = ${seconds}`);
  await server.run("START TRANSACTION READ ONLY");
  const { columnCount, rows } = await server.run(parameters.query);
  if (columnCount === 0) throw new DatabaseFailure("query returns no rows: expected a SELECT");
  return queryResult(columnCount, rows, () => rows[0]?.[0] ?? null);
}

// Capabilities: long passwords, long flags, a database, protocol 4.1, TLS, transactions, authentication by plugins.
const LONG_PASSWORD = 0x1;
const LONG_FLAG = 0x4;
const WITH_DATABASE = 0x8;
const PROTOCOL_41 = 0x200;
const TLS = 0x800;
const TRANSACTIONS = 0x2000;
const SECURE_CONNECTION = 0x8000;
const PLUGINS = 0x80000;
const WISHES = LONG_PASSWORD | LONG_FLAG | PROTOCOL_41 | TRANSACTIONS | SECURE_CONNECTION | PLUGINS;

const PACKET_BYTES_MAX = 2 ** 24 - 1;
/** `utf8mb4_general_ci` */
const CHARACTER_SET = 45;

async function logIn(
  server: Server,
  { host = "", username, password = "", database }: CheckOf<"mysql_query">["parameters"],
  session: DatabaseSession,
): Promise<{ readonly isMaria: boolean }> {
  const greeting = new Packet(await server.read());
  const protocol = greeting.number(1);
  if (protocol === ERROR) throw greeting.error();
  if (protocol !== 10) throw new DatabaseFailure("server is neither MySQL nor MariaDB");
  const version = greeting.text();
  greeting.skip(4);
  const salt = greeting.bytes(8);
  greeting.skip(1);
  let capabilities = greeting.number(2);
  greeting.skip(3);
  capabilities += greeting.number(2) * 0x10000;
  const saltLength = greeting.number(1);
  greeting.skip(10);
  const nonce = joinBytes([salt, greeting.bytes(Math.max(13, saltLength - 8)).subarray(0, 12)]);
  const plugin = (capabilities & PLUGINS) === 0 ? NATIVE : greeting.text();
  const wishes = WISHES | (database === undefined ? 0 : WITH_DATABASE) | (session.tls === null ? 0 : TLS);
  const head = joinBytes([
    numberBytes(wishes, 4),
    numberBytes(PACKET_BYTES_MAX, 4),
    Uint8Array.of(CHARACTER_SET),
    new Uint8Array(23),
  ]);
  if (session.tls !== null) {
    if ((capabilities & TLS) === 0) {
      throw new DatabaseFailure('server does not accept TLS; configure it there, or "tls": false');
    }
    if (server.hasMore) throw new DatabaseFailure("server sent more in front of TLS");
    session.enter("STARTTLS");
    await server.write(head);
    session.enter("TLS");
    if (session.connection.startTls === undefined) throw new Error("TLS can be started over TCP only");
    await session.connection.startTls(session.tls);
    session.enter("reading");
  }
  const proof = await proofOf(plugin, password, { nonce, isPrivate: session.isPrivate }) ?? new Uint8Array();
  await server.write(joinBytes([
    head,
    textBytes(username),
    Uint8Array.of(proof.length),
    proof,
    ...database === undefined ? [] : [textBytes(database)],
    textBytes(plugin),
  ]));
  const isLocal = session.tls === null && isLoopback(host);
  await authenticate(server, { plugin, nonce, password, isPrivate: session.isPrivate, isLocal });
  return { isMaria: /mariadb/i.test(version) };
}

const NATIVE = "mysql_native_password";
const SHA2 = "caching_sha2_password";
const CLEAR = "mysql_clear_password";

interface Login {
  readonly plugin: string;
  readonly nonce: Uint8Array;
  readonly password: string;
  readonly isPrivate: boolean;
  /** Whether the server is on this machine, so that the key that it sends is its own. */
  readonly isLocal: boolean;
}

/** A server asks for another plugin at most once, and answers in few packets. */
const ANSWERS_MAX = 5;

async function authenticate(server: Server, login: Login): Promise<void> {
  let { plugin, nonce } = login;
  for (let count = 0; count < ANSWERS_MAX; count++) {
    const answer = new Packet(await server.read());
    const kind = answer.number(1);
    if (kind === OK) return;
    if (kind === ERROR) throw answer.error();
    if (kind === SWITCH) {
      plugin = answer.text();
      nonce = answer.rest().subarray(0, 20);
      const proof = await proofOf(plugin, login.password, { nonce, isPrivate: login.isPrivate });
      if (proof === null) {
        throw new DatabaseFailure(`server wants the login "${oneLine(plugin)}", which is not supported`);
      }
      await server.write(proof);
    } else if (kind === MORE && plugin === SHA2) {
      const [step] = answer.rest();
      if (step === FAST) continue;
      // The server has no hash of it, and wants the password itself.
      if (login.isPrivate) await server.write(textBytes(login.password));
      else if (login.isLocal) await server.write(await encrypt(server, login.password, nonce));
      else throw new DatabaseFailure('server wants the password itself: use TLS, with "verify"');
    } else break;
  }
  throw new DatabaseFailure("server sent no end of the login");
}

const KEY_REQUEST = 2;
const KEY_BYTES_MAX = 4_096;

/** Encrypts a password for the RSA key of the server, which it sends on request. */
async function encrypt(server: Server, password: string, nonce: Uint8Array): Promise<Uint8Array> {
  await server.write(Uint8Array.of(KEY_REQUEST));
  const answer = new Packet(await server.read());
  const kind = answer.number(1);
  if (kind === ERROR) throw answer.error();
  if (kind !== MORE || answer.length > KEY_BYTES_MAX) throw new DatabaseFailure("server sent no RSA key");
  const pem = new TextDecoder().decode(answer.rest());
  const masked = textBytes(password).map((byte, index) => byte ^ (nonce[index % nonce.length] ?? 0));
  try {
    const der = Uint8Array.fromBase64(pem.replaceAll(/-----[^-]*-----|\s/g, ""));
    const algorithm = { name: "RSA-OAEP", hash: "SHA-1" };
    const key = await crypto.subtle.importKey("spki", der, algorithm, false, ["encrypt"]);
    return new Uint8Array(await crypto.subtle.encrypt("RSA-OAEP", key, Uint8Array.from(masked)));
  } catch (cause) {
    throw new DatabaseFailure("server sent an RSA key that cannot be used", { cause });
  }
}

const OK = 0;
const MORE = 1;
const FAST = 3;
const LOCAL_FILE = 0xfb;
const SWITCH = 0xfe;
const ERROR = 0xff;

/** Returns what proves a password without sending it; `null`: the plugin is not supported. */
async function proofOf(
  plugin: string,
  password: string,
  { nonce, isPrivate }: Pick<Login, "nonce" | "isPrivate">,
): Promise<Uint8Array | null> {
  if (plugin === CLEAR && isPrivate) return textBytes(password);
  const hash = { [NATIVE]: "SHA-1", [SHA2]: "SHA-256" }[plugin];
  if (hash === undefined) return null;
  if (password === "") return new Uint8Array();
  const digest = async (...parts: readonly Uint8Array[]): Promise<Uint8Array> =>
    new Uint8Array(await crypto.subtle.digest(hash, joinBytes(parts) as Uint8Array<ArrayBuffer>));
  const once = await digest(new TextEncoder().encode(password));
  const twice = await digest(once);
  const mask = plugin === NATIVE ? await digest(nonce, twice) : await digest(twice, nonce);
  return once.map((byte, index) => byte ^ (mask[index] ?? 0));
}

/** Of all responses together; each row counts 64 bytes more, and each value 32. */
const RESPONSE_BYTES_MAX = 2 ** 20;
const ROW_BYTES = 64;
const VALUE_BYTES = 32;

class Server {
  readonly #connection: Connection;
  readonly #reader: ConnectionReader;
  #sequence = 0;
  #bytes = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#reader = new ConnectionReader(connection, Infinity);
  }

  get hasMore(): boolean {
    return this.#reader.unread.length > 0;
  }

  async write(body: Uint8Array): Promise<void> {
    await this.#connection.write(
      joinBytes([numberBytes(body.length, 3), Uint8Array.of(this.#sequence++ & 0xff), body]),
    );
  }

  async read(): Promise<Uint8Array> {
    const head = await this.#take(4);
    const length = (head[0] ?? 0) + (head[1] ?? 0) * 0x100 + (head[2] ?? 0) * 0x10000;
    if (head[3] !== (this.#sequence++ & 0xff)) throw new DatabaseFailure("server sent packets out of order");
    this.#count(head.length + length);
    return await this.#take(length);
  }

  /** Runs a statement; of one that the server does not know, such as a setting of a newer one, the error is ignored. */
  async settle(statement: string): Promise<void> {
    try {
      await this.run(statement);
    } catch (error) {
      if (!(error instanceof ServerError) || error.code !== UNKNOWN_VARIABLE) throw error;
    }
  }

  async run(statement: string) {
    this.#sequence = 0;
    await this.write(joinBytes([Uint8Array.of(QUERY), new TextEncoder().encode(statement)]));
    const head = new Packet(await this.read());
    const kind = head.number(1);
    if (kind === ERROR) throw head.error();
    const rows: (string | null)[][] = [];
    if (kind === OK) return { columnCount: 0, rows };
    if (kind === LOCAL_FILE) throw new DatabaseFailure("server asks for a file of this machine");
    const columnCount = head.lengthFrom(kind);
    for (let column = 0; column <= columnCount; column++) await this.read();
    for (;;) {
      const packet = new Packet(await this.read());
      const first = packet.peek;
      if (first === SWITCH && packet.length < 9) return { columnCount, rows };
      if (first === ERROR) {
        packet.skip(1);
        throw packet.error();
      }
      this.#count(ROW_BYTES + columnCount * VALUE_BYTES);
      rows.push(Array.from({ length: columnCount }, () => packet.value()));
    }
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > RESPONSE_BYTES_MAX) {
      throw new DatabaseFailure(`result has more than ${RESPONSE_BYTES_MAX} bytes: select less`);
    }
  }

  async #take(count: number): Promise<Uint8Array> {
    const taken = await this.#reader.take(count);
    if (taken instanceof Uint8Array) return taken;
    throw new DatabaseFailure("connection closed by the server");
  }
}

const QUERY = 3;
const UNKNOWN_VARIABLE = 1193;

class ServerError extends DatabaseFailure {
  constructor(readonly code: number, message: string) {
    super(message);
  }
}

class Packet {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get length(): number {
    return this.#bytes.length;
  }

  /** The next byte; 0 at the end. */
  get peek(): number {
    return this.#bytes[this.#at] ?? 0;
  }

  skip(count: number): void {
    this.bytes(count);
  }

  bytes(count: number): Uint8Array {
    if (this.#at + count > this.#bytes.length) {
      throw new DatabaseFailure("server sent a packet that is too short");
    }
    return this.#bytes.subarray(this.#at, this.#at += count);
  }

  rest(): Uint8Array {
    return this.bytes(this.#bytes.length - this.#at);
  }

  /** An integer of so many bytes, the least significant first. */
  number(count: number): number {
    return this.bytes(count).reduceRight((value, byte) => value * 0x100 + byte, 0);
  }

  /** A text up to a zero, or the end. */
  text(): string {
    const end = this.#bytes.indexOf(0, this.#at);
    const text = this.bytes((end < 0 ? this.#bytes.length : end) - this.#at);
    if (end >= 0) this.skip(1);
    return new TextDecoder().decode(text);
  }

  /** A length-encoded integer whose first byte is known. */
  lengthFrom(first: number): number {
    if (first < LOCAL_FILE) return first;
    return this.number({ 0xfc: 2, 0xfd: 3, 0xfe: 8 }[first] ?? 8);
  }

  /** A length-encoded text; `null` is NULL. */
  value(): string | null {
    const first = this.number(1);
    return first === LOCAL_FILE ? null : new TextDecoder().decode(this.bytes(this.lengthFrom(first)));
  }

  /** The error of a packet, behind its first byte. */
  error(): ServerError {
    const code = this.number(2);
    const message = new TextDecoder().decode(this.rest()).replace(/^#.{5}/, "");
    const hint = HINTS[code] ?? "";
    return new ServerError(code, `server error: ${oneLine(message)} (${code})${hint}`);
  }
}

const TOO_LONG = "; the query takes longer than the timeout of the check";
const HINTS: Readonly<Record<number, string>> = {
  1205: TOO_LONG,
  1792: "; the transaction is read-only",
  1969: TOO_LONG,
  3024: TOO_LONG,
};

function numberBytes(value: number, count: number): Uint8Array {
  return Uint8Array.from({ length: count }, (_, index) => Math.floor(value / 0x100 ** index) & 0xff);
}

function textBytes(text: string): Uint8Array {
  return joinBytes([new TextEncoder().encode(text), Uint8Array.of(0)]);
}
