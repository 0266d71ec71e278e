/**
 * The PostgreSQL database that a config names; `open_postgres.ts` has the parts that only a run with one requires.
 */
import { isObject } from "./schema_view.ts";
import type { JsonObject, JsonValue } from "./syntax.ts";

/** A database as it is written, with placeholders: a secret is read when the database is opened. */
export interface PostgresSettings {
  readonly written: JsonObject;
  /** The directory of relative paths. */
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
