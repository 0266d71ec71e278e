import { parseJson } from "../../shared/parse_json.ts";
import { nearest } from "../../config/nearest.ts";
import { quoteValue } from "../../config/problem.ts";
import type { SchemaReader, SchemaView } from "../../config/schema_view.ts";
import type { JsonObject, JsonValue } from "../../config/syntax.ts";
import { UsageError } from "../command_definition.ts";

export interface TypedParameter {
  /** The keys from `parameters` on. */
  readonly path: readonly string[];
  readonly value: JsonValue;
}

export function isKeyValue(word: string): boolean {
  return /^[a-z_]\w*(?:\.[^=]*)?=/i.test(word);
}

/**
 * Reads `KEY=VALUE`. Dots lead into objects, such as `response.status_code=200`. The schema decides whether the value
 * is text, a number, `true`, a list or other JSON.
 *
 * @throws {UsageError} If the kind has no such key.
 */
export function readKeyValue(word: string, kind: string, reader: SchemaReader): TypedParameter {
  const config: JsonValue = { checks: { check: { kind } } };
  const at = (path: readonly string[]): SchemaView | undefined =>
    reader.at(config, ["checks", "check", "parameters", ...path]);
  const path: string[] = [];
  for (let rest = word;;) {
    const here = at(path);
    const [, key = "", sign, tail = ""] = /^([^.=]*)([.=])(.*)$/s.exec(rest) ?? [];
    if (here?.keys.has(key)) {
      path.push(key);
      if (sign === "=") return { path, value: typedValue(tail, at(path), reader) };
      rest = tail;
      continue;
    }
    if (here?.otherKeys === undefined) {
      const inner = [...here?.keys.keys() ?? []].filter((outer) => at([...path, outer])?.keys.has(key));
      throw unknownKey([...path, key], { kind, view: here, inner });
    }
    // A free name may have dots, such as a path in JSON.
    const end = rest.indexOf("=");
    path.push(rest.slice(0, end));
    return { path, value: typedValue(rest.slice(end + 1), at(path), reader) };
  }
}

/** `view` is of the object that lacks the key, and `inner` has the keys of objects in it that have it. */
function unknownKey(
  path: readonly string[],
  { kind, view, inner }: {
    readonly kind: string;
    readonly view: SchemaView | undefined;
    readonly inner: readonly string[];
  },
): UsageError {
  const known = [...view?.keys.keys() ?? []];
  const name = path.at(-1) ?? "";
  const before = path.slice(0, -1).map((key) => `${key}.`).join("");
  const meant = inner.length > 0
    ? inner.map((outer) => `${outer}.${name}`)
    : [nearest(name, known) ?? []].flat();
  const accepted = known.length === 0
    ? `${before === "" ? "no keys" : `no keys in "${before.slice(0, -1)}"`}`
    : `one of ${known.map((key) => before + key).join(", ")}`;
  return new UsageError(
    `unknown key ${quoteValue(path.join("."))} of ${kind}, expected ${accepted}`,
    meant.length === 0 ? undefined : `did you mean ${meant.map((key) => `"${before}${key}"`).join(" or ")}?`,
  );
}

function typedValue(text: string, view: SchemaView | undefined, reader: SchemaReader): JsonValue {
  const types = view?.types ?? [];
  if (types.length === 1 && types[0] === "string") return text;
  const json = parseJson(text) as JsonValue | undefined;
  if (json !== undefined && (types.length === 0 || typesOf(json).some((type) => types.includes(type)))) {
    return json;
  }
  if (!types.includes("array") || types.includes("string") || view?.items === undefined) return text;
  const items = reader.view(view.items, undefined);
  return text === "" ? [] : text.split(",").map((item) => typedValue(item, items, reader));
}

function typesOf(value: JsonValue): readonly string[] {
  if (value === null) return ["null"];
  if (Array.isArray(value)) return ["array"];
  if (typeof value === "number") return Number.isInteger(value) ? ["integer", "number"] : ["number"];
  return [typeof value];
}

/** Puts a value at a path into parameters, next to the others. */
export function withParameter(parameters: JsonObject, { path, value }: TypedParameter): JsonObject {
  const [key = "", ...rest] = path;
  if (rest.length === 0) return { ...parameters, [key]: value };
  const inner = parameters[key];
  const object = typeof inner === "object" && inner !== null && !Array.isArray(inner) ? inner : {};
  return { ...parameters, [key]: withParameter(object, { path: rest, value }) };
}
