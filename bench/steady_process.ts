/** Measures, from outside, the load of a process with a steady rate until it is terminated. */
import { endChild, startChild } from "./children.ts";
import { forgetPeak, readUsage } from "./process_usage.ts";

/** A process that works steadily. */
export interface SteadySubject {
  /** Starts it. It prints a line once it works. */
  readonly command: readonly string[];
  /** Asks how many pieces of work are done. */
  readonly counter: Counter;
  /** From the first line to the beginning of the measurement. */
  readonly warmUpSeconds: number;
  /** How long it is measured. */
  readonly seconds: number;
}

/** Returns the number of completed operations; the line comes from the process, which prints one at SIGUSR1. */
export type Counter = (ask: () => Promise<string>) => Promise<number>;

/** The load during the measured time. */
export interface SteadySample {
  /** The time that was measured. */
  readonly seconds: number;
  /** The pieces of work in that time. */
  readonly runs: number;
  /** Processor time, that of ended children too. */
  readonly cpuMs: number;
  /** Memory that was resident at the end. */
  readonly residentBytes: number;
  /** The most that was resident in that time. */
  readonly peakBytes: number;
}

const END_GRACE_MS = 20_000;

/** Starts it, measures it, and ends it. */
export async function measureSteady(subject: SteadySubject): Promise<SteadySample> {
  const child = startChild(subject.command, { stdout: "piped", stderr: "piped" });
  const errors = new Response(child.stderr).text();
  const lines = followLines(child.stdout);
  const tooEarly = child.status.then(async ({ code }): Promise<never> => {
    throw new Error(`Cannot measure "${subject.command[0]}": it ended with code ${code}: ${await errors}`);
  });
  // Its end is no surprise later on.
  tooEarly.catch(() => {});
  try {
    return await Promise.race([tooEarly, measureChild(child, subject, lines.next)]);
  } finally {
    await endChild(child, END_GRACE_MS);
    await Promise.all([errors, lines.ended]);
  }
}

async function measureChild(
  child: Deno.ChildProcess,
  { counter, warmUpSeconds, seconds }: SteadySubject,
  nextLine: () => Promise<string>,
): Promise<SteadySample> {
  const ask = (): Promise<string> => {
    const line = nextLine();
    child.kill("SIGUSR1");
    return line;
  };
  await nextLine();
  await sleep(warmUpSeconds);
  forgetPeak(child.pid);
  const before = { runs: await counter(ask), usage: readUsage(child.pid), atMs: performance.now() };
  await sleep(seconds);
  const after = { runs: await counter(ask), usage: readUsage(child.pid), atMs: performance.now() };
  return {
    seconds: (after.atMs - before.atMs) / 1000,
    runs: after.runs - before.runs,
    cpuMs: after.usage.cpuMs - before.usage.cpuMs,
    residentBytes: after.usage.residentBytes,
    peakBytes: after.usage.peakBytes,
  };
}

interface Lines {
  /** The next line; lines without a waiting reader are dropped. */
  readonly next: () => Promise<string>;
  /** Resolves when there are no more. */
  readonly ended: Promise<void>;
}

/** Reads a stream to its end. */
function followLines(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Lines {
  // The first line may arrive before it is requested.
  let waiting = Promise.withResolvers<string>();
  let isFirst = true;
  const follow = async (): Promise<void> => {
    let rest = "";
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) waiting.resolve(line);
    }
  };
  const next = (): Promise<string> => {
    if (!isFirst) waiting = Promise.withResolvers<string>();
    isFirst = false;
    return waiting.promise;
  };
  return { next, ended: follow() };
}

function sleep(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}
