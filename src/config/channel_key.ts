import { hashHex } from "../shared/hash.ts";
import type { JsonObject, JsonValue } from "./syntax.ts";
import { absolutePath } from "./source.ts";
import { FILTER_KEYS } from "./channel_uses.ts";
import { isObject, type Schema, type SchemaReader } from "./schema_view.ts";

/** Formats of members that say who asks rather than who is told; a header may say either, and so is no such member. */
const CREDENTIAL_FORMATS: readonly string[] = ["secret", "username"];

/**
 * What channels of one kind with the same parameters have in common, whatever their user name and password: so that notifications
 * find their channel again after a restart, after a password was changed, and from every check that names it. Made
 * from the config as it is written, so a secret that is read anew changes nothing and is not in it.
 */
export function channelKey(
  channel: JsonObject,
  schema: Schema,
  { reader, otherDirectory = null }: ChannelKeyOptions,
): string {
  const place = { reader, otherDirectory };
  const own = Object.fromEntries(Object.entries(channel).filter(([key]) => !FILTER_KEYS.includes(key)));
  return hashHex(JSON.stringify(withoutCredentials(own, schema, place)), 16);
}

/**
 * The key of a channel with a name, whatever its content. In quotes, which no hash has, and escaped, so that it can
 * stand in front of other text.
 */
export function namedChannelKey(name: string): string {
  return JSON.stringify(name);
}

interface ChannelKeyOptions {
  readonly reader: SchemaReader;
  /**
   * Where relative paths start, if that is not the config's directory: the same text means another file there.
   * @default null
   */
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

/** Whether a text depends on the directory it is read from; a program without a slash is looked up in `PATH`. */
function isRelative(text: string, format: string | undefined): boolean {
  return format === "path" || format === "input_file" || (format === "command" && text.includes("/"));
}
