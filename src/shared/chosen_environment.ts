/** The variables that every command gets if they are set; it gets nothing else of this process's environment. */
export const PASSED_VARIABLES = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"] as const;

/** Returns the environment of a configured command: a few inherited variables, then the configured ones. */
export function chosenEnvironment(
  read: (name: string) => string | undefined,
  given: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return { ...presentVariables(read, PASSED_VARIABLES), ...given };
}

/** Returns those of some variables that are set. */
export function presentVariables(
  read: (name: string) => string | undefined,
  names: readonly string[],
): Readonly<Record<string, string>> {
  const values = names.map((name) => [name, read(name)] as const);
  return Object.fromEntries(values.filter((entry): entry is [string, string] => entry[1] !== undefined));
}
