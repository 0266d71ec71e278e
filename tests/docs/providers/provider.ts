/**
 * The requests that a receiver of notifications accepts, from the page of its provider. The date is that of reading;
 * a copy of the page may have been older.
 */

/** A part of a JSON schema. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A request as it arrived. */
export interface ArrivedRequest {
  readonly method: string;
  /** Path and query, as they were sent. */
  readonly path: string;
  readonly headers: Headers;
  /** JSON, or the fields of a form. */
  readonly body: unknown;
}

/** A receiver that has an API over HTTP. */
export interface Provider {
  /** The page and the date. */
  readonly source: string;
  /** The host in a recipe, replaced by the loopback server. */
  readonly host: string;
  /** Secrets in the environment; `ORIGIN` stands for the loopback server. */
  readonly environment: Readonly<Record<string, string>>;
  readonly method: string;
  /** The path of problems. */
  readonly path: RegExp;
  /** The path of recoveries. @default that of problems */
  readonly recoveryPath?: RegExp;
  /** @default application/json */
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly schema: JsonSchema;
  /** @default that of problems */
  readonly recoverySchema?: JsonSchema;
  /** The status of success; its text is not read. */
  readonly status: number;
  /** Whether recoveries are sent. @default true */
  readonly sendsRecoveries?: boolean;
  /** Returns the text that people read, to look for mentions. */
  readonly textOf: (body: never) => string;
  /** Text that would mention people, or break the markup; absent: none. */
  readonly mention?: RegExp;
  /** Returns the key by which the receiver matches a problem with its recovery; absent: each message is separate. */
  readonly keyOf?: (request: ArrivedRequest) => unknown;
  /** Returns the key by which a receiver drops duplicates. */
  readonly idOf?: (request: ArrivedRequest) => string;
  /** Compares the problem and the recovery of one check. */
  readonly pair?: (problem: ArrivedRequest, recovery: ArrivedRequest) => void;
}

/** An object with these keys and no others. */
export function strictObject(
  properties: Readonly<Record<string, unknown>>,
  required: readonly string[] = Object.keys(properties),
): JsonSchema {
  return { type: "object", additionalProperties: false, properties, required };
}

/** A text of so many characters. */
export function text(maxLength: number, minLength = 1): JsonSchema {
  return { type: "string", minLength, maxLength };
}

/** A time as RFC 3339 writes it. */
export const TIME: JsonSchema = {
  type: "string",
  pattern: "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?Z$",
};
