import { nearest } from "./nearest.ts";
import type { ConfigFile } from "./config_file.ts";
import { type Problem, quoteValue } from "./problem.ts";
import { isObject, type SchemaReader } from "./schema_view.ts";
import { createObject, type JsonObject, type JsonValue } from "./syntax.ts";

/** An included file, completed so that the schema of a config can validate it. */
interface IncludedFile {
  /** Without the keys that only a config has. */
  readonly value: JsonValue | undefined;
  readonly written: JsonValue | undefined;
  /** Errors about keys that an included file must not have. */
  readonly problems: readonly Problem[];
  /** Warnings about the whole file. */
  readonly warnings: readonly Problem[];
}

const INCLUDED_KEYS: readonly string[] = ["$schema", "include", "defaults", "channels", "checks"];

/**
 * Completes an included file to a config: `defaults` may be absent from it, and settings of the whole config are
 * rejected.
 */
export function completeIncludedFile(
  { value, written }: ConfigFile,
  { reader, configLabel }: { readonly reader: SchemaReader; readonly configLabel: string },
): IncludedFile {
  if (!isObject(value) || !isObject(written)) return { value, written, problems: [], warnings: [] };
  const known = reader.view(reader.root, value).keys;
  const expected = `expected one of ${INCLUDED_KEYS.join(", ")} in an included file`;
  const problems = Object.keys(written).filter((name) => !INCLUDED_KEYS.includes(name)).map(
    (name): Problem => {
      const at = { path: [name], at: "name" } as const;
      if (known.has(name)) {
        return {
          ...at,
          message: `applies to the whole config, ${expected}`,
          hint: `put it into ${configLabel}`,
        };
      }
      const meant = nearest(name, INCLUDED_KEYS.filter((key) => !(key in written)));
      return {
        ...at,
        message: `unknown key ${quoteValue(name)}, ${expected}`,
        ...(meant !== undefined && { hint: `did you mean "${meant}"?` }),
      };
    },
  );
  const isEmpty = problems.length === 0 &&
    !["checks", "channels", "include"].some((key) => key in written);
  return {
    value: complete(value),
    written: complete(written),
    problems,
    warnings: isEmpty ? [{ path: [], message: "has no checks and no channels, and includes nothing" }] : [],
  };
}

function complete(includedFile: JsonObject): JsonObject {
  const config = createObject();
  config["defaults"] = createObject();
  for (const name of INCLUDED_KEYS) {
    const value = includedFile[name];
    if (value !== undefined) config[name] = value;
  }
  return config;
}
