/** The schemas of a config, and what is wrong with its structure. */
import validateMonitor from "./generated/validate_monitor.js";
import * as kinds from "./generated/validators_by_kind.js";
import {
  createSchemaReader,
  isObject,
  membersOf,
  MONITOR_SCHEMA,
  type SchemaReader,
  valueAt,
} from "./schema_view.ts";
import { channelsIn } from "./channel_uses.ts";
import type { ConfigPath } from "./problem.ts";
import type { JsonValue } from "./syntax.ts";

/** The schema that validates a config: the default one, or that of a specification profile. */
export type Shape = "monitor" | "a" | "b";

export interface JudgingSchema {
  readonly reader: SchemaReader;
  readonly validator: SchemaValidator;
  /** The default schema; `null` when it is the one itself. */
  readonly wider: SchemaReader | null;
  readonly shapeName: string;
}

export async function openSchema(shape: Shape): Promise<JudgingSchema> {
  const defaultReader = createSchemaReader(MONITOR_SCHEMA);
  if (shape === "monitor") {
    const validator = { validate: validateMonitor as Validator, kinds };
    return { reader: defaultReader, validator, wider: null, shapeName: "the schema" };
  }
  const { schema, validator: module } = await SHAPES[shape]();
  const reader = createSchemaReader(schema);
  const validator = { validate: module.default as Validator, kinds: module };
  return { reader, validator, wider: defaultReader, shapeName: `profile ${shape}` };
}

/** The shapes of the specification, read only when asked for. */
const SHAPES = {
  a: async () => ({
    schema: (await import("../../schemas/shape_a.schema.json", { with: { type: "json" } })).default,
    validator: await import("./generated/validate_shape_a.js"),
  }),
  b: async () => ({
    schema: (await import("../../schemas/shape_b.schema.json", { with: { type: "json" } })).default,
    validator: await import("./generated/validate_shape_b.js"),
  }),
} as const;

/** The text of a schema, as `monitor schema` prints it. */
export async function schemaText(shape: Shape): Promise<string> {
  // The default one with its texts for people, which loading a config doesn't need.
  const schema: unknown = shape === "monitor"
    ? (await import("../../schemas/monitor.schema.json", { with: { type: "json" } })).default
    : (await SHAPES[shape]()).schema;
  return `${JSON.stringify(schema, null, 2)}\n`;
}

// Validating a config against one of them, with validators that `scripts/generate.ts` has made with ajv.

export interface StructureError {
  readonly path: ConfigPath;
  /** The failed keyword of the schema, such as `required`. */
  readonly keyword: string;
  /** The key that is missing, unknown or not a name, if the keyword is about one. */
  readonly name?: string;
  readonly types: readonly string[];
  /** The number of the keyword, such as a length. */
  readonly limit?: number;
}

export type Validator = ((value: JsonValue) => boolean) & { errors?: readonly AjvError[] | null };

interface AjvError {
  /** The place in the config, as a JSON pointer (RFC 6901). */
  readonly instancePath: string;
  readonly keyword: string;
  /** Which fields there are depends on the keyword. */
  readonly params: Readonly<Record<string, unknown>>;
}

/** Functions that load the validator of the parameters of a kind. */
type Loaders = Readonly<Record<string, () => LoadedValidator | Promise<LoadedValidator>>>;

interface LoadedValidator {
  readonly default: unknown;
}

export interface SchemaValidator {
  /** Leaves out the parameters, which vary by the kind of a check or channel. */
  readonly validate: Validator;
  readonly kinds: { readonly check: Loaders; readonly channel: Loaders };
}

export async function findStructureErrors(
  value: JsonValue,
  { validate, kinds }: SchemaValidator,
  max: number,
): Promise<readonly StructureError[]> {
  const errors = errorsOf(validate, value, { base: [], max });
  if (!isObject(value)) return errors.slice(0, max);
  const loaded = new Map<Loaders[string], Validator>();
  const owners = [
    ...membersOf(value["checks"]).map(([name]) => ({ path: ["checks", name], loaders: kinds.check })),
    ...channelsIn(value).map(({ path }) => ({ path, loaders: kinds.channel })),
  ];
  const unknown = errors.filter(({ path }) => path.length === 0).map(({ name }) => name);
  for (const { path, loaders } of owners) {
    if (errors.length >= max) break;
    if (unknown.includes(String(path[0]))) continue;
    const owner = valueAt(value, path);
    const parameters = isObject(owner) ? owner["parameters"] : undefined;
    if (!isObject(owner) || !isObject(parameters)) continue;
    const { kind } = owner;
    const load = typeof kind === "string" && Object.hasOwn(loaders, kind) ? loaders[kind] : undefined;
    if (load === undefined) continue;
    // A config may have 50,000 checks of a kind.
    const validator = loaded.get(load) ?? (await load()).default as Validator;
    loaded.set(load, validator);
    errors.push(...errorsOf(validator, parameters, { base: [...path, "parameters"], max }));
  }
  return errors.slice(0, max);
}

function errorsOf(
  validate: Validator,
  value: JsonValue,
  { base, max }: { readonly base: ConfigPath; readonly max: number },
): StructureError[] {
  if (validate(value)) return [];
  // A pattern is that of names: `propertyNames` has the same error.
  return (validate.errors ?? []).filter(({ keyword }) => keyword !== "pattern").slice(0, max).map(
    ({ instancePath, keyword, params }) => {
      const name = params["missingProperty"] ?? params["additionalProperty"] ?? params["propertyName"];
      return {
        path: [...base, ...parsePointer(instancePath, value)],
        keyword,
        ...(name !== undefined && { name: String(name) }),
        types: [params["type"] ?? []].flat().map(String),
        ...(typeof params["limit"] === "number" && { limit: params["limit"] }),
      };
    },
  );
}

/** Parses a JSON pointer (RFC 6901) into keys and indexes; the value distinguishes them. */
function parsePointer(pointer: string, top: JsonValue): ConfigPath {
  const path: (string | number)[] = [];
  let value: JsonValue | undefined = top;
  for (const part of pointer.split("/").slice(1)) {
    const segment = Array.isArray(value) ? Number(part) : part.replaceAll("~1", "/").replaceAll("~0", "~");
    path.push(segment);
    value = valueAt(top, path);
  }
  return path;
}
