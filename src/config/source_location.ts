import { lazily } from "../shared/lazily.ts";
import { type ConfigFile, namesIn } from "./config_file.ts";
import { createPlacer } from "./positions.ts";
import {
  describePath,
  type PlacedProblem,
  type Problem,
  quoteValue,
  type Source,
  templatePath,
} from "./problem.ts";
import { valueAt } from "./schema_view.ts";

/** In the file that a problem names, else in the one of its check, else in the config itself. */
export function createConfigPlacer(files: readonly ConfigFile[]): (problem: Problem) => PlacedProblem {
  const [main, ...others] = files;
  const owners = new Map<string, Source>();
  for (const file of others) {
    for (const name of namesIn(file, "checks")) if (!owners.has(name)) owners.set(name, file.source);
  }
  const templates = new Map(files.flatMap((file) => [...file.templates]));
  const placers = new Map<Source, (problem: Problem) => PlacedProblem>();
  const placeIn = (source: Source, problem: Problem): PlacedProblem => {
    const place = placers.getOrInsertComputed(source, () => createPlacer(source.text));
    const path = templatePath(problem.path, templates);
    if (path === problem.path) return place(problem);
    return { ...place({ ...problem, path }), path: describePath(problem.path) };
  };
  const withPlaceholders = createPlaceholderTexts(files);
  return (given) => {
    const problem = withPlaceholders(given);
    const { path: [key, name] } = problem;
    const owner = key === "checks" ? owners.get(String(name)) : undefined;
    const source = problem.source ?? owner ?? main?.source;
    if (source === undefined) throw new Error("A config has at least one file");
    const placed = placeIn(source, problem);
    return source === main?.source ? placed : { ...placed, source };
  };
}

/** Shows values as the config has them where these are placeholders: a value may be a secret. */
function createPlaceholderTexts(files: readonly ConfigFile[]): (problem: Problem) => Problem {
  const places = lazily(() =>
    Map.groupBy(
      files.flatMap(({ written = null, substitutions }) => substitutions.map((one) => ({ ...one, written }))),
      ({ path }) => JSON.stringify(path),
    )
  );
  return (problem) => {
    const { hint: _, ...rest } = problem;
    const found = places().get(JSON.stringify(problem.path)) ?? [];
    const message = found.reduce(
      (text, { path, resolved, written }) =>
        resolved === null
          ? text
          : text.replace(quoteValue(resolved), () => quoteValue(valueAt(written, path))),
      problem.message,
    );
    return message === problem.message ? problem : { ...rest, message };
  };
}

export function inTextOrder<Placed extends Pick<PlacedProblem, "offset" | "source">>(
  placed: readonly Placed[],
  sources: readonly Source[],
): readonly Placed[] {
  const ranks = new Map(sources.map((source, index) => [source, index]));
  const rank = ({ source }: Placed): number => source === undefined ? 0 : ranks.get(source) ?? sources.length;
  return placed.map((item) => ({ item, rank: rank(item) }))
    .sort((one, other) => one.rank - other.rank || one.item.offset - other.item.offset)
    .map(({ item }) => item);
}

/** Names of checks or of channels that are in two files; each is an error in the later one. */
export function findRepeatedNames(
  files: readonly ConfigFile[],
  place: (problem: Problem) => PlacedProblem,
): readonly Problem[] {
  if (files.length < 2) return [];
  return (["checks", "channels"] as const).flatMap((key) => {
    const first = new Map<string, Source>();
    return files.flatMap((file) =>
      namesIn(file, key).flatMap((name): readonly Problem[] => {
        const source = first.getOrInsert(name, file.source);
        if (source === file.source) return [];
        const at = { path: [key, name], at: "name" } as const;
        const { line, column } = place({ ...at, source, message: "" });
        return [{
          ...at,
          source: file.source,
          message: `the name ${quoteValue(name)} is already defined in ${source.label}:${line}:${column}`,
          hint: "rename or remove one of them",
        }];
      })
    );
  });
}
