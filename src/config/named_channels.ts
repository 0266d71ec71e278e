/** Channels with a name: `channels` has them, and lists of `notifications` refer to them. */
import type { Channel, ChannelByKind, SummarySettings } from "../domain/channel.ts";
import type { Check } from "../domain/check.ts";
import { namedChannelKey } from "./channel_uses.ts";
import { channelNames, type ConfigFile } from "./config_file.ts";
import { didYouMean } from "./nearest.ts";
import { type Problem, PROBLEMS_MAX, quoteValue } from "./problem.ts";
import { describeLacks, readHours, type ResolveOptions, resolveSetting } from "./resolve.ts";
import type { FormattedValue, SchemaReader } from "./schema_view.ts";
import type { JsonObject, JsonValue } from "./syntax.ts";

const CHANNELS = "channels";

/** Resolves the named channels of one file; its relative paths start at its own directory. */
export function resolveNamedChannels(
  config: JsonObject,
  { lacksAt, ...options }: Omit<ResolveOptions, "channels">,
): readonly (readonly [name: string, channel: Channel])[] {
  const resolved = resolveSetting(config, CHANNELS, { ...options, channels: new Map() }) ?? {};
  return Object.entries(resolved).map(([name, channel]) => {
    const lacks = lacksAt?.([CHANNELS, name]) ?? [];
    const lack = lacks.length === 0 ? {} : { lack: describeLacks(lacks) };
    const { hours: _hours, ...rest } = channel;
    // The schema requires a kind and its parameters here.
    const settings = rest as typeof rest & ChannelByKind;
    return [name, { ...settings, ...readHours(channel, options), ...lack, key: namedChannelKey(name), name }];
  });
}

interface ChannelNameOptions {
  readonly known: ReadonlySet<string>;
  readonly value: JsonValue;
  readonly reader: SchemaReader;
}

export function findChannelNameProblems(
  items: readonly FormattedValue[],
  options: ChannelNameOptions,
): readonly Problem[] {
  return items.filter(({ written }) => !options.known.has(String(written)))
    .slice(0, PROBLEMS_MAX)
    .map((item) => describeUnknownName(item, options));
}

function describeUnknownName({ path, written }: FormattedValue, options: ChannelNameOptions): Problem {
  const name = String(written);
  const known = [...options.known];
  const message = `is ${quoteValue(written)}, expected ${describeNames(known)}`;
  const near = didYouMean(name, known, quoteValue);
  if (near !== undefined) return { path, message, hint: near };
  const kind = options.reader.at(options.value, path)?.keys.get("kind");
  const isKind = kind !== undefined && options.reader.view(kind, undefined).enum?.includes(name) === true;
  const channel = `{ "kind": ${isKind ? quoteValue(name) : "…"}, "parameters": { … } }`;
  const definition = `define it at the top level: "channels": { ${quoteValue(name)}: ${channel} }`;
  return { path, message, hint: isKind ? `write ${channel}` : definition };
}

const NAMES_SHOWN_MAX = 8;

function describeNames(known: readonly string[]): string {
  if (known.length === 0) return 'an object: the config has no "channels"';
  if (known.length > NAMES_SHOWN_MAX) return `one of the ${known.length} names in "channels", or an object`;
  return known.length === 1
    ? `the name ${known.map(quoteValue).join()} or an object`
    : `one of the names ${known.map(quoteValue).join(", ")}, or an object`;
}

export function warnOfUnusedChannels(
  files: readonly ConfigFile[],
  { checks, summary }: { readonly checks: readonly Check[]; readonly summary: SummarySettings | null },
): readonly Problem[] {
  if (checks.length === 0) return [];
  const lists = [...checks, ...summary === null ? [] : [summary]];
  const used = new Set(
    lists.flatMap(({ notifications }) => notifications.flatMap(({ name, fallback }) => [name, fallback]))
      .concat(checks.map(({ rehearsed }) => rehearsed?.name)),
  );
  return files.flatMap((file) =>
    channelNames(file).filter((name) => !used.has(name)).map((name) => ({
      path: [CHANNELS, name],
      at: "name" as const,
      source: file.source,
      message: "no check uses this channel",
    }))
  );
}
