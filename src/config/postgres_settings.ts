/** The PostgreSQL database that a config names; `open_postgres.ts` has what only a run with one requires. */
import { isObject } from "./schema_view.ts";
import type { JsonObject, JsonValue } from "./syntax.ts";

/** A database as it is written, with placeholders: a secret is read when the database is opened. */
export interface PostgresSettings {
  readonly written: JsonObject;
  readonly directory: string;
  /** A URL for messages, without a password. */
  readonly url: string;
}

/** The database in a config's `state`; `null` if there is none. */
export function postgresIn(config: JsonValue | undefined, directory: string): PostgresSettings | null {
  const state = isObject(config) ? config["state"] : undefined;
  const written = isObject(state) ? state["postgres"] : undefined;
  return isObject(written) ? settingsOf(written, directory) : null;
}

/** The database of the keys of `postgres`. */
export function settingsOf(written: JsonObject, directory: string): PostgresSettings {
  const hosts = Array.isArray(written["hosts"]) ? written["hosts"] : [];
  const url = `postgres://${written["user"]}@${hosts.join(",")}/${written["database"]}`;
  return { written, directory, url };
}

/** Returns whether a value of `--state` names a database rather than a file. */
export function isPostgresUrl(text: string): boolean {
  return /^postgres(?:ql)?:/i.test(text);
}

type DatabaseHost =
  | { readonly host: string; readonly port: number }
  | { readonly socketPath: string };

/** PostgreSQL's port, which is also part of the name of its socket. */
const PORT = 5432;

/** Parses `HOST`, `[IPV6]`, or the directory of a Unix socket, each also with `:PORT`; `null` if it is none of them. */
export function parseDatabaseHost(text: string): DatabaseHost | null {
  if (text.startsWith("/")) {
    if (/\/\.s\.PGSQL\.\d+$/.test(text)) return { socketPath: text };
    const [, directory = "", port = PORT] = /^(.*?)\/*(?::(\d{1,5}))?$/.exec(text) ?? [];
    return { socketPath: `${directory}/.s.PGSQL.${port}` };
  }
  const [, host, port] = /^(\[[\da-fA-F:.]+\]|[^\s/@?#:[\]\p{Cc}]+)(?::(\d{1,5}))?$/u.exec(text) ?? [];
  if (host === undefined || Number(port) > 65_535 || Number(port) === 0) return null;
  return { host, port: port === undefined ? PORT : Number(port) };
}
