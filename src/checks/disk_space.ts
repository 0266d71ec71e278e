import { type CheckOf, type CheckResult, unknownResult } from "../domain/check.ts";
import type { FileSystemFacts } from "../domain/system.ts";
import type { CheckKindEntry, ObserveContext } from "../domain/check_kind.ts";
import { observeFileSystem } from "./file_findings.ts";
import { evaluateMeasures, type Measure, thresholdWarnings } from "./thresholds.ts";

export const diskSpaceKind: CheckKindEntry<"disk_space"> = {
  observe: observeDiskSpace,
  target: {
    form: "DIRECTORY",
    claims: ({ pathKind }) => pathKind === "directory",
    parametersOf: ({ path }) => ({ path }),
    nameOf: ({ path }) => `disk_${path}`,
    textOf: ({ parameters: { path } }) => path,
    subjectsOf: ({ parameters }) => [`disk ${parameters.path.replace(/(?<=.)\/+$/, "")}`],
  },
  warnings: ({ parameters: { free, freeInodes } }) => thresholdWarnings({ free, free_inodes: freeInodes }),
  requiredPermissions: ({ parameters }) => ({ read: [parameters.path], sys: ["statfs"] }),
};

async function observeDiskSpace(check: CheckOf<"disk_space">, context: ObserveContext): Promise<CheckResult> {
  return await observeFileSystem(
    check,
    context,
    async () => evaluate(await context.system.host.fileSystem(check.parameters.path), check.parameters),
  );
}

function evaluate(
  { freeBytes, totalBytes, inodes }: FileSystemFacts,
  { path, free, freeInodes }: CheckOf<"disk_space">["parameters"],
): CheckResult {
  if (totalBytes === 0) return unknownResult(`the file system of "${path}" has no size`);
  const measures: Measure[] = [
    { name: "free", value: freeBytes, total: totalBytes, unit: "bytes", thresholds: free },
  ];
  if (inodes !== null) {
    const { free: value, total } = inodes;
    measures.push({ name: "free_inodes", value, total, unit: "number", thresholds: freeInodes });
  }
  const evaluated = evaluateMeasures(measures);
  const totals = { total_bytes: totalBytes, ...inodes !== null && { total_inodes: inodes.total } };
  return { ...evaluated, metrics: { ...evaluated.metrics, ...totals } };
}
