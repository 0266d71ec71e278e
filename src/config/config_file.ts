import type { System } from "../domain/system.ts";
import { substitute, type Substitution } from "./placeholders.ts";
import type { ConfigPath, Problem } from "./problem.ts";
import { isObject } from "./schema_view.ts";
import type { Source } from "./source_text.ts";
import { type JsonValue, parseText } from "./syntax.ts";

/** One file of a config: the config itself, or one that it includes. */
export interface ConfigFile {
  /** The text that was read, and where it came from. */
  readonly source: Source;
  /** Its value with placeholders; `undefined` when its syntax is broken. */
  readonly written: JsonValue | undefined;
  /** Its value without placeholders; a text whose placeholders have no value stays as written. */
  readonly value: JsonValue | undefined;
  readonly substitutions: readonly Substitution[];
  readonly problems: readonly (readonly Problem[])[];
  readonly warnings: readonly Problem[];
  /** Whether a text there has a placeholder without a value. */
  isUnresolved(path: ConfigPath): boolean;
}

/** Reads a text and replaces its placeholders. Paths of `${file:…}` start at the file's directory. */
export async function openConfigFile(
  source: Source,
  system: System,
  options: { readonly withoutSecrets: boolean },
): Promise<ConfigFile> {
  const { value: written, problems } = parseText(source.text);
  if (written === undefined) {
    const nothing = { written, value: written, substitutions: [], warnings: [] };
    return { source, ...nothing, problems: [problems], isUnresolved: () => false };
  }
  const { environment, mayReadEnvironment, files } = system;
  const { directory } = source;
  const secrets = { environment, mayReadEnvironment, files, directory, ...options };
  const { value, substitutions, problems: secretProblems, warnings } = await substitute(written, secrets);
  return {
    source,
    written,
    value,
    substitutions,
    problems: [problems, secretProblems],
    warnings,
    isUnresolved: createUnresolvedTest(substitutions),
  };
}

/** The names of the checks that a file holds, errors in them or not. */
export function checkNames(file: ConfigFile): readonly string[] {
  return namesIn(file, "checks");
}

/** The names of the channels that a file defines, errors in them or not. */
export function channelNames(file: ConfigFile): readonly string[] {
  return namesIn(file, "channels");
}

function namesIn({ written }: ConfigFile, key: string): readonly string[] {
  const named = isObject(written) ? written[key] : undefined;
  return isObject(named) ? Object.keys(named) : [];
}

function createUnresolvedTest(substitutions: readonly Substitution[]): (path: ConfigPath) => boolean {
  const unresolved = new Set<string>();
  for (const { path, resolved } of substitutions) if (resolved === null) unresolved.add(JSON.stringify(path));
  return (path) => unresolved.size > 0 && unresolved.has(JSON.stringify(path));
}
