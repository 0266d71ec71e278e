/** Reads values of a foreign config, which may be of any type. A value of another type counts as missing. */

/** An object with names of any text. */
export interface Foreign {
  readonly [name: string]: unknown;
}

const NOTHING: Foreign = Object.freeze({});

/** Returns an object; an empty one for anything else. */
export function asObject(value: unknown): Foreign {
  return isForeign(value) ? value : NOTHING;
}

export function isForeign(value: unknown): value is Foreign {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns a field that an object has itself, never an inherited one. */
export function fieldOf(object: Foreign, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** Returns a list; a single value is a list of one. */
export function asList(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

/** Returns a text without blanks at its ends; numbers and booleans are texts too. */
export function asText(value: unknown): string | undefined {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text = typeof value === "string" ? value.trim() : "";
  return text === "" ? undefined : text;
}

/** Returns a text as it is, such as a body; `undefined` if it is empty. */
/** A word as a value of a key: the validation of the draft removes checks and channels with another one. */
export function asWord<Word extends string | undefined>(text: string): Word {
  return text as Word;
}

export function asBody(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Returns a finite number, also one that is written as a text. */
export function asNumber(value: unknown): number | undefined {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

/** Returns a boolean; SQL and forms write 0 and 1. */
export function asBoolean(value: unknown): boolean | undefined {
  if (value === 1 || value === "1" || value === "true") return true;
  if (value === 0 || value === "0" || value === "false") return false;
  return typeof value === "boolean" ? value : undefined;
}

/** Returns every text of a list. */
export function asTexts(value: unknown): readonly string[] {
  return asList(value).flatMap((item) => asText(item) ?? []);
}

/** A copy in which every literal `${` is escaped, so that no text of the source becomes a placeholder. */
export function escapePlaceholders(value: unknown): unknown {
  return mapTexts(value, (text) => text.replaceAll("${", () => "$${"));
}

/** A copy with other texts; names of fields stay. */
export function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (!isForeign(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, mapTexts(item, change)]));
}
