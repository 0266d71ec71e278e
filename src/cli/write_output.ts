import type { System } from "../domain/system.ts";
import { describeFileError } from "../shared/describe_error.ts";
import { UsageError } from "./command_definition.ts";
import { OutputError } from "./failure.ts";

/**
 * Writes a new file.
 *
 * @throws {UsageError} If it exists, unless `--force` is given.
 * @throws {OutputError} If it can't be written.
 */
export async function writeNew(
  path: string,
  text: string,
  { files, overwrite }: Pick<System, "files"> & { readonly overwrite: boolean },
): Promise<void> {
  try {
    await files.write(path, text, { overwrite });
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw writeError(error, path);
    throw new UsageError(`cannot write "${path}": the file exists`, "overwrite it with --force");
  }
}

/** Returns the error of a file that can't be written; a missing permission stays one. */
export function writeError(error: unknown, path: string, label = path): unknown {
  if (error instanceof Deno.errors.NotCapable || error instanceof OutputError) return error;
  return new OutputError(`cannot write "${label}": ${describeFileError(error, { path, access: "write" })}`);
}
