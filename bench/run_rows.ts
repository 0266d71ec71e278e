import { measureInTurn, median, megabytesText, millisecondsText } from "./measure.ts";
import { CAN_MEASURE_PEAKS, measurePeak, measureRun, NO_PEAKS_NOTE, type RunOptions } from "./measure_run.ts";
import type { Row } from "./row.ts";

/** A process that runs until it exits. */
export interface RunSubject extends RunOptions {
  /** The command line. */
  readonly command: readonly string[];
  /** Prepares each run. @default nothing */
  readonly prepare?: () => Promise<void>;
  /** Evaluates the output of a run; throws if it did not do its work. @default nothing */
  readonly evaluate?: (output: string) => Promise<void>;
}

/** The cost of a process, as medians. */
export interface RunCost {
  /** From start to end. */
  readonly wallMs: number;
  /** Processor time. */
  readonly cpuMs: number;
  /** The most memory; `null` where it cannot be measured. */
  readonly peakBytes: number | null;
}

/** The number of runs. */
export interface RunRounds {
  /** For the times. */
  readonly rounds: number;
  /** For the memory, which varies less. */
  readonly peakRounds: number;
}

/** Runs processes in turn, first for the times and then for the memory, which another process has to measure. */
export async function measureRuns<Name extends string>(
  subjects: Readonly<Record<Name, RunSubject>>,
  { rounds, peakRounds }: RunRounds,
): Promise<Readonly<Record<Name, RunCost>>> {
  const names = Object.keys(subjects) as Name[];
  const inTurn = async <Sample>(
    times: number,
    measure: (subject: RunSubject) => Promise<Sample>,
  ): Promise<Readonly<Record<Name, readonly Sample[]>>> => {
    const turns = names.map((name) => [name, async () => {
      await subjects[name].prepare?.();
      return await measure(subjects[name]);
    }]);
    return await measureInTurn<Name, Sample>(times, Object.fromEntries(turns));
  };
  const samples = await inTurn(rounds, async (subject) => {
    const sample = await measureRun(subject.command, subject);
    await subject.evaluate?.(sample.output);
    return sample;
  });
  const peaks = CAN_MEASURE_PEAKS
    ? await inTurn(peakRounds, (subject) => measurePeak(subject.command, subject))
    : null;
  const costs = names.map((name): [Name, RunCost] => [name, {
    wallMs: median(samples[name].map(({ wallMs }) => wallMs)),
    cpuMs: median(samples[name].map(({ cpuMs }) => cpuMs)),
    peakBytes: peaks === null ? null : median(peaks[name]),
  }]);
  return Object.fromEntries(costs) as Record<Name, RunCost>;
}

/** Compares the cost of one process with another: wall time, processor time and memory. */
export function compareRuns(
  name: string,
  cost: RunCost,
  against: { readonly name: string; readonly cost: RunCost; readonly aim?: number },
): readonly Row[] {
  const bare = against.cost;
  const row = (what: string, [value, other]: readonly [number, number], text: Text): Row => ({
    name: `${name}, ${what}`,
    value: value / other,
    unit: "×",
    note: `${text(value)} to ${text(other)} of ${against.name}`,
  });
  return [
    {
      ...row("wall time", [cost.wallMs, bare.wallMs], millisecondsText),
      ...(against.aim !== undefined && { aim: against.aim }),
    },
    row("processor time", [cost.cpuMs, bare.cpuMs], millisecondsText),
    cost.peakBytes === null || bare.peakBytes === null
      ? { name: `${name}, peak memory`, value: null, unit: "×", note: NO_PEAKS_NOTE }
      : row("peak memory", [cost.peakBytes, bare.peakBytes], megabytesText),
  ];
}

type Text = (value: number) => string;
