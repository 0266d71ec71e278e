import { type IdleSample, type IdleSubject, measureIdle } from "./idle_process.ts";
import { median } from "./measure.ts";
import type { Row } from "./row.ts";
import type { Workplace } from "./workplace.ts";

const PROCESSES = 3;
const SECONDS = 60;

/** What watching costs while there is hardly anything to do: 1,000 checks an hour apart, and a process that sleeps. */
export async function benchIdle({ effort }: Workplace): Promise<readonly Row[]> {
  const seconds = effort.seconds(SECONDS);
  // All at once: processes that are idle do not disturb each other.
  const measureSome = (checks: IdleSubject["checks"]): Promise<readonly IdleSample[]> =>
    Promise.all(Array.from({ length: PROCESSES }, () => measureIdle({ checks, seconds })));
  const [asleep, watching] = await Promise.all([measureSome("none"), measureSome("hourly")]);
  const cpuMs = (some: readonly IdleSample[]): number => median(some.map((sample) => sample.cpuMs));
  const [empty, hourly] = [cpuMs(asleep), cpuMs(watching)];
  const runs = median(watching.map((sample) => sample.runs));
  const cost = `${
    hourly.toFixed(1)
  } ms of processor time in ${seconds} s, ${runs} runs; a process that sleeps ${empty.toFixed(1)} ms`;
  return [
    {
      name: "1,000 checks an hour apart: share of a processor",
      value: hourly / seconds / 10,
      unit: "%",
      aim: 0.2,
      note: cost,
    },
    { name: "1,000 checks an hour apart, against a process that sleeps", value: hourly / empty, unit: "×" },
  ];
}
