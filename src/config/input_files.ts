import { describeFileError, systemCodeOf } from "../shared/describe_error.ts";
import type { Files } from "../domain/files.ts";
import type { FormattedValue } from "./formatted_value.ts";
import { type Problem, quoteValue } from "./problem.ts";
import { absolutePath } from "./source.ts";

/**
 * Warns of files that a check reads and that this machine lacks, such as certificates. They are read at each run, so
 * one that appears later is used at once.
 */
export async function warnOfInputFiles(
  values: readonly FormattedValue[],
  directory: string,
  files: Pick<Files, "stat">,
): Promise<readonly Problem[]> {
  const warnings: Problem[] = [];
  for (const { path, value, written } of values) {
    const reason = await missingReason(absolutePath(String(value), directory), files);
    if (reason !== null) {
      warnings.push({ path, message: `the file ${quoteValue(written)} cannot be read: ${reason}` });
    }
  }
  return warnings;
}

async function missingReason(path: string, files: Pick<Files, "stat">): Promise<string | null> {
  try {
    return (await files.stat(path)).kind === "file" ? null : "it is not a file";
  } catch (error) {
    // Any other failure may be transient, and the check reports it.
    return ["ENOENT", "EACCES"].includes(systemCodeOf(error)) ? describeFileError(error, { path }) : null;
  }
}
