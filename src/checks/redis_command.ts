/** Commands of Redis, Valkey and their like, by RESP2 (redis.io/docs/latest/develop/reference/protocol-spec). */
import type { CheckOf } from "../domain/check.ts";
import type { CheckKindEntry, ParameterProblem } from "../domain/check_kind.ts";
import type { Connection } from "../domain/connections.ts";
import { joinBytes, quote } from "../shared/text.ts";
import { databaseUrl, REDIS_SCHEMES } from "../shared/database_url.ts";
import { unusedKeys } from "./certificate_verdict.ts";
import { ConnectionReader, type TakenBytes } from "./connection_run.ts";
import {
  DATABASE_KIND,
  DATABASE_TARGET,
  DatabaseFailure,
  type DatabaseSession,
  observeDatabase,
  type QueryResult,
} from "./database_check.ts";

export const redisCommandKind: CheckKindEntry<"redis_command"> = {
  ...DATABASE_KIND,
  observe: (check, context) =>
    observeDatabase(check, context, { tlsFirst: true, query: (session) => runCommand(check, session) }),
  target: {
    ...DATABASE_TARGET,
    form: "redis://HOST",
    claims: ({ text }) => databaseUrl(text, REDIS_SCHEMES) !== null,
    parametersOf: ({ text }) => {
      const found = databaseUrl(text, REDIS_SCHEMES);
      if (found === null || !/^\d{0,4}$/.test(found.database)) return null;
      return {
        ...found.server,
        ...found.login,
        ...found.database !== "" && { database: Number(found.database) },
        ...found.scheme === "rediss:" && { tls: true },
      };
    },
  },
  errors: (check) => [...DATABASE_KIND.errors(check), ...commandErrors(check)],
};

/** Commands that change nothing, and return little at once. */
const READING: ReadonlySet<string> = new Set(
  ("BITCOUNT DBSIZE EXISTS EXPIRETIME GET GETRANGE HEXISTS HGET HLEN HSTRLEN INFO LASTSAVE LINDEX LLEN PING " +
    "PTTL ROLE SCARD SISMEMBER STRLEN TIME TTL TYPE XLEN ZCARD ZCOUNT ZSCORE").split(" "),
);

function* commandErrors({ parameters }: CheckOf<"redis_command">): Generator<ParameterProblem> {
  const { command: [name = ""], username, password } = parameters;
  const message = `is ${quote(name)}, expected a command that only reads: ${[...READING].join(", ")}`;
  if (!READING.has(name.toUpperCase())) yield { path: ["command", 0], message };
  if (password === undefined) yield* unusedKeys({ username }, 'requires "password"');
}

async function runCommand(
  { parameters: { username, password, database, command, field } }: CheckOf<"redis_command">,
  { connection }: DatabaseSession,
): Promise<QueryResult> {
  const replies = new Replies(connection);
  const run = async (words: readonly string[]): Promise<unknown> => {
    await connection.write(encode(words));
    return await replies.next();
  };
  if (password !== undefined) {
    await run(["AUTH", ...username === undefined ? [] : [username], password]);
  }
  if (database !== undefined) await run(["SELECT", String(database)]);
  const reply = await run(command);
  // A line such as `role:master`.
  const lines = typeof reply === "string" ? reply.split(/\r?\n/) : [];
  const value = field === undefined
    ? reply
    : lines.find((line) => line.startsWith(`${field}:`))?.slice(field.length + 1) ?? null;
  return value === null ? {} : { value };
}

/** A command as a list of strings, so that no text of the config is another command. */
function encode(words: readonly string[]): Uint8Array {
  const encoder = new TextEncoder();
  return joinBytes([
    encoder.encode(`*${words.length}\r\n`),
    ...words.flatMap((word) => {
      const bytes = encoder.encode(word);
      return [encoder.encode(`$${bytes.length}\r\n`), bytes, encoder.encode("\r\n")];
    }),
  ]);
}

/** Of all replies of a connection. */
const BYTES_MAX = 2 ** 20;
/** Of a line, which is an error, a short text or a length. */
const LINE_BYTES_MAX = 8 * 1024;
const DEPTH_MAX = 8;

const LINE_FEED = 10;
const LINE_END = Uint8Array.of(LINE_FEED);

class Replies {
  readonly #reader: ConnectionReader;

  constructor(connection: Connection) {
    this.#reader = new ConnectionReader(connection, BYTES_MAX);
  }

  /** Returns the reply to one command; `null`: nil. */
  async next(): Promise<unknown> {
    // It would be taken for the reply to the command.
    if (this.#reader.unread.length > 0) throw new DatabaseFailure("server replies before it is asked");
    const value = await this.#value(DEPTH_MAX);
    if (this.#reader.unread.length > 0) throw new DatabaseFailure("server replies more than it is asked");
    return value;
  }

  async #value(depthLeft: number): Promise<unknown> {
    const bytes = whole(await this.#reader.takeUntil(LINE_END, LINE_BYTES_MAX));
    const line = new TextDecoder().decode(bytes).replace(/\r$/, "");
    const [type, text] = [line.slice(0, 1), line.slice(1)];
    if (type === "-") throw new DatabaseFailure(`server error: ${text}`);
    if (type === "+") return text;
    if (!/^[:$*]-?\d{1,19}$/.test(line)) throw new DatabaseFailure("server is not Redis");
    const number = Number(text);
    if (type === ":") return number;
    if (number === -1) return null;
    if (number < 0 || number > this.#reader.takenMax) throw tooLong();
    if (type === "$") {
      const bytes = whole(await this.#reader.take(number + 2));
      if (bytes[number] !== 13 || bytes[number + 1] !== LINE_FEED) {
        throw new DatabaseFailure("server sends a text of another length than it announces");
      }
      return new TextDecoder().decode(bytes.subarray(0, number));
    }
    if (depthLeft === 0) throw new DatabaseFailure("server sends lists that are nested too deeply");
    const values: unknown[] = [];
    while (values.length < number) values.push(await this.#value(depthLeft - 1));
    return values;
  }
}

function whole(taken: TakenBytes): Uint8Array {
  if (taken === "too_long") throw tooLong();
  if (taken === null) throw new DatabaseFailure("connection closed by the server without a whole reply");
  return taken;
}

function tooLong(): DatabaseFailure {
  return new DatabaseFailure(`server sends a reply of more than ${BYTES_MAX} bytes`);
}
