import type { LoadOptions } from "./load.ts";
import { type LoadName, type LoadSample, measureLoad } from "./load_process.ts";
import { measureInTurn, median, millisecondsText } from "./measure.ts";
import type { Row } from "./row.ts";

/** A load of the monitor, and bare ones that do the same work. */
export interface Comparison extends LoadOptions {
  /** Such as `200 requests`. */
  readonly name: string;
  /** The monitor's load. */
  readonly monitor: LoadName;
  /** What it is held against, each by itself. */
  readonly bare: readonly BareLoad[];
  /** How often each is run. */
  readonly rounds: number;
}

/** A load that the monitor is held against. */
export interface BareLoad {
  /** Which load it is. */
  readonly load: LoadName;
  /** Such as `a bare fetch loop`. */
  readonly name: string;
  /** What the ratio of processor times is to be at most; left out where there is no aim. */
  readonly aim?: number;
}

/** Runs all loads in turn and answers the monitor's ratio to each bare one: of wall time, and of processor time. */
export async function compareLoads(comparison: Comparison): Promise<readonly Row[]> {
  const names = [comparison.monitor, ...comparison.bare.map((bare) => bare.load)];
  const samples = await measureInTurn(
    comparison.rounds,
    Object.fromEntries(names.map((name) => [name, () => measureLoad(name, comparison)])),
  );
  const typical = (name: LoadName, member: keyof LoadSample): number =>
    median((samples[name] ?? []).map((sample) => sample[member]));
  const row = (bare: BareLoad, member: keyof LoadSample): Row => {
    const monitorMs = typical(comparison.monitor, member);
    const bareMs = typical(bare.load, member);
    return {
      name: `${comparison.name} to ${bare.name}, ${member === "wallMs" ? "wall time" : "processor time"}`,
      value: monitorMs / bareMs,
      unit: "×",
      note: `${millisecondsText(monitorMs)} to ${millisecondsText(bareMs)}`,
    };
  };
  return comparison.bare.flatMap((bare) => [
    row(bare, "wallMs"),
    { ...row(bare, "cpuMs"), ...(bare.aim !== undefined && { aim: bare.aim }) },
  ]);
}
