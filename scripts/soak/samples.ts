/** The memory of a process, once all garbage is collected. */
export interface Sample {
  readonly heapBytes: number;
  /** Of buffers and of the runtime's own objects that belong to it. */
  readonly externalBytes: number;
  readonly residentBytes: number;
}

/** How many parts of some work are compared. */
export const SAMPLES = 10;
/** The tolerance for the runtime's own housekeeping; a leak of some bytes a run is more. */
const GROWTH_BYTES_MAX = 4_000_000;

/** Measures this process. */
export function measure(): Sample {
  const { gc } = globalThis as { gc?: () => void };
  if (gc === undefined) throw new Error("Memory cannot be measured: run with --v8-flags=--expose-gc");
  gc();
  const { heapUsed, external, rss } = Deno.memoryUsage();
  return { heapBytes: heapUsed, externalBytes: external, residentBytes: rss };
}

/** Prints the memory during some work; returns what is wrong if that in use grows after the first fifth. */
export function judge(what: string, samples: readonly Sample[]): string | null {
  const series = (bytesOf: (sample: Sample) => number): string =>
    samples.map((sample) => (bytesOf(sample) / 1e6).toFixed(1)).join(" ");
  console.log(`  ${what}`);
  console.log(`    heap, MB:     ${series(({ heapBytes }) => heapBytes)}`);
  console.log(`    external, MB: ${series(({ externalBytes }) => externalBytes)}`);
  console.log(`    resident, MB: ${series(({ residentBytes }) => residentBytes)}`);
  const used = (sample: Sample | undefined): number =>
    sample === undefined ? NaN : sample.heapBytes + sample.externalBytes;
  const grown = used(samples.at(-1)) - used(samples[Math.ceil(samples.length / 5)]);
  return grown <= GROWTH_BYTES_MAX ? null : `the memory in use has grown by ${grown} bytes: ${what}`;
}
