/**
 * Names that refer to something else of the config: checks that others name, as dependencies or in a group that combines
 * them, and named channels. `channels` has these, and lists of `notifications` refer to them.
 */
import { type Check, combinedChecks, type Dependency, dependencyNames } from "../domain/check.ts";
import { hashHex } from "../shared/hash.ts";
import { type ConfigPath, type Problem, PROBLEMS_MAX, quoteValue, type Source } from "./problem.ts";
import type { Channel, ChannelByKind, SummarySettings } from "../domain/channel.ts";
import { channelEntries, namedChannelKey } from "./channel_uses.ts";
import { type ConfigFile, isGlob, namesIn } from "./config_file.ts";
import { didYouMean } from "./nearest.ts";
import { describeLacks, readHours, type ResolveOptions, resolveSetting } from "./resolve.ts";
import { childOf, type FormattedValue, type SchemaReader } from "./schema_view.ts";
import type { JsonObject, JsonValue } from "./syntax.ts";
import type { Page } from "../domain/generated/config.ts";
import { matchesGlob } from "../shared/matches_glob.ts";

/** A check on the way, with the names that it depends on: dependencies first, then those that it combines. */
interface Frame {
  readonly name: string;
  readonly parents: readonly string[];
  readonly dependencyCount: number;
  next: number;
}

function frameOf(name: string, byName: ReadonlyMap<string, Check>): Frame {
  const check = byName.get(name);
  const dependencies = check === undefined ? [] : dependencyNames(check);
  const combined = check === undefined ? [] : combinedChecks(check);
  return { name, parents: [...dependencies, ...combined], dependencyCount: dependencies.length, next: 0 };
}

/**
 * Finds checks that need themselves by way of others, as dependencies or as members of groups: depth-first, without
 * recursion. Each circle is reported once, at its first check.
 */
export function findDependencyProblems(checks: readonly Check[]): readonly Problem[] {
  const byName = new Map(checks.map((check) => [check.name, check]));
  const problems: Problem[] = [];
  const done = new Set<string>();
  for (const { name: start } of checks) {
    if (done.has(start)) continue;
    const path: string[] = [start];
    const places = new Map([[start, 0]]);
    const stack: Frame[] = [frameOf(start, byName)];
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const name = top.parents[top.next];
      top.next++;
      const place = name === undefined ? undefined : places.get(name);
      if (name === undefined) {
        done.add(top.name);
        stack.pop();
        path.pop();
        places.delete(top.name);
      } else if (place !== undefined) {
        if (problems.length === PROBLEMS_MAX) return problems;
        const message = `is a cycle: ${describeCircle(path, place)}`;
        // The frame of the name at which the cycle begins has just taken the edge to the next one.
        const { next, dependencyCount } = stack[place] ?? top;
        const key = next <= dependencyCount ? ["depends_on"] : ["parameters", "checks"];
        problems.push({ path: ["checks", name, ...key], message });
      } else if (!done.has(name) && byName.has(name)) {
        stack.push(frameOf(name, byName));
        places.set(name, path.length);
        path.push(name);
      }
    }
  }
  return problems;
}

const SHOWN_MAX = 8;

/** From a place of the path on, each name needs the next one, and the last needs the first; those at both ends are shown. */
function describeCircle(path: readonly string[], place: number): string {
  const first = path[place] ?? "";
  const left = path.length - place + 1 - SHOWN_MAX;
  const all = path.slice(place).map(quoteValue);
  const shown = left > 1 ? [...all.slice(0, SHOWN_MAX - 2), `… (${left} more) …`, ...all.slice(-1)] : all;
  return [...shown, quoteValue(first)].join(" depends on ");
}

/** Adds the definitions of the checks that a group combines to that of the group: it is edited with them. */
export function withCombined(checks: readonly Check[]): readonly Check[] {
  const byName = new Map(checks.map((check) => [check.name, check]));
  const groups = checks.filter((check) => combinedChecks(check).length > 0);
  const defined = new Map<string, Check>();
  // Without recursion: groups of groups may be deep.
  const left = [...groups];
  for (let group = left.at(-1); group !== undefined; group = left.at(-1)) {
    const combined = combinedChecks(group).flatMap((name) => byName.get(name) ?? []);
    const undefinedYet = combined.filter((one) => combinedChecks(one).length > 0 && !defined.has(one.name));
    left.push(...undefinedYet);
    if (undefinedYet.length > 0) continue;
    left.pop();
    const parts = combined.map((one) => [(defined.get(one.name) ?? one).definition, one.locations?.from]);
    const definition = hashHex(JSON.stringify([group.definition, parts]), 16);
    defined.set(group.name, { ...group, definition });
  }
  return checks.map((check) => defined.get(check.name) ?? check);
}

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
  const unknown = items.filter(({ written }) => !options.known.has(String(written)));
  return unknown.slice(0, PROBLEMS_MAX).map((item) => describeUnknownName(item, options));
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
  const names = known.map(quoteValue).join(", ");
  return known.length === 1 ? `the name ${names} or an object` : `one of the names ${names}, or an object`;
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
    namesIn(file, "channels").filter((name) => !used.has(name)).map((name) => ({
      path: [CHANNELS, name],
      at: "name" as const,
      source: file.source,
      message: "no check uses this channel",
    }))
  );
}

// Lists of checks name them, or select them with a pattern of names (`web-*`) or with a tag (`tag:web`).

type Selectable = Pick<Check, "name" | "tags" | "active">;

const TAG = "tag:";

/** Finds the checks of an entry, in the order of the config; the name of a check is never a pattern. */
export class CheckSelectors {
  readonly #byName: ReadonlyMap<string, Selectable>;
  readonly #checks: readonly Selectable[];
  readonly #found = new Map<string, readonly Selectable[]>();

  constructor(checks: readonly Selectable[]) {
    this.#checks = checks;
    this.#byName = new Map(checks.map((check) => [check.name, check]));
  }

  /** Returns whether an entry is not the name of a check, but selects checks. */
  selects(entry: string): boolean {
    return !this.#byName.has(entry) && (entry.startsWith(TAG) || isGlob(entry));
  }

  find(entry: string): readonly Selectable[] {
    return this.#found.getOrInsertComputed(entry, () => {
      const named = this.#byName.get(entry);
      if (named !== undefined) return [named];
      if (entry.startsWith(TAG)) {
        return this.#checks.filter(({ tags }) => tags.includes(entry.slice(TAG.length)));
      }
      return isGlob(entry) ? this.#checks.filter(({ name }) => matchesGlob(name, entry)) : [];
    });
  }

  /** Describes an entry that no check matches, or none other than `own`; the hint has the nearest entry that one does. */
  problemOf(
    entry: string,
    path: ConfigPath,
    { own, hasHint }: { readonly own: string | null; readonly hasHint: boolean },
  ): Problem {
    const a = own === null ? "a" : "another";
    const expected = !this.selects(entry)
      ? "the name of a check"
      : entry.startsWith(TAG)
      ? `a tag of ${a} check`
      : `a pattern that matches ${a} check`;
    const others = hasHint ? this.#checks.filter(({ name }) => name !== own) : [];
    const near = others.flatMap(({ name, tags }) => {
      if (!this.selects(entry)) return [name];
      if (entry.startsWith(TAG)) return tags.map((tag) => TAG + tag);
      const signAt = entry.search(/[*?]/);
      const pattern = name.slice(0, signAt) + entry.slice(signAt);
      return matchesGlob(name, pattern) ? [pattern] : [];
    });
    return {
      path,
      message: `is ${quoteValue(entry)}, expected ${expected}`,
      hint: didYouMean(entry, [...new Set(near)], quoteValue),
    };
  }
}

/** The maximum number of compared pairs of names; later errors have no suggestion. */
const COMPARED_MAX = 200_000;

/**
 * Puts names in the place of all entries, and leaves channels out whose `checks` do not select the check. A check never
 * selects itself, and depends on no inactive check that it does not name.
 */
export function withSelected(
  checks: readonly Check[],
  { page, files }: {
    readonly page: Page | null;
    readonly files: readonly { readonly source: Source; readonly written: JsonObject }[];
  },
): { readonly checks: readonly Check[]; readonly page: Page | null; readonly problems: readonly Problem[] } {
  const selectors = new CheckSelectors(checks);
  const problems: Problem[] = [];
  const miss = (entry: string, path: ConfigPath, own: string | null, source?: Source): void => {
    if (problems.length === PROBLEMS_MAX) return;
    const hasHint = problems.length * checks.length < COMPARED_MAX;
    const problem = selectors.problemOf(entry, path, { own, hasHint });
    problems.push(source === undefined ? problem : { ...problem, source });
  };
  const namesOf = (
    entries: readonly string[],
    { path, own, onlyActive = false }: {
      readonly path: (index: number) => ConfigPath;
      readonly own: string | null;
      readonly onlyActive?: boolean;
    },
  ): readonly string[] => {
    const listed = new Set(entries);
    return entries.flatMap((entry, index) => {
      const isSelector = selectors.selects(entry);
      const found = selectors.find(entry).filter(({ name }) => !isSelector || name !== own);
      if (found.length === 0) miss(entry, path(index), own);
      if (!isSelector) return [entry];
      const names = found.filter(({ name, active }) => !listed.has(name) && (active || !onlyActive))
        .map(({ name }) => name);
      for (const name of names) listed.add(name);
      return names;
    });
  };
  const dependenciesOf = ({ name: own, dependsOn }: Check): readonly Dependency[] =>
    dependsOn.flatMap((dependency, index): readonly Dependency[] => {
      const path = ["checks", own, "depends_on", index];
      const options = { own, onlyActive: true };
      if (typeof dependency === "string") return namesOf([dependency], { ...options, path: () => path });
      const any = namesOf(dependency.any, { ...options, path: (place) => [...path, "any", place] });
      return any.length === 0 ? [] : [{ any }];
    });
  const matched = new Map<readonly string[], ReadonlySet<string>>();
  const isFor = ({ checks: entries }: Channel, name: string): boolean => {
    if (entries === undefined) return true;
    return matched.getOrInsertComputed(
      entries,
      () => new Set(entries.flatMap((entry) => selectors.find(entry)).map((check) => check.name)),
    ).has(name);
  };
  const selected = checks.map((check): Check => {
    const { name: own, dependsOn, notifications } = check;
    const combined = combinedChecks(check);
    const isSent = notifications.every((channel) => isFor(channel, own));
    if (dependsOn.length === 0 && combined.length === 0 && isSent) return check;
    const names = namesOf(combined, { own, path: (index) => ["checks", own, "parameters", "checks", index] });
    return {
      ...check,
      ...combined.length > 0 && { parameters: { ...check.parameters, checks: names } },
      dependsOn: [...new Set(dependenciesOf(check))],
      notifications: isSent ? notifications : notifications.filter((channel) => isFor(channel, own)),
    } as Check;
  });
  for (const { source, written } of files) {
    for (const { entry, path } of filterEntries(written)) {
      if (selectors.find(entry).length === 0) miss(entry, path, null, source);
    }
  }
  const groups = page?.groups.map((group, index) => ({
    ...group,
    checks: namesOf(group.checks, { own: null, path: (place) => ["page", "groups", index, "checks", place] }),
  }));
  return { checks: selected, page: page && groups ? { ...page, groups } : null, problems };
}

function filterEntries(written: JsonObject) {
  return channelEntries(written).flatMap(({ path, entry: channel }) => {
    const entries = childOf(channel, "checks");
    return (Array.isArray(entries) ? entries : []).flatMap((entry, index) =>
      typeof entry === "string" ? [{ entry, path: [...path, "checks", index] }] : []
    );
  });
}
