import { nearest } from "./nearest.ts";
import type { Part } from "./config_file.ts";
import { type Problem, quote } from "./problem.ts";
import { isObject, type SchemaReader } from "./schema_view.ts";
import { createObject, type JsonObject, type JsonValue } from "./syntax.ts";

/** An included file made into what the schema of a config can judge. */
interface Fragment {
  /** Without the members that only a config has. */
  readonly value: JsonValue | undefined;
  readonly written: JsonValue | undefined;
  /** The members that do not belong there. */
  readonly problems: readonly Problem[];
  /** What is doubtful in it as a whole. */
  readonly warnings: readonly Problem[];
}

/** The members that an included file may have. */
const FRAGMENT_MEMBERS: readonly string[] = ["$schema", "include", "defaults", "channels", "checks"];

/**
 * Completes an included file to a config: `defaults` may be absent from it, and what holds for the config as a
 * whole may not stand in it.
 */
export function completeFragment(
  { value, written }: Part,
  { reader, configLabel }: { readonly reader: SchemaReader; readonly configLabel: string },
): Fragment {
  if (!isObject(value) || !isObject(written)) return { value, written, problems: [], warnings: [] };
  const known = reader.view(reader.root, value).members;
  const expected = `expected one of ${FRAGMENT_MEMBERS.join(", ")} in an included file`;
  const problems = Object.keys(written).filter((name) => !FRAGMENT_MEMBERS.includes(name)).map(
    (name): Problem => {
      const at = { path: [name], at: "name" } as const;
      if (known.has(name)) {
        return {
          ...at,
          message: `applies to the whole config, ${expected}`,
          hint: `put it into ${configLabel}`,
        };
      }
      const meant = nearest(name, FRAGMENT_MEMBERS.filter((member) => !(member in written)));
      return {
        ...at,
        message: `unknown key ${quote(name)}, ${expected}`,
        ...(meant !== undefined && { hint: `did you mean "${meant}"?` }),
      };
    },
  );
  const isEmpty = problems.length === 0 &&
    !["checks", "channels", "include"].some((member) => member in written);
  return {
    value: complete(value),
    written: complete(written),
    problems,
    warnings: isEmpty ? [{ path: [], message: "has no checks and no channels, and includes nothing" }] : [],
  };
}

function complete(fragment: JsonObject): JsonObject {
  const config = createObject();
  config["defaults"] = createObject();
  for (const name of FRAGMENT_MEMBERS) {
    const value = fragment[name];
    if (value !== undefined) config[name] = value;
  }
  return config;
}
