/**
 * Validates a config against a schema by reading the schema, as ajv would. Validators that ajv generated took a
 * third of the start, and more with each kind of check. A test compares both.
 */
import type { ConfigPath } from "./problem.ts";
import { isObject, lookUp, type Schema } from "./schema_view.ts";
import type { JsonObject, JsonValue } from "./syntax.ts";

/** A value that a schema does not accept. */
export interface StructureError {
  readonly path: ConfigPath;
  readonly keyword: keyof Schema;
  /** The schema with that keyword. */
  readonly schema: Schema;
  /** The key that is missing, unknown or not a name, if the keyword is about one. */
  readonly name?: string;
}

/** Returns why a schema does not accept a value: all errors, up to a maximum. */
export function findStructureErrors(
  root: Schema,
  value: JsonValue,
  { max }: { readonly max: number },
): readonly StructureError[] {
  const errors: StructureError[] = [];
  const path: (string | number)[] = [];
  const refuse = (schema: Schema, keyword: keyof Schema, name?: string): void => {
    if (errors.length < max) {
      errors.push({ path: [...path], keyword, schema, ...(name !== undefined && { name }) });
    }
  };
  const visitBelow = (segment: string | number, schema: Schema, below: JsonValue | undefined): void => {
    path.push(segment);
    visit(schema, below);
    path.pop();
  };

  const visit = (schema: Schema, found: JsonValue | undefined): void => {
    if (schema.type !== undefined && !hasType(found, schema.type)) return refuse(schema, "type");
    if (schema.$ref !== undefined) visit(lookUp(schema.$ref, root), found);
    if (schema.enum !== undefined && !schema.enum.includes(found ?? null)) refuse(schema, "enum");
    if (typeof found === "number") visitNumber(schema, found);
    else if (typeof found === "string") {
      if (found.length < (schema.minLength ?? 0)) refuse(schema, "minLength");
    } else if (Array.isArray(found)) visitList(schema, found);
    else if (isObject(found)) visitObject(schema, found);
  };
  const visitNumber = (schema: Schema, found: number): void => {
    if (found > (schema.maximum ?? Infinity)) refuse(schema, "maximum");
    if (found < (schema.minimum ?? -Infinity)) refuse(schema, "minimum");
  };
  const visitList = (schema: Schema, found: readonly JsonValue[]): void => {
    if (found.length < (schema.minItems ?? 0)) refuse(schema, "minItems");
    if (schema.items === undefined) return;
    for (const [index, item] of found.entries()) visitBelow(index, schema.items, item);
  };
  const visitObject = (schema: Schema, found: JsonObject): void => {
    for (const { if: condition, then } of schema.allOf ?? []) {
      if (then !== undefined && condition?.properties?.["kind"]?.const === found["kind"]) visit(then, found);
    }
    const keys = Object.keys(found);
    if (keys.length < (schema.minProperties ?? 0)) refuse(schema, "minProperties");
    for (const name of schema.required ?? []) {
      if (!Object.hasOwn(found, name)) refuse(schema, "required", name);
    }
    visitKeys(schema, found, keys);
  };
  const visitKeys = (schema: Schema, found: JsonObject, keys: readonly string[]): void => {
    const { properties = {}, additionalProperties: others, propertyNames: names } = schema;
    const pattern = names?.pattern === undefined ? null : new RegExp(names.pattern, "u");
    for (const name of keys) {
      if (pattern?.test(name) === false) refuse(schema, "propertyNames", name);
      const own = Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (own !== undefined) visitBelow(name, own, found[name]);
      else if (others === false) refuse(schema, "additionalProperties", name);
      else if (typeof others === "object") visitBelow(name, others, found[name]);
    }
  };

  visit(root, value);
  return errors;
}

function hasType(value: JsonValue | undefined, types: string | readonly string[]): boolean {
  return typeof types === "string"
    ? TYPES[types]?.(value) === true
    : types.some((type) => hasType(value, type));
}

const TYPES: Readonly<Record<string, (value: JsonValue | undefined) => boolean>> = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === "string",
  integer: Number.isInteger,
  number: Number.isFinite,
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
};
