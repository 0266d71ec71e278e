/** Reads values of a foreign config, which may be of any type. A value of another type counts as missing. */

type Fields = Readonly<Record<string, unknown>>;

/** An object with names of any text. It has the fields that it has itself, never inherited ones. */
export class Foreign {
  readonly #fields: Fields;
  readonly #read = new Set<string>();

  constructor(fields: Fields) {
    this.#fields = fields;
  }

  /** Wraps an object; anything else has no fields. */
  static of(value: unknown): Foreign {
    return new Foreign(isObject(value) ? value : {});
  }

  get(name: string): unknown {
    this.#read.add(name);
    return Object.hasOwn(this.#fields, name) ? this.#fields[name] : undefined;
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  get entries(): readonly (readonly [name: string, value: unknown])[] {
    return Object.entries(this.#fields);
  }

  /** The names of fields that no other method was asked for. */
  get unread(): readonly string[] {
    return Object.keys(this.#fields).filter((name) => !this.#read.has(name));
  }

  text(name: string): string | undefined {
    return asText(this.get(name));
  }

  /** Returns a text as it is, such as a body; `undefined` if it is empty. */
  body(name: string): string | undefined {
    const value = this.get(name);
    return typeof value === "string" && value !== "" ? value : undefined;
  }

  number(name: string): number | undefined {
    return asNumber(this.get(name));
  }

  /** Returns a boolean; SQL and forms write 0 and 1. */
  boolean(name: string): boolean | undefined {
    const value = this.get(name);
    if (value === 1 || value === "1" || value === "true") return true;
    if (value === 0 || value === "0" || value === "false") return false;
    return typeof value === "boolean" ? value : undefined;
  }

  /** Returns the fields as texts; one of another type is empty. */
  toTexts(): Record<string, string> {
    return Object.fromEntries(this.entries.map(([name, value]) => [name, asText(value) ?? ""]));
  }

  /** Returns every text of a list. */
  texts(name: string): readonly string[] {
    return asTexts(this.get(name));
  }

  object(name: string): Foreign {
    return Foreign.of(this.get(name));
  }

  objects(name: string): readonly Foreign[] {
    return asList(this.get(name)).map(Foreign.of);
  }

  /** Returns a copy with further fields, which replace its own. */
  with(fields: Fields | Foreign): Foreign {
    return new Foreign({ ...this.#fields, ...fields instanceof Foreign ? fields.#fields : fields });
  }

  /** Returns a copy with other texts. */
  mapTexts(change: (text: string) => string): Foreign {
    return Foreign.of(mapTexts(this.#fields, change));
  }

  /** Returns a copy in which no text becomes a placeholder. */
  escapePlaceholders(): Foreign {
    return Foreign.of(escapePlaceholders(this.#fields));
  }
}

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
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

/** A word as a value of a key: the validation of the draft removes checks and channels with another one. */
export function asWord<Word extends string | undefined>(text: string): Word {
  return text as Word;
}

export function asTexts(value: unknown): readonly string[] {
  return asList(value).flatMap((item) => asText(item) ?? []);
}

/** Returns a finite number, also one that is written as a text. */
export function asNumber(value: unknown): number | undefined {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

/** A copy in which every literal `${` is escaped, so that no text of the source becomes a placeholder. */
export function escapePlaceholders(value: unknown): unknown {
  return mapTexts(value, (text) => text.replaceAll("${", () => "$${"));
}

/** A copy with other texts; names of fields stay. */
function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, mapTexts(item, change)]));
}
