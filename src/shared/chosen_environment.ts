/** The variables that every command gets if they are set; it gets nothing else of this process's environment. */
export const PASSED_VARIABLES = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"] as const;

/** Returns the environment of a configured command: a few inherited variables, then the configured ones. */
export function chosenEnvironment(
  read: (name: string) => string | undefined,
  given: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const passed: Record<string, string> = {};
  for (const name of PASSED_VARIABLES) {
    const value = read(name);
    if (value !== undefined) passed[name] = value;
  }
  return { ...passed, ...given };
}
