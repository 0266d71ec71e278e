import { hashHex } from "../shared/hash.ts";
import type { JsonObject, JsonValue } from "./syntax.ts";
import { absolutePath } from "./source.ts";
import { FILTER_KEYS } from "./channel_uses.ts";
import { isObject, type Schema, type SchemaReader } from "./schema_view.ts";

/**
 * Formats of keys that name the sender rather than the receiver. A header may name either, so it is not one of them.
 */
const CREDENTIAL_FORMATS: readonly string[] = ["secret", "username"];

/**
 * Identifies channels of one kind with the same parameters except user name and password: so notifications find their
 * channel again after a restart, after a password was changed, and from every check that has it. Made from the config
 * as written, so it contains no secret and doesn't change with one.
 */
export function channelKey(
  channel: JsonObject,
  schema: Schema,
  { reader, otherDirectory = null }: ChannelKeyOptions,
): string {
  const place = { reader, otherDirectory };
  const own = Object.fromEntries(
    Object.entries(channel).filter(([key]) =>
      !FILTER_KEYS.includes(key) && key !== "at_most" && key !== "fallback"
    ),
  );
  return hashHex(JSON.stringify(withoutCredentials(own, schema, place)), 16);
}

/**
 * The key of a channel with a name, regardless of its content. In quotes, which no hash has, and escaped, so that it
 * can be a prefix.
 */
export function namedChannelKey(name: string): string {
  return JSON.stringify(name);
}

interface ChannelKeyOptions {
  readonly reader: SchemaReader;
  /** The directory of relative paths, if not the config's: there, the same text is another file. @default null */
  readonly otherDirectory?: string | null;
}

function withoutCredentials(value: JsonValue, schema: Schema, place: Required<ChannelKeyOptions>): JsonValue {
  const { reader, otherDirectory } = place;
  const view = reader.view(schema, value);
  if (Array.isArray(value)) {
    const items = view.items;
    return items === undefined ? value : value.map((item) => withoutCredentials(item, items, place));
  }
  if (!isObject(value)) {
    const isElsewhere = otherDirectory !== null && typeof value === "string" &&
      isRelative(value, view.format);
    return isElsewhere ? absolutePath(value, otherDirectory) : value;
  }
  const rest: JsonObject = Object.create(null) as JsonObject;
  for (const name of Object.keys(value).sort()) {
    const item = value[name];
    const key = view.keys.get(name) ?? view.otherKeys;
    if (item === undefined || key === undefined) continue;
    const format = view.keys.has(name) ? reader.view(key, item).format : undefined;
    if (format === undefined || !CREDENTIAL_FORMATS.includes(format)) {
      rest[name] = withoutCredentials(item, key, place);
    }
  }
  return rest;
}

/** Returns whether a text depends on the directory of its file; a command without a slash is looked up in `PATH`. */
function isRelative(text: string, format: string | undefined): boolean {
  return format === "path" || format === "input_file" || (format === "command" && text.includes("/"));
}
