/** The checks that others name: dependencies, and those that a group combines. */
import { type Check, combinedChecks, dependencyNames } from "../domain/check.ts";
import { hashHex } from "../shared/hash.ts";
import { type Problem, PROBLEMS_MAX, quoteValue } from "./problem.ts";

/** Checks that need themselves by way of others, as dependencies or as members of groups. */
export function findDependencyProblems(checks: readonly Check[]): readonly Problem[] {
  return findCycles(checks, new Map(checks.map((check) => [check.name, check])));
}

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

/** Walks the dependencies depth-first, without recursion; each circle is reported once, at its first check. */
function findCycles(checks: readonly Check[], byName: ReadonlyMap<string, Check>): readonly Problem[] {
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
