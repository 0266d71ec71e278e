/** Validates a config against a schema, with validators that `scripts/generate.ts` has made with ajv. */
import { channelsIn } from "./channels_in.ts";
import * as validatorsByKind from "./generated/validators_by_kind.js";
import type { ConfigPath } from "./problem.ts";
import { isObject, valueAt } from "./schema_view.ts";
import type { JsonValue } from "./syntax.ts";

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

export interface SchemaValidator {
  readonly validate: Validator;
  /**
   * Whether it leaves out the parameters, which vary by the kind of a check or channel. Their validators are loaded if a
   * config has the kind.
   */
  readonly isCommon: boolean;
}

/** Returns why a config is not accepted: all errors, up to a maximum. */
export async function findStructureErrors(
  value: JsonValue,
  { validate, isCommon }: SchemaValidator,
  max: number,
): Promise<readonly StructureError[]> {
  const errors = errorsOf(validate, value, { base: [], max });
  if (!isCommon || !isObject(value)) return errors.slice(0, max);
  const checks = isObject(value["checks"]) ? Object.keys(value["checks"]) : [];
  const owners = [
    ...checks.map((name) => ({ path: ["checks", name], validators: CHECKS })),
    ...channelsIn(value).map(({ path }) => ({ path, validators: CHANNELS })),
  ];
  for (const { path, validators } of owners) {
    if (errors.length >= max) break;
    const owner = valueAt(value, path);
    const parameters = isObject(owner) ? owner["parameters"] : undefined;
    if (!isObject(owner) || !isObject(parameters)) continue;
    // A config may have 50,000 checks of a kind.
    const validator = validators.find(owner["kind"]) ?? await validators.load(owner["kind"]);
    if (validator !== null) {
      errors.push(...errorsOf(validator, parameters, { base: [...path, "parameters"], max }));
    }
  }
  return errors.slice(0, max);
}

/** The validators of parameters by kind, each loaded once. */
class KindValidators {
  readonly #loaders: ReadonlyMap<JsonValue | undefined, () => Promise<{ readonly default: unknown }>>;
  readonly #loaded = new Map<JsonValue | undefined, Validator>();

  constructor(loaders: Readonly<Record<string, () => Promise<{ readonly default: unknown }>>>) {
    this.#loaders = new Map(Object.entries(loaders));
  }

  find(kind: JsonValue | undefined): Validator | null {
    return this.#loaded.get(kind) ?? null;
  }

  async load(kind: JsonValue | undefined): Promise<Validator | null> {
    const load = this.#loaders.get(kind);
    if (load === undefined) return null;
    const validator = (await load()).default as Validator;
    this.#loaded.set(kind, validator);
    return validator;
  }
}

const CHECKS = new KindValidators(validatorsByKind.check);
const CHANNELS = new KindValidators(validatorsByKind.channel);

/** Keywords that only repeat another error: that a branch failed, or a name that `propertyNames` rejects. */
const REPEATING: readonly string[] = ["if", "pattern"];

function errorsOf(
  validate: Validator,
  value: JsonValue,
  { base, max }: { readonly base: ConfigPath; readonly max: number },
): StructureError[] {
  if (validate(value)) return [];
  return (validate.errors ?? []).filter(({ keyword }) => !REPEATING.includes(keyword)).slice(0, max).map(
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
