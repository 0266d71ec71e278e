/** The checks that others name: dependencies, and those that a group combines. */
import { type Check, combinedChecks, dependencyNames } from "../domain/check.ts";
import type { Page } from "../domain/generated/config.ts";
import { hashHex } from "../shared/hash.ts";
import { didYouMean } from "./nearest.ts";
import { type ConfigPath, type Problem, PROBLEMS_MAX, quoteValue } from "./problem.ts";

/** Names in `depends_on` and of groups that are no checks, and checks that need themselves by way of others. */
export function findDependencyProblems(checks: readonly Check[]): readonly Problem[] {
  const byName = new Map(checks.map((check) => [check.name, check]));
  const problems: Problem[] = [];
  for (const check of checks) {
    for (const { name, path } of namedChecks(check)) {
      if (byName.has(name)) continue;
      if (problems.length === PROBLEMS_MAX) return problems;
      const hint = problems.length * byName.size < LOOKS_MAX
        ? didYouMean(name, [...byName.keys()].filter((other) => other !== check.name), quoteValue)
        : undefined;
      problems.push({ path, message: `is ${quoteValue(name)}, expected the name of a check`, hint });
    }
  }
  return [...problems, ...findCycles(checks, byName)];
}

/** Finds names in the groups of the page that no check has. */
export function findGroupProblems(page: Page | null, checks: readonly Check[]): readonly Problem[] {
  const names = new Set(checks.map(({ name }) => name));
  const unknown = (page?.groups ?? []).flatMap(({ checks }, index) =>
    checks.flatMap((name, place) =>
      names.has(name) ? [] : [{ name, path: ["page", "groups", index, "checks", place] }]
    )
  );
  return unknown.slice(0, PROBLEMS_MAX).map(({ name, path }, index) => ({
    path,
    message: `is ${quoteValue(name)}, expected the name of a check`,
    hint: index * names.size < LOOKS_MAX ? didYouMean(name, [...names], quoteValue) : undefined,
  }));
}

/** The checks that another one names, with their locations. */
function namedChecks(check: Check): readonly { readonly name: string; readonly path: ConfigPath }[] {
  const at = (names: readonly string[], ...path: ConfigPath) =>
    names.map((name, index) => ({ name, path: ["checks", check.name, ...path, index] }));
  return [
    ...check.dependsOn.flatMap((dependency, index) =>
      typeof dependency === "string"
        ? [{ name: dependency, path: ["checks", check.name, "depends_on", index] }]
        : at(dependency.any, "depends_on", index, "any")
    ),
    ...at(combinedChecks(check), "parameters", "checks"),
  ];
}

/** A check on the way, with the names that it depends on: dependencies first, then those that it combines. */
interface Frame {
  readonly name: string;
  readonly parents: readonly string[];
  readonly dependencyCount: number;
  /** The index of the next name. */
  next: number;
}

function frameOf(name: string, byName: ReadonlyMap<string, Check>): Frame {
  const check = byName.get(name);
  const dependencies = check === undefined ? [] : dependencyNames(check);
  const combined = check === undefined ? [] : combinedChecks(check);
  return { name, parents: [...dependencies, ...combined], dependencyCount: dependencies.length, next: 0 };
}

/** The maximum number of compared pairs of names; later errors have no suggestion. */
const LOOKS_MAX = 200_000;

/** Walks the dependencies depth-first, without recursion; each circle is reported once, at its first check. */
function findCycles(checks: readonly Check[], byName: ReadonlyMap<string, Check>): readonly Problem[] {
  const problems: Problem[] = [];
  const done = new Set<string>();
  for (const { name: start } of checks) {
    if (done.has(start)) continue;
    const path: string[] = [start];
    /** The position of each name in the path. */
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
        const isDependency = next <= dependencyCount;
        const key = isDependency ? ["depends_on"] : ["parameters", "checks"];
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
  const shown = left > 1
    ? [
      ...path.slice(place, place + SHOWN_MAX - 2).map(quoteValue),
      `… (${left} more) …`,
      quoteValue(path.at(-1) ?? ""),
    ]
    : path.slice(place).map(quoteValue);
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
