/** The variables every program gets, where they are set; nothing else of our environment reaches it. */
export const PASSED_VARIABLES = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"] as const;

/** The environment of a program that the config names: a few variables of ours, then the given ones. */
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
