import { type CheckOf, type CheckResult, unknownResult } from "../domain/check.ts";
import { describeDuration } from "../domain/duration.ts";
import type { FileSystemFacts } from "../domain/system.ts";
import type { CheckKindEntry, ObserveContext } from "../domain/check_kind.ts";
import { startDeadline, unlessAborted } from "../shared/deadline.ts";
import { describeFileError } from "../shared/describe_error.ts";
import { evaluateMeasures, type Measure, thresholdWarnings } from "./thresholds.ts";

export const diskSpaceKind: CheckKindEntry<"disk_space"> = {
  observe: observeDiskSpace,
  limit: "none",
  target: {
    form: "DIRECTORY",
    claims: ({ pathKind }) => pathKind === "directory",
    parametersOf: ({ path }) => ({ path }),
    nameOf: ({ path }) => `disk_${path}`,
    textOf: ({ parameters: { path } }) => path,
    subjectsOf: ({ parameters }) => [`disk ${parameters.path.replace(/(?<=.)\/+$/, "")}`],
  },
  warnings: ({ parameters: { free, freeInodes } }) => [
    ...thresholdWarnings(free, ["free"]),
    ...thresholdWarnings(freeInodes, ["free_inodes"]),
  ],
  requiredPermissions: ({ parameters }) => ({ read: [parameters.path], sys: ["statfs"] }),
};

async function observeDiskSpace(
  { parameters: { path, free, freeInodes }, timeoutMs }: CheckOf<"disk_space">,
  { system: { clock, host }, signal }: ObserveContext,
): Promise<CheckResult> {
  let facts: FileSystemFacts;
  using deadline = startDeadline(clock, timeoutMs, signal);
  try {
    facts = await unlessAborted(host.fileSystem(path), deadline.signal);
  } catch (error) {
    signal.throwIfAborted();
    const reason = deadline.isTimeUp
      ? `the file system did not respond within ${describeDuration(timeoutMs)}`
      : describeFileError(error, { path });
    return unknownResult(`cannot read the free space of "${path}": ${reason}`);
  }
  const { freeBytes, totalBytes, inodes } = facts;
  if (totalBytes === 0) return unknownResult(`the file system of "${path}" has no size`);
  const measures: readonly Measure[] = [
    { name: "free", value: freeBytes, total: totalBytes, unit: "bytes", thresholds: free },
    ...inodes === null ? [] : [{
      name: "free_inodes",
      value: inodes.free,
      total: inodes.total,
      unit: "number" as const,
      thresholds: freeInodes,
    }],
  ];
  const evaluated = evaluateMeasures(measures);
  const totals = { total_bytes: totalBytes, ...inodes !== null && { total_inodes: inodes.total } };
  return { ...evaluated, metrics: { ...evaluated.metrics, ...totals } };
}
