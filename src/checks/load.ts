import { type CheckOf, checkResult, unknownResult } from "../domain/check.ts";
import type { CheckKindEntry, ObserveContext } from "../domain/check_kind.ts";
import { describeHostError } from "../shared/describe_error.ts";
import { targetOfMachine } from "./targets.ts";
import { evaluateMeasures, type Measure, thresholdWarnings } from "./thresholds.ts";

/** The keys of the parameters; the position is that in the averages. */
const SPANS = ["load1", "load5", "load15"] as const;

export const loadKind: CheckKindEntry<"load"> = {
  observe: async (check, context) => await observeLoad(check, context),
  target: targetOfMachine("load"),
  warnings: ({ parameters: { load1, load5, load15 } }) => thresholdWarnings({ load1, load5, load15 }),
  requiredPermissions: () => ({ sys: ["loadavg"] }),
};

function observeLoad({ parameters }: CheckOf<"load">, { system: { host, platform } }: ObserveContext) {
  if (platform === "windows") return unknownResult("Windows has no load average");
  let averages: readonly number[];
  try {
    averages = host.loadAverages();
  } catch (error) {
    return unknownResult(`cannot read the load: ${describeHostError(error)}`);
  }
  const { processors } = host;
  const measures = SPANS.map((name, index): Measure => ({
    name,
    value: (averages[index] ?? 0) / processors,
    unit: "number",
    thresholds: parameters[name],
  }));
  const { condition, output, metrics } = evaluateMeasures(measures);
  return checkResult(condition, `${output} per processor`, { ...metrics, processors });
}
