/** The resources of a process that runs for long: at the end no more than after a while. */
import { readUsage } from "../../../bench/process_usage.ts";

const LOOKS = 10;
const LOOK_EVERY_MS = 200;
/** Memory stabilizes in the first minutes. */
const MEMORY_FROM_MS = 10 * 60_000;
const GROWTH_MAX = 1.25;
/** Each lookup of a name or TLS handshake that hangs may keep some, see the limitations. */
const DESCRIPTORS_MAX = 8;

/**
 * Measures a process after a quarter of its life and shortly before its end. Returns the errors: that it had more
 * resources at the end, or had exited before.
 */
export async function findGrowth(pid: number, lifeMs: number): Promise<string | null> {
  const looksMs = LOOKS * LOOK_EVERY_MS;
  try {
    await pause(lifeMs / 4);
    const before = await look(pid);
    await pause(lifeMs * 3 / 4 - 2 * looksMs);
    const after = await look(pid);
    const found = JSON.stringify({ before, after });
    console.log(`long life of ${lifeMs / 1000} s: ${found}`);
    if (after.descriptors > before.descriptors + DESCRIPTORS_MAX) return `descriptors: ${found}`;
    const isGrown = after.residentBytes > before.residentBytes * GROWTH_MAX;
    return isGrown && lifeMs >= MEMORY_FROM_MS ? `memory: ${found}` : null;
  } catch (error) {
    return String(error);
  }
}

interface Holdings {
  readonly descriptors: number;
  readonly residentBytes: number;
}

/** Returns the minimum of some samples: checks and deliveries use resources for a moment. */
async function look(pid: number): Promise<Holdings> {
  const looks: Holdings[] = [];
  for (let count = 0; count < LOOKS; count++) {
    const descriptors = [...Deno.readDirSync(`/proc/${pid}/fd`)].length;
    looks.push({ descriptors, residentBytes: readUsage(pid).residentBytes });
    await pause(LOOK_EVERY_MS);
  }
  return {
    descriptors: Math.min(...looks.map(({ descriptors }) => descriptors)),
    residentBytes: Math.min(...looks.map(({ residentBytes }) => residentBytes)),
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
