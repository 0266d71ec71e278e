import { exactDuration } from "../domain/duration.ts";
import { parseInterval } from "./quantities.ts";
import { hideInAddress, isCredential, isUrl } from "./credentials.ts";
import { holdsSecret, isPlaceholder } from "./placeholders.ts";
import { type ConfigPath, describePath } from "./problem.ts";
import { defaultsOf, type Origin, pickSetting } from "./resolve.ts";
import { isObject, type Schema, type SchemaReader, type SchemaView, valueAt } from "./schema_view.ts";
import type { JsonObject, JsonValue } from "./syntax.ts";

interface ExplainedSetting {
  /** Such as `schedule.regular_interval`. */
  readonly path: string;
  /** JSON as it is written, with placeholders unresolved and literal passwords hidden. */
  readonly value: string;
  /** The source of the value; `built-in` for a key that a given object lacks. */
  readonly origin: ExplainedOrigin;
}

/** The source of a setting; `config`: a key of the config itself. */
export type ExplainedOrigin = Origin | "config";

/** In the schema's order, with the source of each. `outer` is the config that includes the check's file. */
export function explainCheck(
  config: JsonObject,
  name: string,
  reader: SchemaReader,
  outer: JsonObject | null = null,
): readonly ExplainedSetting[] {
  const check = valueAt(config, ["checks", name]);
  if (!isObject(check)) return [];
  const view = reader.at(config, ["checks", name]);
  const sources = { defaults: defaultsOf(config), outer: outer && defaultsOf(outer) };
  return [...view?.plainKeys ?? []].flatMap(([key, schema]) => {
    const builtIn = reader.view(schema, undefined).default;
    const setting = { name: key, otherName: view?.otherNames.get(key), builtIn };
    const { value, origin } = pickSetting(setting, check, sources);
    const followed = FOLLOWED[key];
    return [
      // Those of a check come besides the windows that the config has for all checks.
      ...key === "maintenance_windows"
        ? explainKey(outer ?? config, key, reader).map((item) => ({ ...item, origin: "config" as const }))
        : [],
      ...value !== undefined
        ? explainValue(value, { schema, origin, path: [key] }, reader)
        : followed === undefined
        ? []
        : [{ path: key, value: followed, origin }],
    ];
  });
}

/** The settings of the whole config, without `checks` and `defaults`. */
export function explainConfig(config: JsonObject, reader: SchemaReader): readonly ExplainedSetting[] {
  return [...reader.view(reader.root, config).keys].flatMap(([key, schema]) => {
    if (LEFT_OUT.includes(key)) return [];
    const value = config[key] ?? reader.view(schema, undefined).default;
    const origin: ExplainedOrigin = key in config ? "config" : "built-in";
    return value === undefined
      ? [{ path: key, value: FOLLOWED[key] ?? "none", origin }]
      : [...explainValue(value, { schema, origin, path: [key] }, reader)];
  });
}

export function explainChannels(config: JsonObject, reader: SchemaReader): readonly ExplainedSetting[] {
  return explainKey(config, "channels", reader);
}

function explainKey(config: JsonObject, key: string, reader: SchemaReader): readonly ExplainedSetting[] {
  const schema = reader.root.properties?.[key];
  const value = config[key];
  if (schema === undefined || value === undefined) return [];
  return [...explainValue(value, { schema, origin: "config", path: [key] }, reader)];
}

/** Keys for editors, and those that each check shows as its own. */
const LEFT_OUT: readonly string[] = ["$schema", "checks", "defaults"];

/** Settings that take another one's value when they are not given. */
const FOLLOWED: Readonly<Record<string, string>> = {
  state: "named after the config",
  time_zone: "that of the machine",
  recovery_threshold: "as threshold",
};

/** The same, if it depends on other keys of the object. */
function followedKey(path: ConfigPath, value: JsonObject): string | undefined {
  const [key] = path;
  const name = path.at(-1);
  if (key === "locations" && name === "agree") return "more than half";
  if (name === "require") return "at_least" in value ? "not used, at_least counts" : undefined;
  if (name === "time_zone") return "regular_interval" in value ? undefined : "that of the config";
  if (key !== "schedule" || name !== "attentive_interval") return undefined;
  return "regular_interval" in value ? "as regular_interval" : "none, cron alone";
}

interface Place {
  readonly schema: Schema;
  readonly origin: ExplainedOrigin;
  readonly path: ConfigPath;
}

function* explainValue(value: JsonValue, place: Place, reader: SchemaReader): Generator<ExplainedSetting> {
  const { schema, origin, path } = place;
  const view = reader.view(schema, value);
  if (Array.isArray(value) && view.items !== undefined && value.some((item) => isObject(item))) {
    for (const [index, item] of value.entries()) {
      yield* explainValue(item, { schema: view.items, origin, path: [...path, index] }, reader);
    }
  } else if (isObject(value) && view.otherKeys !== undefined && holdsObjects(value, view.otherKeys, reader)) {
    for (const [name, item] of Object.entries(value)) {
      yield* explainValue(item, { schema: view.otherKeys, origin, path: [...path, name] }, reader);
    }
  } else if (isObject(value) && view.keys.size > 0) {
    for (const [key, keySchema] of view.keys) {
      const isGiven = key in value;
      const item = isGiven ? value[key] : reader.view(keySchema, undefined).default;
      const next: Place = { schema: keySchema, origin: isGiven ? origin : "built-in", path: [...path, key] };
      const followed = isGiven ? undefined : followedKey(next.path, value);
      if (followed !== undefined) {
        yield { path: describePath(next.path), value: followed, origin: "built-in" };
      } else if (item !== undefined) yield* explainValue(item, next, reader);
    }
  } else {
    yield { path: describePath(path), value: showValue(value, { view, path, reader }), origin };
  }
}

/** Returns whether the keys with free names are settings of their own, one or more. */
function holdsObjects(value: JsonObject, otherKeys: Schema, reader: SchemaReader): boolean {
  return Object.keys(value).length > 0 && reader.view(otherKeys, undefined).types.join() === "object";
}

function showValue(
  value: JsonValue,
  { view, path, reader }: Pick<Place, "path"> & { readonly view: SchemaView; readonly reader: SchemaReader },
): string {
  const { format, otherKeys } = view;
  if (isObject(value) && otherKeys !== undefined) {
    const shown = Object.entries(value).map(([name, item]) => {
      const place = { view: reader.view(otherKeys, item), path: [...path, name], reader };
      return `${JSON.stringify(name)}:${showValue(item, place)}`;
    });
    return `{${shown.join(",")}}`;
  }
  if (isHidden(value, format, path)) return "(hidden)";
  const isAddress = isUrl({ format: format ?? "" }) && typeof value === "string";
  const text = JSON.stringify(isAddress ? hideInAddress(value) : value);
  if (format !== "interval" || typeof value === "boolean") return text;
  const interval = parseInterval(typeof value === "number" ? value : String(value));
  return "ms" in interval ? `${text} (${exactDuration(interval.ms)})` : text;
}

/** Returns whether a text is a secret, or a part of one, that is in the config itself. */
function isHidden(value: JsonValue, format: string | undefined, path: ConfigPath): boolean {
  if (typeof value !== "string") return false;
  if (format === "secret") return !isPlaceholder(value);
  return isCredential({ format: format ?? "", path }) && !holdsSecret(value);
}
