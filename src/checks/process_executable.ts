import type { System } from "../domain/system.ts";
import { describeFileError, systemCodeOf } from "../shared/describe_error.ts";

export const PROCESSES = "/proc";

export interface Executed<Process> {
  readonly running: readonly Process[];
  /** Those whose executable cannot be read, such as those of other users. */
  readonly unreadable: readonly Process[];
  /** Why the first of them cannot be read; empty: all can. */
  readonly reason: string;
}

/** Finds the processes that run the expected file, which may have been replaced; a text: why it can't be compared. */
export async function withExecutable<Process extends { readonly id: number }>(
  found: readonly Process[],
  executable: string | undefined,
  { files, platform, signal }: Pick<System, "files" | "platform"> & { readonly signal: AbortSignal },
): Promise<Executed<Process> | string> {
  if (executable === undefined) return { running: found, unreadable: [], reason: "" };
  if (platform !== "linux") return "only Linux names the executable of a process";
  let expected = executable;
  try {
    expected = await files.realPath(executable);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) {
      return `cannot read executable "${executable}": ${describeFileError(error, { path: executable })}`;
    }
  }
  const running: Process[] = [];
  const unreadable: Process[] = [];
  let reason = "";
  for (const process of found) {
    signal.throwIfAborted();
    const link = `${PROCESSES}/${process.id}/exe`;
    try {
      const path = await files.readLink(link);
      if (path === expected || path === `${expected} (deleted)`) running.push(process);
    } catch (error) {
      // A process that has ended, or a thread of the kernel.
      if (error instanceof Deno.errors.NotFound || systemCodeOf(error) === "ESRCH") continue;
      if (error instanceof Deno.errors.NotCapable) return describeFileError(error, { path: PROCESSES });
      if (unreadable.length === 0) reason = describeFileError(error, { path: link });
      unreadable.push(process);
    }
  }
  return { running, unreadable, reason };
}
