/** Lists of checks name them, or select them with a pattern of names (`web-*`) or with a tag (`tag:web`). */
import { type Check, combinedChecks, type Dependency } from "../domain/check.ts";
import type { Channel } from "../domain/channel.ts";
import type { Page } from "../domain/generated/config.ts";
import { matchesGlob } from "../shared/matches_glob.ts";
import { channelEntries } from "./channel_uses.ts";
import { isGlob } from "./glob.ts";
import { didYouMean } from "./nearest.ts";
import { type ConfigPath, type Problem, PROBLEMS_MAX, quoteValue, type Source } from "./problem.ts";
import { childOf } from "./schema_view.ts";
import type { JsonObject } from "./syntax.ts";

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

interface Selected {
  readonly checks: readonly Check[];
  readonly page: Page | null;
  readonly problems: readonly Problem[];
}

interface ListedFile {
  readonly source: Source;
  readonly written: JsonObject;
}

/**
 * Puts names in the place of all entries, and leaves channels out whose `checks` do not select the check. A check never
 * selects itself, and depends on no inactive check that it does not name.
 */
export function withSelected(
  checks: readonly Check[],
  { page, files }: { readonly page: Page | null; readonly files: readonly ListedFile[] },
): Selected {
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
  return {
    checks: selected,
    page: page === null || groups === undefined ? page : { ...page, groups },
    problems,
  };
}

function filterEntries(
  written: JsonObject,
): readonly { readonly entry: string; readonly path: ConfigPath }[] {
  return channelEntries(written).flatMap(({ path, entry: channel }) => {
    const entries = childOf(channel, "checks");
    return (Array.isArray(entries) ? entries : []).flatMap((entry, index) =>
      typeof entry === "string" ? [{ entry, path: [...path, "checks", index] }] : []
    );
  });
}
