/** What the checks of files share: the timeout, why a file can't be read, and limits of its size. */
import { type CheckOf, type CheckResult, checkResult, unknownResult } from "../domain/check.ts";
import type { ObserveContext, ParameterProblem } from "../domain/check_kind.ts";
import { describeSize, exactSize } from "../domain/describe_size.ts";
import { describeDuration } from "../domain/duration.ts";
import type { FileParameters } from "../domain/generated/config.ts";
import { startDeadline, unlessAborted } from "../shared/deadline.ts";
import { describeFileError } from "../shared/describe_error.ts";
import { UnreadableFileError } from "../shared/regular_file.ts";

/** Runs `observe` within the timeout of the check, and evaluates its errors. */
export async function observeFileSystem(
  { parameters, timeoutMs }: CheckOf<"file" | "file_timestamp" | "disk_space">,
  { system: { clock }, signal }: ObserveContext,
  observe: (signal: AbortSignal) => Promise<CheckResult>,
): Promise<CheckResult> {
  signal.throwIfAborted();
  using deadline = startDeadline(clock, timeoutMs, signal);
  try {
    return await unlessAborted(observe(deadline.signal), deadline.signal);
  } catch (error) {
    signal.throwIfAborted();
    return deadline.isTimeUp || error instanceof Deno.errors.TimedOut
      ? unreadable(parameters.path, `the file system did not respond within ${describeDuration(timeoutMs)}`)
      : evaluateFailure(error, { conditionOnMissing: "unknown", ...parameters });
  }
}

/** Evaluates an error of the file system: a file is missing only if it certainly does not exist. */
export function evaluateFailure(
  error: unknown,
  { path, conditionOnMissing }: Pick<FileParameters, "path" | "conditionOnMissing">,
): CheckResult {
  if (error instanceof Deno.errors.NotFound) {
    return checkResult(conditionOnMissing, `"${path}" does not exist`);
  }
  if (error instanceof Deno.errors.NotADirectory) {
    return checkResult(conditionOnMissing, `"${path}" does not exist: a directory of this path is a file`);
  }
  const isOwn = error instanceof RangeError || error instanceof UnreadableFileError;
  return unreadable(path, isOwn ? error.message : describeFileError(error, { path }));
}

export function unreadable(path: string, reason: string): CheckResult {
  return unknownResult(`cannot read "${path}": ${reason}`);
}

type SizeLimits = Pick<FileParameters, "sizeMinBytes" | "sizeMaxBytes">;

export function sizeErrors(
  { sizeMinBytes = 0, sizeMaxBytes = Infinity }: SizeLimits,
): readonly ParameterProblem[] {
  if (sizeMinBytes <= sizeMaxBytes) return [];
  const [most, least] = [exactSize(sizeMaxBytes), exactSize(sizeMinBytes)];
  const message = `size_max is ${most} and size_min is ${least}: no file has such a size`;
  return [{ path: ["size_max"], message }];
}

export function sizeViolations(
  sizeBytes: number,
  { sizeMinBytes, sizeMaxBytes }: SizeLimits,
): readonly string[] {
  const violation = (limit: number, bound: string): string => {
    const sizes = [sizeBytes, limit].map(describeSize);
    // More digits prevent "size is 1.2 MB, expected at least 1.2 MB".
    const [size, expected] = sizes[0] === sizes[1] ? [`${sizeBytes} B`, `${limit} B`] : sizes;
    return `size is ${size}, expected at ${bound} ${expected}`;
  };
  return [
    ...sizeMinBytes !== undefined && sizeBytes < sizeMinBytes ? [violation(sizeMinBytes, "least")] : [],
    ...sizeMaxBytes !== undefined && sizeBytes > sizeMaxBytes ? [violation(sizeMaxBytes, "most")] : [],
  ];
}
