import monitorSchema from "./generated/monitor.schema.txt" with { type: "text" };
import type { ConfigPath } from "./problem.ts";
import { lazily } from "../shared/lazily.ts";
import type { JsonObject, JsonValue } from "./syntax.ts";

/** The keywords of JSON Schema (2020-12) that our schemas use; enforced by a test. */
export interface Schema {
  /** At the top only; for editors. */
  readonly $schema?: string;
  /** A reference: `#/$defs/` and a name, no other form. Keys here override those of the target. */
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  /** At the top only; for editors. */
  readonly title?: string;
  /** The meaning of a value, for people; in `propertyNames`, the rule for names in messages. */
  readonly description?: string;
  readonly type?: string | readonly string[];
  /** The meaning of a text or a number, such as `path`. Validated in `formats.ts`. */
  readonly format?: string;
  readonly default?: JsonValue;
  readonly examples?: readonly JsonValue[];
  readonly enum?: readonly JsonValue[];
  /** In an `if` only: the kind that the branch is for. */
  readonly const?: JsonValue;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  /** The schema of free names: a `pattern` or a `format`, with its `description`. */
  readonly propertyNames?: Schema;
  readonly pattern?: string;
  /** 1 wherever it is used: the text is not empty. */
  readonly minLength?: number;
  /** 1 wherever it is used: the list is not empty. */
  readonly minItems?: number;
  /** 1 wherever it is used: the object is not empty. */
  readonly minProperties?: number;
  readonly items?: Schema;
  /** Only entries that give one kind its parameters: `{ "if": { "properties": { "kind": { "const": … } } }, "then": … }`. */
  readonly allOf?: readonly Schema[];
  /** In an entry of `allOf` only: which kind it is for. */
  readonly if?: Schema;
  /** In an entry of `allOf` only: the additional schema for that kind. */
  readonly then?: Schema;
  /** Our own keyword, for settings of checks only: the key that this one is another name of. */
  readonly "x-same-as"?: string;
  /** Our own keyword: a sentence about a name or value that is rejected for a special reason. */
  readonly "x-notes"?: Readonly<Record<string, string>>;
  /** Our own keyword: whether the text may contain fields of a notification, such as `{{check}}`. */
  readonly "x-fields"?: boolean;
  /** Custom keyword for parameters of a channel that becomes a webhook (`ready_made_channels.ts`). */
  readonly "x-ready-made"?: boolean;
  /** Our own keyword: the accepted word, or a hint of several words, for a word of other tools. */
  readonly "x-hints"?: Readonly<Record<string, string>>;
}

/** The default schema. A definition is read when it is first needed: a config has few kinds, and each start has to read them. */
export const MONITOR_SCHEMA = readLines(monitorSchema);

function readLines(text: string): Schema {
  const [top = "", ...definitions] = text.split("\n");
  const $defs: Record<string, Schema> = {};
  for (const line of definitions) {
    const end = line.indexOf(" ");
    const get = lazily(() => JSON.parse(line.slice(end)) as Schema);
    Object.defineProperty($defs, line.slice(0, end), { get, enumerable: true });
  }
  return { ...JSON.parse(top) as Schema, $defs };
}

export type SchemaView = Readonly<ReturnType<typeof merge>>;

export interface SchemaReader {
  readonly root: Schema;
  /** The schema of a value; of the value itself only its `kind` matters. */
  view(schema: Schema, value: JsonValue | undefined): SchemaView;
  at(config: JsonValue, path: ConfigPath): SchemaView | undefined;
}

/** Makes a reader. Views are kept with the schema: neither many checks nor another config make them again. */
export function createSchemaReader(root: Schema): SchemaReader {
  const views = VIEWS.getOrInsertComputed(root, () => new WeakMap());

  const view = (schema: Schema, value: JsonValue | undefined): SchemaView =>
    views.getOrInsertComputed(schema, () => new Map())
      .getOrInsertComputed(kindOf(value), (kind) => merge(collect(schema, kind, root)));

  const at = (config: JsonValue, path: ConfigPath): SchemaView | undefined => {
    let value: JsonValue | undefined = config;
    let here = view(root, value);
    for (const segment of path) {
      const next: Schema | undefined = typeof segment === "number"
        ? here.items
        : here.keys.get(segment) ?? here.otherKeys;
      if (next === undefined) return undefined;
      value = childOf(value, segment);
      here = view(next, value);
    }
    return here;
  };

  return { root, view, at };
}

/** By the root, the part of a schema, and the kind of a value. */
const VIEWS = new WeakMap<Schema, WeakMap<Schema, Map<string, SchemaView>>>();

export function valueAt(config: JsonValue, path: ConfigPath): JsonValue | undefined {
  let value: JsonValue | undefined = config;
  for (const segment of path) value = childOf(value, segment);
  return value;
}

/** Returns a key's value or an element; `undefined` if there is none. */
export function childOf(value: JsonValue | undefined, segment: string | number): JsonValue | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  return Array.isArray(value) ? value[Number(segment)] : value[segment];
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The keys or indexes of an object or a list, with their values. */
export function childrenOf(value: JsonObject | JsonValue[]): Iterable<[string | number, JsonValue]> {
  return Array.isArray(value) ? value.entries() : Object.entries(value);
}

/** The names and values of an object; anything else has none. */
export function membersOf(value: JsonValue | undefined): readonly [name: string, value: JsonValue][] {
  return isObject(value) ? Object.entries(value) : [];
}

function kindOf(value: JsonValue | undefined): string {
  return isObject(value) && typeof value["kind"] === "string" ? value["kind"] : "";
}

/** Returns all schemas that apply to a place, the most specific one first. */
function collect(schema: Schema, kind: string, root: Schema): [Schema, ...Schema[]] {
  const found: [Schema, ...Schema[]] = [schema];
  for (const branch of schema.allOf ?? []) {
    if (branch.if === undefined) found.push(...collect(branch, kind, root));
    else if (branch.if.properties?.["kind"]?.const === kind && branch.then !== undefined) {
      found.push(...collect(branch.then, kind, root));
    }
  }
  if (schema.$ref !== undefined) found.push(...collect(lookUp(schema.$ref, root), kind, root));
  return found;
}

function lookUp(reference: string, root: Schema): Schema {
  const target = root.$defs?.[reference.slice("#/$defs/".length)];
  if (target === undefined) throw new Error(`The schema has no "${reference}"`);
  return target;
}

interface SchemaKeys {
  /** Of fixed keys, including those of the value's kind. */
  readonly keys: ReadonlyMap<string, Schema>;
  /** The same without other names of keys. */
  readonly plainKeys: ReadonlyMap<string, Schema>;
  /** Other names of keys, by the plain ones. */
  readonly otherNames: ReadonlyMap<string, string>;
}

const NO_KEYS: SchemaKeys = { keys: new Map(), plainKeys: new Map(), otherNames: new Map() };

function mergeKeys(schemas: readonly Schema[]): SchemaKeys {
  const keys = new Map<string, Schema>();
  for (const schema of schemas) {
    for (const [name, key] of Object.entries(schema.properties ?? {})) {
      const earlier = keys.get(name);
      keys.set(name, earlier === undefined ? key : { allOf: [key, earlier] });
    }
  }
  if (keys.size === 0) return NO_KEYS;
  const otherNames = [...keys].flatMap(([name, { "x-same-as": plain }]) =>
    plain === undefined ? [] : [[plain, name] as const]
  );
  const plainKeys = new Map([...keys].filter(([, key]) => key["x-same-as"] === undefined));
  return { keys, plainKeys, otherNames: new Map(otherNames) };
}

function merge(schemas: readonly [Schema, ...Schema[]]) {
  // The first of several wins. Visiting each once is several times faster than once for each keyword.
  const first: Schema = schemas.length === 1 ? schemas[0] : Object.assign({}, ...schemas.toReversed());
  const type = first.type;
  const other = first.additionalProperties;
  return {
    description: first.description,
    /** Of JSON; empty: any. */
    types: type === undefined ? [] : typeof type === "string" ? [type] : type,
    /** The meaning of the value, such as `interval`. */
    format: first.format,
    default: first.default,
    enum: first.enum,
    minimum: first.minimum,
    maximum: first.maximum,
    required: schemas.flatMap((schema) => schema.required ?? []),
    ...mergeKeys(schemas),
    /** Of free keys; `undefined` if there are none. */
    otherKeys: typeof other === "object" ? other : undefined,
    items: first.items,
    /** The rule for free names; `undefined` if any are accepted. */
    names: first.propertyNames?.description,
    nameFormat: first.propertyNames?.format,
    notes: first["x-notes"],
    mayHoldFields: first["x-fields"] === true,
    isReadyMade: first["x-ready-made"] === true,
    hints: first["x-hints"],
  };
}

/** A value whose schema names a format. */
export interface FormattedValue {
  readonly path: ConfigPath;
  /** The schema's word for the meaning of the value, such as `interval`. */
  readonly format: string;
  /** With its placeholders replaced, so it may contain a secret and must not be shown. */
  readonly value: string | number;
  /** As written, with its placeholders; messages quote this. */
  readonly written: string | number;
  /** Set if a key has the format, not its value. */
  readonly at?: "name";
  /** Whether it may contain fields of a notification. @default false */
  readonly mayHoldFields?: boolean;
  /** The object of the value, with its placeholders replaced. @default an empty one */
  readonly parent?: JsonObject;
}
