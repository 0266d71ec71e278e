import type { ConfigPath, Problem } from "./problem.ts";

/** Problems without those that repeat one of another check from the same place. */
export function withoutRepeats(
  problems: readonly Problem[],
  templates: ReadonlyMap<string, string>,
): readonly Problem[] {
  if (templates.size === 0) return problems;
  const seen = new Set<string>();
  return problems.filter(({ path, message, source }) => {
    const key = JSON.stringify([templatePath(path, templates), message, source?.label]);
    return !seen.has(key) && seen.add(key);
  });
}

/** Maps a path of an expanded config to the one in its file. */
export function templatePath(path: ConfigPath, templates: ReadonlyMap<string, string>): ConfigPath {
  const [member, name, ...rest] = path;
  const template = member === "checks" && typeof name === "string" ? templates.get(name) : undefined;
  return template === undefined ? path : ["checks", template, ...rest];
}
