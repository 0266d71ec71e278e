import type { System } from "../domain/system.ts";
import { substitute, type Substitution } from "./placeholders.ts";
import type { ConfigPath, Problem, Source } from "./problem.ts";
import { childOf, isObject, membersOf } from "./schema_view.ts";
import { type JsonValue, parseText } from "./syntax.ts";

/** One file of a config: the config itself, or one that it includes. */
export interface ConfigFile {
  readonly source: Source;
  /** Its value with placeholders, its checks expanded; `undefined` when its syntax is broken. */
  readonly written: JsonValue | undefined;
  /** Its value without placeholders; a text whose placeholders have no value stays as written. */
  readonly value: JsonValue | undefined;
  readonly substitutions: readonly Substitution[];
  readonly problems: readonly (readonly Problem[])[];
  readonly warnings: readonly Problem[];
  /** The name in the file of each check that `for_each` made, by its own name. */
  readonly templates: ReadonlyMap<string, string>;
  /** Length of the text, and of the expansion of `for_each`. */
  readonly length: number;
  isUnresolved(path: ConfigPath): boolean;
}

interface OpenOptions {
  readonly withoutSecrets: boolean;
  /** Whether checks with `for_each` stay as they are, for a schema without it. @default false */
  readonly keepsForEach?: boolean;
}

/** Reads a text, expands its checks, and replaces its placeholders. Paths of `${file:…}` start at the file's directory. */
export async function openConfigFile(
  source: Source,
  system: System,
  { withoutSecrets, keepsForEach = false }: OpenOptions,
): Promise<ConfigFile> {
  const { value: parsed, problems } = parseText(source.text);
  if (parsed === undefined) {
    const nothing = { written: parsed, value: parsed, substitutions: [], warnings: [], templates: new Map() };
    const { length } = source.text;
    return { source, ...nothing, problems: [problems], length, isUnresolved: () => false };
  }
  const { environment, mayReadEnvironment, files } = system;
  const { directory } = source;
  const secrets = { environment, mayReadEnvironment, files, directory, withoutSecrets };
  const expanded = keepsForEach || !isObject(parsed) ||
      !membersOf(parsed["checks"]).some(([, check]) => isObject(check) && "for_each" in check)
    ? { written: parsed, problems: [], templates: new Map<string, string>(), length: 0 }
    : (await import("./for_each.ts")).expandChecks(parsed);
  const { written, templates } = expanded;
  const { value, substitutions, problems: secretProblems, warnings } = await substitute(written, secrets);
  const unresolved = new Set(
    substitutions.filter(({ resolved }) => resolved === null).map(({ path }) => JSON.stringify(path)),
  );
  return {
    source,
    written,
    value,
    substitutions,
    problems: [problems, expanded.problems, secretProblems],
    warnings,
    templates,
    length: source.text.length + expanded.length,
    isUnresolved: (path) => unresolved.size > 0 && unresolved.has(JSON.stringify(path)),
  };
}

export function checkNames(file: Pick<ConfigFile, "written">): readonly string[] {
  return namesIn(file, "checks");
}

export function channelNames(file: Pick<ConfigFile, "written">): readonly string[] {
  return namesIn(file, "channels");
}

function namesIn({ written }: Pick<ConfigFile, "written">, key: string): readonly string[] {
  return membersOf(childOf(written, key)).map(([name]) => name);
}
