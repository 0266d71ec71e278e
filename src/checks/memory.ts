import { type CheckOf, type CheckResult, unknownResult } from "../domain/check.ts";
import type { MemoryFacts } from "../domain/system.ts";
import type { CheckKindEntry, ObserveContext } from "../domain/check_kind.ts";
import { describeHostError } from "../shared/describe_error.ts";
import { targetOfMachine } from "./targets.ts";
import { evaluateMeasures, thresholdWarnings } from "./thresholds.ts";

export const memoryKind: CheckKindEntry<"memory"> = {
  observe: async (check, context) => await observeMemory(check, context),
  target: targetOfMachine("memory"),
  warnings: ({ parameters: { available, swapUsed: swap_used } }) =>
    thresholdWarnings({ available, swap_used }),
  requiredPermissions: () => ({ sys: ["systemMemoryInfo"] }),
};

function observeMemory(
  { parameters: { available, swapUsed } }: CheckOf<"memory">,
  { system: { host } }: ObserveContext,
): CheckResult {
  let facts: MemoryFacts;
  try {
    facts = host.memory();
  } catch (error) {
    return unknownResult(`cannot read the memory: ${describeHostError(error)}`);
  }
  const { availableBytes, totalBytes, swapUsedBytes, swapTotalBytes } = facts;
  if (totalBytes === 0) return unknownResult("the system has no data about its memory");
  const evaluated = evaluateMeasures([
    { name: "available", value: availableBytes, total: totalBytes, unit: "bytes", thresholds: available },
    { name: "swap_used", value: swapUsedBytes, total: swapTotalBytes, unit: "bytes", thresholds: swapUsed },
  ]);
  const totals = { total_bytes: totalBytes, swap_total_bytes: swapTotalBytes };
  return { ...evaluated, metrics: { ...evaluated.metrics, ...totals } };
}
