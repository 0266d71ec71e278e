/** The rules of `locations` that need more than the value itself. */
import type { Check, Locations } from "../domain/check.ts";
import { isCron } from "../domain/schedule.ts";
import { type ConfigPath, type Problem, quoteValue, type Source } from "./problem.ts";
import { valueAt } from "./schema_view.ts";
import type { JsonObject } from "./syntax.ts";

interface LocationRules {
  fileOf(name: string): { readonly source: Source; readonly written: JsonObject };
  /** Returns why a check can't run at locations; `null`: it can. */
  refusalOf(check: Check): string | null;
}

export interface LocatedChecks {
  readonly checks: readonly Check[];
  readonly problems: readonly Problem[];
}

/** Validates `locations`. Checks that can't run at locations ignore those of `defaults`. */
export function locateChecks(checks: readonly Check[], { fileOf, refusalOf }: LocationRules): LocatedChecks {
  const problems = new Map<string, Problem>();
  const located = checks.map((check) => {
    const { name, locations } = check;
    if (locations === undefined) return check;
    const { place, isOwn, source } = placeOf(name, fileOf);
    const add = (problem: Problem): void => {
      const key = JSON.stringify([source?.label ?? null, ...problem.path]);
      problems.set(key, { ...problem, ...source !== null && { source } });
    };
    const refusal = refusalOf(check) ?? (isCron(check.schedule) ? CRON : null);
    if (refusal !== null && isOwn && locations.from.length > 0) {
      add({ path: place, at: "name", message: `cannot be used: ${refusal}` });
    }
    if (refusal !== null || locations.from.length === 0) {
      const { locations: _, ...rest } = check;
      return rest as Check;
    }
    listProblems(locations, place).forEach(add);
    return check;
  });
  return { checks: located, problems: [...problems.values()] };
}

/** The source location of a check's locations; `source` is `null` if they are those of the config's own defaults. */
function placeOf(name: string, fileOf: LocationRules["fileOf"]) {
  const { source, written } = fileOf(name);
  const isOwn = valueAt(written, ["checks", name, "locations"]) !== undefined;
  const place = isOwn ? ["checks", name, "locations"] : ["defaults", "locations"];
  return { place, isOwn, source: valueAt(written, place) === undefined ? null : source };
}

/** The error if the state is not shared: a single monitor is at one location. Others may be agents. */
export function findUnshared(
  checks: readonly Check[],
  { fileOf, agents }: Pick<LocationRules, "fileOf"> & { readonly agents: Readonly<Record<string, unknown>> },
): readonly Problem[] {
  const problems = new Map<string, Problem>();
  for (const { name, locations } of checks) {
    const others = locations?.from.filter((location) => !Object.hasOwn(agents, location)) ?? [];
    if (locations === undefined || others.length <= 1) continue;
    const { place, source } = placeOf(name, fileOf);
    problems.set(JSON.stringify([source?.label ?? null, ...place]), {
      path: [...place, "from"],
      message: `has ${others.length} locations, which require a state in PostgreSQL`,
      hint: 'set "state": { "postgres": … }, or name one location; others may be agents',
      ...source !== null && { source },
    });
  }
  return [...problems.values()];
}

const CRON = "locations run one after another, which needs an interval";

function listProblems({ from, agree }: Locations, place: ConfigPath): readonly Problem[] {
  const repeated = from.findIndex((name, index) => from.indexOf(name) < index);
  if (repeated >= 0) {
    const message = `is ${quoteValue(from[repeated] ?? "")}, which is specified more than once`;
    return [{ path: [...place, "from", repeated], message }];
  }
  if (agree <= from.length) return [];
  const message = `is ${agree}, expected at most ${from.length}, the number of locations`;
  return [{ path: [...place, "agree"], message }];
}
