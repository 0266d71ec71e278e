/**
 * Which channels each check had when its reports were last looked after. Kept with the state, so that the next process
 * can tell a channel that was changed in the document from one that was there all along.
 */
import type { Channel } from "./domain/channel.ts";
import type { Check } from "./domain/check.ts";

/** A channel that a check had. */
export interface FormerChannel {
  /** As the document keyed it. */
  readonly key: string;
  /** Its kind; `null` when it is not known. */
  readonly kind: string | null;
}

/** By the name of the check, in the document's order, each channel once. */
export type ChannelLists = ReadonlyMap<string, readonly FormerChannel[]>;

/** The lists of a document's checks, and the former ones of those others that `isOfUse` asks for. */
export function listChannels(
  checks: readonly Check[],
  former: ChannelLists,
  isOfUse: (check: string) => boolean,
): ChannelLists {
  const lists = new Map<string, readonly FormerChannel[]>();
  // Most checks have the list of the defaults, which is made once.
  const made = new Map<readonly Channel[], readonly FormerChannel[]>();
  for (const { name, notifications } of checks) {
    let list = made.get(notifications);
    if (list === undefined) {
      const byKey = new Map(notifications.map(({ key, kind }) => [key, { key, kind }]));
      made.set(notifications, list = [...byKey.values()]);
    }
    lists.set(name, list);
  }
  for (const [name, list] of former) if (!lists.has(name) && isOfUse(name)) lists.set(name, list);
  return lists;
}

/** As a text to keep, in which what many checks share stands once; the same for the same lists. */
export function encodeChannelLists(lists: ChannelLists): string {
  const texts = new Map<string, number>();
  const indices = new Map<readonly FormerChannel[], number>();
  const names = [...lists].map(([name, list]) => {
    let index = indices.get(list);
    if (index === undefined) {
      const text = JSON.stringify(list.map(({ key, kind }) => [key, kind]));
      index = texts.get(text) ?? texts.size;
      texts.set(text, index);
      indices.set(list, index);
    }
    return `[${JSON.stringify(name)},${index}]`;
  });
  return `{"lists":[${[...texts.keys()].join(",")}],"checks":[${names.join(",")}]}`;
}

/** Reads such a text; what is no such text tells of no check. */
export function decodeChannelLists(text: string | null): ChannelLists {
  if (text === null) return new Map();
  try {
    const { lists, checks } = JSON.parse(text) as KeptLists;
    const read = lists.map((list) => list.map(([key, kind]) => ({ key, kind })));
    return new Map(checks.map(([name, index]) => [name, read[index] ?? []]));
  } catch {
    return new Map();
  }
}

interface KeptLists {
  readonly lists: readonly (readonly (readonly [key: string, kind: string | null])[])[];
  readonly checks: readonly (readonly [name: string, index: number])[];
}
