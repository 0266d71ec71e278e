/** The files of `--output FORMAT=FILE`: results in a format, in addition to stdout. */
import { pathFromHere } from "../config/source.ts";
import type { System } from "../domain/system.ts";
import { describeFileError } from "../shared/describe_error.ts";
import { type Invocation, option, type OptionSpec, UsageError } from "./command_definition.ts";

export interface OutputFile<Format extends string> {
  readonly format: Format;
  readonly path: string;
}

export function outputOption(description: string): OptionSpec {
  return option("--output FORMAT=FILE", `${description} in a format, in addition to stdout (repeatable)`, {
    repeatable: true,
  });
}

/** @throws {UsageError} If a value has another form, or an unknown format. */
export function readOutputs<Format extends string>(
  invocation: Invocation,
  formats: readonly Format[],
  hint: string,
): readonly OutputFile<Format>[] {
  return invocation.texts("output").map((value) => {
    const [, name, path] = /^([^=]*)=(.+)$/s.exec(value) ?? [];
    const format = formats.find((other) => other === name);
    if (format !== undefined && path !== undefined) return { format, path };
    throw new UsageError(
      `--output is "${value}", expected FORMAT=FILE with one of ${formats.join(", ")}`,
      hint,
    );
  });
}

/** Replaces a file; returns the error, if any. */
export async function writeOutput(given: string, text: string, system: System): Promise<string | null> {
  const path = pathFromHere(given, system);
  try {
    await system.files.replace(path, text);
    return null;
  } catch (error) {
    return `cannot write "${path}": ${describeFileError(error, { path, access: "write" })}`;
  }
}
