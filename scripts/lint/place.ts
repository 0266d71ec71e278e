/**
 * Files that may use the machine directly, or that are not part of the program at all. A path that ends in a slash is
 * a directory.
 */
export const OUTSIDE_THE_LAYERS: readonly string[] = [
  "main.ts",
  "program.ts",
  "scripts/",
  "testing/",
  "tests/",
  "examples/",
  "bench/",
];

/**
 * A rule that decides by a file's place in the project. `create` gets the file's path from the project's directory
 * on, with forward slashes; files outside the project get no rule.
 */
export function placedRule(
  create: (context: Deno.lint.RuleContext, path: string) => Deno.lint.LintVisitor,
): Deno.lint.Rule {
  return {
    create(context) {
      const path = projectPath(context.filename, PROJECT_DIRECTORY);
      return path === null ? {} : create(context, path);
    },
  };
}

/** A file's path from the project's directory on, with forward slashes; `null` when it is not in that directory. */
export function projectPath(filename: string, projectDirectory: string): string | null {
  const file = forwardSlashes(filename);
  const directory = `${forwardSlashes(projectDirectory)}/`;
  return file.startsWith(directory) ? file.slice(directory.length) : null;
}

/**
 * Returns whether a project path is one of these files, or in one of these directories (those that end in a slash).
 */
export function isIn(path: string, places: readonly string[]): boolean {
  return places.some((place) => place.endsWith("/") ? path.startsWith(place) : path === place);
}

// The plugin's own location determines the project's: a directory named src above the project cannot mislead it.
const PROJECT_DIRECTORY = forwardSlashes(import.meta.dirname ?? "").replace(/\/scripts\/lint$/, "");

function forwardSlashes(path: string): string {
  return path.replaceAll("\\", "/");
}
