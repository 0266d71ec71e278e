/** What a piece of work costs this very process. */
import process from "node:process";

/** What it took. */
export interface OwnCost {
  /** From its begin to its end. */
  readonly wallMs: number;
  /** User and system time of all threads, the collector's included. */
  readonly cpuMs: number;
}

/** Measures a piece of work. */
export async function measureOwn(work: () => void | Promise<void>): Promise<OwnCost> {
  const before = process.cpuUsage();
  const startedMs = performance.now();
  await work();
  const wallMs = performance.now() - startedMs;
  const { user, system } = process.cpuUsage(before);
  return { wallMs, cpuMs: (user + system) / 1000 };
}

/** What is in use once all garbage is gone; `null` where it cannot be collected on demand. */
export async function usedBytes(): Promise<number | null> {
  const { gc } = globalThis as { gc?: () => void };
  if (gc === undefined) return null;
  // Buffers are given back a little after they were found to be garbage.
  for (let pass = 0; pass < 3; pass++) {
    gc();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const { heapUsed, external } = Deno.memoryUsage();
  return heapUsed + external;
}
