/**
 * How values are stored, in columns and in the JSON of a column. Encoding copies the declared keys alone: a check with
 * its secrets that hangs on a result is not persisted. Decoding validates, and throws an {@linkcode UnreadableRowError}.
 */
import { type Condition, CONDITIONS, SHOWN_CONDITIONS, type ShownCondition } from "../domain/condition.ts";

/** A row that no monitor can have written. */
export class UnreadableRowError extends Error {
  override readonly name = "UnreadableRowError";
}

/** Encodes a value, and decodes a stored one; the name is that of the column or key, for errors. */
export interface Codec<T, Stored = unknown> {
  encode(value: T): Stored;
  decode(stored: unknown, name: string): T;
  /** Whether a key of an object may be absent. @default false */
  readonly isOptional?: boolean;
}

function plain<T>(is: (stored: unknown) => stored is T, expected: string): Codec<T, T> {
  return {
    encode: (value) => value,
    decode: (stored, name) => is(stored) ? stored : unreadable(name, expected),
  };
}

/** A number; JSON and the database store one that isn't finite as `null`. */
export const number: Codec<number, number> = plain((stored) => typeof stored === "number", "a number");

/** Text as it is, for JSON. */
export const text: Codec<string, string> = plain((stored) => typeof stored === "string", "text");

/**
 * Text in a column. The database would end it at U+0000 and replace every lone surrogate with U+FFFD, so that two names
 * become one. Text with either is stored as a JSON string, and so is text that begins like one.
 */
export const columnText: Codec<string, string> = {
  encode: (value) =>
    value.isWellFormed() && !value.includes("\0") && !value.startsWith('"') ? value : JSON.stringify(value),
  decode: (stored, name) => {
    const kept = text.decode(stored, name);
    return kept.startsWith('"') ? text.decode(parse(kept), name) : kept;
  },
};

/** A boolean, as 0 or 1. */
export const flag: Codec<boolean, number> = {
  encode: Number,
  decode: (stored, name) => number.decode(stored, name) !== 0,
};

/** A boolean as it is, for JSON. */
export const boolean: Codec<boolean, boolean> = plain((one) => typeof one === "boolean", "true or false");

export const bytes: Codec<Uint8Array, Uint8Array> = plain((stored) => stored instanceof Uint8Array, "bytes");

export function word<T extends string>(
  words: readonly T[],
  expected = `one of ${words.join(", ")}`,
): Codec<T, T> {
  return plain((stored): stored is T => words.some((known) => known === stored), expected);
}

export const condition: Codec<Condition, Condition> = word(CONDITIONS, "a condition");

/** A condition, or that none was confirmed. */
export const shownCondition: Codec<ShownCondition, ShownCondition> = word(SHOWN_CONDITIONS, "a condition");

export function nullable<T, Stored>({ encode, decode }: Codec<T, Stored>): Codec<T | null, Stored | null> {
  return {
    encode: (value) => value === null ? null : encode(value),
    decode: (stored, name) => stored === null ? null : decode(stored, name),
  };
}

/** A key of an object in JSON that may be absent. */
export function optional<T>(codec: Codec<T>): Codec<T> {
  return { ...codec, isOptional: true };
}

export function list<T>({ encode, decode }: Codec<T>): Codec<readonly T[], readonly unknown[]> {
  return {
    encode: (values) => values.map(encode),
    decode: (stored, name) =>
      Array.isArray(stored) ? stored.map((value) => decode(value, name)) : unreadable(name, "a list"),
  };
}

export function byName<T>({ encode, decode }: Codec<T>): Codec<Readonly<Record<string, T>>, object> {
  return {
    encode: (values) =>
      Object.fromEntries(Object.entries(values).map(([key, value]) => [key, encode(value)])),
    decode: (stored, name) =>
      Object.fromEntries(
        Object.entries(objectIn(stored, name)).map(([key, value]) => [key, decode(value, key)]),
      ),
  };
}

export function object<T extends object>(
  codecs: { readonly [K in keyof T]-?: Codec<T[K]> },
): Codec<T, object> {
  const entries = Object.entries<Codec<unknown>>(codecs as Record<string, Codec<unknown>>);
  const each = (values: object, convert: (codec: Codec<unknown>, value: unknown, key: string) => unknown) => {
    const converted: Record<string, unknown> = {};
    for (const [key, codec] of entries) {
      const value = (values as Readonly<Record<string, unknown>>)[key];
      if (value !== undefined || !codec.isOptional) converted[key] = convert(codec, value, key);
    }
    return converted;
  };
  return {
    encode: (values) => each(values, ({ encode }, value) => encode(value)),
    decode: (stored, name) =>
      each(objectIn(stored, name), ({ decode }, value, key) => decode(value, key)) as T,
  };
}

export function json<T>({ encode, decode }: Codec<T>): Codec<T, string> {
  return {
    encode: (value) => JSON.stringify(encode(value)),
    decode: (stored, name) => decode(parse(text.decode(stored, name)), "JSON"),
  };
}

export function objectIn(stored: unknown, name: string): object {
  return typeof stored === "object" && stored !== null ? stored : unreadable(name, "an object");
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw new UnreadableRowError("a row holds broken JSON", { cause: error });
  }
}

function unreadable(name: string, expected: string): never {
  throw new UnreadableRowError(`"${name}" of a row is not ${expected}`);
}
