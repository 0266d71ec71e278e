import { measureInTurn, median } from "./measure.ts";
import type { Row } from "./row.ts";
import { startServer } from "./server.ts";
import { measureWatch, type WatchSample } from "./watch_process.ts";

const ROUNDS = 3;
const SECONDS = 10;

/**
 * What keeping the state costs in a busy run: 1,000 checks a second apart with the state in a file, against the
 * same with the state in memory. `test` checks do nothing themselves, so theirs is the worst case.
 */
export async function benchLoop(): Promise<readonly Row[]> {
  await using server = await startServer();
  const steady = { checks: "steady", seconds: SECONDS } as const;
  const asking = { checks: "asking", seconds: SECONDS, target: server.address } as const;
  const samples = await measureInTurn(ROUNDS, {
    steadyMemory: () => measureWatch({ ...steady, store: "memory" }),
    steadyFile: () => measureWatch({ ...steady, store: "sqlite" }),
    askingMemory: () => measureWatch({ ...asking, store: "memory" }),
    askingFile: () => measureWatch({ ...asking, store: "sqlite" }),
  });
  return [
    ...compare("1,000 checks a second that do nothing", samples.steadyFile, samples.steadyMemory),
    ...compare("1,000 requests a second", samples.askingFile, samples.askingMemory),
  ];
}

function compare(name: string, file: readonly WatchSample[], memory: readonly WatchSample[]): readonly Row[] {
  const cost = (samples: readonly WatchSample[]): number =>
    median(samples.map(({ cpuMs, runs }) => cpuMs * 1000 / runs));
  const [fileUs, memoryUs] = [cost(file), cost(memory)];
  const note = `${fileUs.toFixed(0)} µs of processor time a run, in memory ${memoryUs.toFixed(0)} µs`;
  return [
    { name: `${name}: state in a file, against memory`, value: fileUs / memoryUs, unit: "×", note },
    { name: `${name}: share of the commits`, value: 100 * (1 - memoryUs / fileUs), unit: "%" },
  ];
}
