import { median } from "./measure.ts";
import type { Row } from "./row.ts";
import { measureWatch, type WatchSample, type WatchSubject } from "./watch_process.ts";

const PROCESSES = 3;
const SECONDS = 60;

/** What watching costs while there is hardly anything to do: 1,000 checks an hour apart, and a process that sleeps. */
export async function benchIdle(): Promise<readonly Row[]> {
  // All at once: processes that are idle do not disturb each other.
  const measureSome = (subject: Pick<WatchSubject, "checks" | "store">): Promise<readonly WatchSample[]> =>
    Promise.all(Array.from({ length: PROCESSES }, () => measureWatch({ ...subject, seconds: SECONDS })));
  const [asleep, watching] = await Promise.all([
    measureSome({ checks: "none", store: "memory" }),
    measureSome({ checks: "hourly", store: "sqlite" }),
  ]);
  const cpuMs = (some: readonly WatchSample[]): number => median(some.map((sample) => sample.cpuMs));
  const [empty, hourly] = [cpuMs(asleep), cpuMs(watching)];
  const runs = median(watching.map((sample) => sample.runs));
  const cost = `${
    hourly.toFixed(1)
  } ms of processor time in ${SECONDS} s, ${runs} runs; a process that sleeps ${empty.toFixed(1)} ms`;
  return [
    {
      name: "1,000 checks an hour apart: share of a processor",
      value: hourly / SECONDS / 10,
      unit: "%",
      aim: 0.2,
      note: cost,
    },
    { name: "1,000 checks an hour apart, against a process that sleeps", value: hourly / empty, unit: "×" },
  ];
}
