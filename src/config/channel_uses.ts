/** An element of a list of notifications: a channel with filters. */
import type { Channel } from "../domain/channel.ts";
import { type ConfigPath, type Problem, PROBLEMS_MAX, quoteValue } from "./problem.ts";
import { childOf, isObject, membersOf, type Schema, type SchemaReader, valueAt } from "./schema_view.ts";
import type { JsonObject, JsonValue } from "./syntax.ts";
import { hashHex } from "../shared/hash.ts";
import { absolutePath } from "./source.ts";

const QUEUE_KEYS: readonly string[] = ["at_most", "group", "common_causes"];
/** Their receivers close the incident of a check by its name. */
export const INCIDENT_KINDS: readonly JsonValue[] = ["opsgenie", "pagerduty"];

const FILTER_KEYS: readonly string[] = ["checks", "conditions", "events", "after", "hours", "outside_hours"];

export function withoutFilters(
  { checks: _checks, conditions: _conditions, events: _events, ...rest }: Channel,
): Channel {
  const { afterMs: _afterMs, hours: _hours, outsideHours: _outsideHours, ...channel } = rest;
  return channel;
}

/** Finds items of lists that are neither a channel nor a use of one, and channels that a list uses in two ways. */
export function findUseProblems(written: JsonObject): readonly Problem[] {
  return [
    ...namedUses(written),
    ...channelLists(written).flatMap(({ path, items }) => [
      ...items.flatMap((item, index) => isObject(item) ? problemsOf(item, [...path, index]) : []),
      ...findRepeated(items, path),
      ...path[0] === "summary" ? findSummaryFilters(items, path) : [],
    ]),
  ];
}

/** Filters are about the condition of one check, and its event. */
function findSummaryFilters(items: readonly JsonValue[], path: ConfigPath): readonly Problem[] {
  return items.flatMap((item, index) =>
    FILTER_KEYS.filter((key) => isObject(item) && key in item).map((key) => ({
      path: [...path, index, key],
      at: "name" as const,
      message: `"${key}" has no effect on a summary, which is about no single notification`,
      hint: 'remove it; "cron" decides when a summary is sent',
    }))
  );
}

function namedUses({ channels }: JsonObject): readonly Problem[] {
  return membersOf(channels).flatMap(([name, channel]): readonly Problem[] => {
    if (!isObject(channel)) return [];
    const path = ["channels", name];
    const message = '"channel" is only for lists of "notifications": expected "kind" and "parameters"';
    const circle = "is the channel itself, expected another one";
    return [
      ..."channel" in channel ? [{ path: [...path, "channel"], at: "name" as const, message }] : [],
      ...channel.fallback === name ? [{ path: [...path, "fallback"], message: circle }] : [],
      ...incidentProblems(channel, path),
    ];
  });
}

/** One message of many checks would open an incident that no recovery closes. */
function incidentProblems(channel: JsonObject, path: ConfigPath): readonly Problem[] {
  const { kind = "" } = channel;
  if (!INCIDENT_KINDS.includes(kind)) return [];
  const why = "no recovery would close the incident of several checks";
  return QUEUE_KEYS.filter((key) => key in channel).map((key) => ({
    path: [...path, key],
    at: "name",
    message: `"${key}" cannot be used with ${quoteValue(kind)}: ${why}`,
    hint: "remove it; the receiver groups incidents itself",
  }));
}

function problemsOf(item: JsonObject, path: ConfigPath): readonly Problem[] {
  const own = ["kind", "parameters", ...QUEUE_KEYS];
  if (!("channel" in item)) {
    if (!("kind" in item)) return [{ path, message: 'missing key "kind" or "channel"' }];
    const missing = "parameters" in item ? [] : [{ path, message: 'missing key "parameters"' }];
    return [...missing, ...incidentProblems(item, path)];
  }
  return own.filter((key) => key in item).map((key) => ({
    path: [...path, key],
    at: "name",
    message: `"${key}" cannot be used with "channel": remove one of them`,
    ...QUEUE_KEYS.includes(key) && { hint: 'set it for the channel in "channels"' },
  }));
}

/** One channel has one queue, so two sets of filters would contradict each other. */
function findRepeated(items: readonly JsonValue[], path: ConfigPath): readonly Problem[] {
  const problems: Problem[] = [];
  const first = new Map<string, JsonValue>();
  for (const [index, item] of items.entries()) {
    const name = isObject(item) ? item["channel"] : item;
    if (typeof name !== "string") continue;
    const earlier = first.get(name);
    if (earlier === undefined) first.set(name, item);
    else if ((isObject(item) || isObject(earlier)) && problems.length < PROBLEMS_MAX) {
      const message = `the list has the channel ${quoteValue(name)} more than once, expected one use`;
      problems.push({ path: [...path, index], message });
    }
  }
  return problems;
}

/** Lists the channels that are written out in a file, with a name or in lists; a kind that is no text is empty. */
export function channelsIn(
  written: JsonObject,
): readonly { readonly path: ConfigPath; readonly kind: string }[] {
  return channelEntries(written).flatMap(({ path, entry }) => {
    const isUse = path[0] !== "channels" && !(isObject(entry) && !("channel" in entry));
    const kind = childOf(entry, "kind");
    return isUse ? [] : [{ path, kind: typeof kind === "string" ? kind : "" }];
  });
}

/** Lists all channels, and uses of channels, of a file. */
export function channelEntries(
  written: JsonObject,
): readonly { readonly path: ConfigPath; readonly entry: JsonValue }[] {
  return [
    ...membersOf(written["channels"]).map(([name, entry]) => ({ path: ["channels", name], entry })),
    ...channelLists(written).flatMap(({ path, items }) =>
      items.map((entry, index) => ({ path: [...path, index], entry }))
    ),
  ];
}

/** Lists the `notifications` of the defaults, the summary and the checks as written. */
function channelLists(
  written: JsonObject,
): readonly { readonly path: ConfigPath; readonly items: readonly JsonValue[] }[] {
  return [["summary"], ...ownersOf(written)].flatMap((holder) => {
    const path = [...holder, "notifications"];
    const items = valueAt(written, path);
    return Array.isArray(items) ? [{ path, items }] : [];
  });
}

/** The paths of the settings of checks: the defaults, and each check. */
export function ownersOf(written: JsonObject): readonly ConfigPath[] {
  return [["defaults"], ...membersOf(written["checks"]).map(([name]) => ["checks", name])];
}

/** Formats of keys that name the sender; a header may name the receiver, so it is not one of them. */
const CREDENTIAL_FORMATS: readonly string[] = ["secret", "username"];

/**
 * Identifies channels of one kind with the same parameters except user name and password: so notifications find their
 * channel again after a restart, after a password was changed, and from every check that has it. Made from the config
 * as written, so it contains no secret and doesn't change with one.
 */
export function channelKey(channel: JsonObject, schema: Schema, options: ChannelKeyOptions): string {
  const others = [...FILTER_KEYS, ...QUEUE_KEYS, "fallback"];
  const own = Object.fromEntries(Object.entries(channel).filter(([key]) => !others.includes(key)));
  return hashHex(JSON.stringify(withoutCredentials(own, schema, options)), 16);
}

/** The key of a channel with a name. In quotes, which no hash has, and escaped, so that it can be a prefix. */
export function namedChannelKey(name: string): string {
  return JSON.stringify(name);
}

interface ChannelKeyOptions {
  readonly reader: SchemaReader;
  /** The directory of relative paths, if not the config's: there, the same text is another file. @default null */
  readonly otherDirectory?: string | null;
}

function withoutCredentials(value: JsonValue, schema: Schema, options: ChannelKeyOptions): JsonValue {
  const { reader, otherDirectory = null } = options;
  const view = reader.view(schema, value);
  if (Array.isArray(value)) {
    const { items } = view;
    return items === undefined ? value : value.map((item) => withoutCredentials(item, items, options));
  }
  if (typeof value === "string" && otherDirectory !== null && isRelative(value, view.format)) {
    return absolutePath(value, otherDirectory);
  }
  if (!isObject(value)) return value;
  const rest: JsonObject = Object.create(null) as JsonObject;
  for (const name of Object.keys(value).sort()) {
    const item = value[name];
    const key = view.keys.get(name) ?? view.otherKeys;
    if (item === undefined || key === undefined) continue;
    const format = view.keys.has(name) ? reader.view(key, item).format : undefined;
    if (format === undefined || !CREDENTIAL_FORMATS.includes(format)) {
      rest[name] = withoutCredentials(item, key, options);
    }
  }
  return rest;
}

/** Returns whether a text depends on the directory of its file; a command without a slash is looked up in `PATH`. */
function isRelative(text: string, format: string | undefined): boolean {
  return format === "path" || format === "input_file" || (format === "command" && text.includes("/"));
}
