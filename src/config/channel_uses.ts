/** An element of a list of notifications: a channel with filters. */
import type { Channel, ChannelFilters } from "../domain/channel.ts";
import { channelLists } from "./channels_in.ts";
import { type ConfigPath, type Problem, PROBLEMS_MAX, quoteValue } from "./problem.ts";
import { isObject } from "./schema_view.ts";
import type { JsonObject, JsonValue } from "./syntax.ts";

/** The keys of filters; they don't concern the channel itself. */
export const FILTER_KEYS: readonly string[] = ["conditions", "events", "after", "hours", "outside_hours"];

export interface ChannelUse extends ChannelFilters {
  readonly channel: string;
}

/** Returns a named channel with the filters of a use instead of its own. */
export function withFilters(channel: Channel, { channel: _name, ...filters }: ChannelUse): Channel {
  return { ...channel, ...filters };
}

/** Returns a channel that gets everything. */
export function withoutFilters({ conditions: _conditions, events: _events, ...rest }: Channel): Channel {
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
  if (!isObject(channels)) return [];
  const own = Object.entries(channels).filter(([name, channel]) =>
    isObject(channel) && channel.fallback === name
  );
  return [
    ...namedUsesIn(channels),
    ...own.map(([name]) => ({
      path: ["channels", name, "fallback"],
      message: "is the channel itself, expected another one",
    })),
  ];
}

function namedUsesIn(channels: JsonObject): readonly Problem[] {
  return Object.entries(channels).flatMap(([name, channel]) =>
    isObject(channel) && "channel" in channel
      ? [{
        path: ["channels", name, "channel"],
        at: "name" as const,
        message: '"channel" is only for lists of "notifications": expected "kind" and "parameters"',
      }]
      : []
  );
}

function problemsOf(item: JsonObject, path: ConfigPath): readonly Problem[] {
  const own = ["kind", "parameters", "at_most"];
  if (!("channel" in item)) {
    if (!("kind" in item)) return [{ path, message: 'missing key "kind" or "channel"' }];
    return "parameters" in item ? [] : [{ path, message: 'missing key "parameters"' }];
  }
  return own.filter((key) => key in item).map((key) => ({
    path: [...path, key],
    at: "name",
    message: `"${key}" cannot be used with "channel": remove one of them`,
    ...key === "at_most" && { hint: 'set the limit of a channel in "channels"' },
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
      problems.push({
        path: [...path, index],
        message: `the list has the channel ${quoteValue(name)} more than once, expected one use`,
      });
    }
  }
  return problems;
}
