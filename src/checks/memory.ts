import type { MemoryCheck } from "../domain/check.ts";
import type { MemoryFacts } from "../domain/host.ts";
import type { CheckKindEntry, ObserveContext } from "../domain/observe.ts";
import { type Observation, unknownObservation } from "../domain/result.ts";
import { describeHostError } from "../shared/describe_error.ts";
import { judgeMeasures, thresholdCaveats } from "./thresholds.ts";

/** The `memory` kind. */
export const memoryKind: CheckKindEntry<"memory"> = {
  observe: async (check, context) => await observeMemory(check, context),
  limit: "none",
  caveats: ({ parameters: { available, swapUsed } }) => [
    ...thresholdCaveats(available, ["available"]),
    ...thresholdCaveats(swapUsed, ["swap_used"]),
  ],
  needs: () => ({ sys: ["systemMemoryInfo"] }),
};

/** Compares the available memory and the used swap of this machine with thresholds. */
function observeMemory(
  { parameters: { available, swapUsed } }: MemoryCheck,
  { system: { host }, signal }: ObserveContext,
): Observation {
  signal.throwIfAborted();
  let facts: MemoryFacts;
  try {
    facts = host.memory();
  } catch (error) {
    return unknownObservation(`cannot read the memory: ${describeHostError(error)}`);
  }
  const { availableBytes, totalBytes, swapUsedBytes, swapTotalBytes } = facts;
  if (totalBytes === 0) return unknownObservation("the system does not tell its memory");
  const { metrics, ...judged } = judgeMeasures([
    { name: "available", value: availableBytes, total: totalBytes, unit: "bytes", thresholds: available },
    { name: "swap_used", value: swapUsedBytes, total: swapTotalBytes, unit: "bytes", thresholds: swapUsed },
  ]);
  const totals = { total_bytes: totalBytes, swap_total_bytes: swapTotalBytes };
  return { ...judged, metrics: { ...metrics, ...totals }, detail: "", performanceData: "" };
}
