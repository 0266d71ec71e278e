import type { LoadCheck } from "../domain/check.ts";
import type { CheckKindEntry, ObserveContext } from "../domain/observe.ts";
import { type Observation, unknownObservation } from "../domain/result.ts";
import { describeHostError } from "../shared/describe_error.ts";
import { judgeMeasures, type Measure, thresholdCaveats } from "./thresholds.ts";

/** The keys of the parameters; the position is that in the averages. */
const SPANS = ["load1", "load5", "load15"] as const;

/** The `load` kind. */
export const loadKind: CheckKindEntry<"load"> = {
  observe: async (check, context) => await observeLoad(check, context),
  limit: "none",
  caveats: ({ parameters }) => SPANS.flatMap((name) => thresholdCaveats(parameters[name], [name])),
  needs: () => ({ sys: ["loadavg"] }),
};

/** Compares the load averages of this machine, divided by its processors, with thresholds. */
function observeLoad(
  { parameters }: LoadCheck,
  { system: { host, platform }, signal }: ObserveContext,
): Observation {
  signal.throwIfAborted();
  if (platform === "windows") return unknownObservation("Windows has no load average");
  let averages: readonly number[];
  try {
    averages = host.loadAverages();
  } catch (error) {
    return unknownObservation(`cannot read the load: ${describeHostError(error)}`);
  }
  const { processors } = host;
  const measures = SPANS.map((name, index): Measure => ({
    name,
    value: (averages[index] ?? 0) / processors,
    unit: "number",
    thresholds: parameters[name],
  }));
  const { condition, output, metrics } = judgeMeasures(measures);
  return {
    condition,
    output: `${output} per processor`,
    metrics: { ...metrics, processors },
    detail: "",
    performanceData: "",
  };
}
