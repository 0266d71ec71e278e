/**
 * The real program is stopped (SIGSTOP) and really stands still for minutes: in the middle of a mail, of a post, of
 * its runs, of its own end; see tests/life/standstill/scenes.ts. Meanwhile servers answer or give up on it, targets
 * break and are mended, and programs end. Then it goes on, and has to tell all that it has kept, and nothing else. The
 * scenes are played side by side. It is the executable that `MONITOR_PROGRAM` names, else the source.
 *
 *     MONITOR_PROGRAM=$PWD/dist/monitor deno task soak standstill --seconds 150
 *
 * Everything that is started here is ended, also after Ctrl-C.
 */
import { type Found, play } from "../../tests/life/standstill/play.ts";
import { SCENES } from "../../tests/life/standstill/scenes.ts";

/** How long a standstill is. */
export interface StandstillOptions {
  /** For how long each monitor is stopped. */
  readonly seconds: number;
}

/** No shorter than the time limits of all checks, which a monitor could take for time-outs. */
const SECONDS_MIN = 40;
const ENDING_SIGNALS = ["SIGINT", "SIGTERM"] as const;

/**
 * Plays all scenes, and prints what was found of each.
 *
 * @throws {Error} If something is not as it should be in one of them, with what that is; or if it was interrupted.
 */
export async function soakStandstill({ seconds }: StandstillOptions): Promise<void> {
  if (seconds < SECONDS_MIN) {
    throw new RangeError(`--seconds is ${seconds}, expected ${SECONDS_MIN} or more for standstill`);
  }
  const abort = new AbortController();
  const interrupt = (): void => abort.abort(new Error("it was interrupted"));
  for (const signal of ENDING_SIGNALS) Deno.addSignalListener(signal, interrupt);
  try {
    const ends = await Promise.allSettled(SCENES.map(async (scene) => {
      const found = await play(scene, { stoppedMs: seconds * 1000, signal: abort.signal });
      console.log(`  ${scene.name}: ${describe(found)}`);
    }));
    const failed = ends.filter((end) => end.status === "rejected");
    if (failed.length > 0) {
      throw new Error(
        failed.map(({ reason }) => reason instanceof Error ? reason.message : reason).join("\n\n"),
      );
    }
    console.log(`  ${SCENES.length} monitors stood still for ${seconds} s each`);
  } finally {
    for (const signal of ENDING_SIGNALS) Deno.removeSignalListener(signal, interrupt);
  }
}

function describe(found: Found): string {
  const { changes, messages, twins, toldWithinMs, ranWithinMs, descriptors } = found;
  return [
    `${changes} changes in ${messages} messages and ${twins} twins, told after ${inSeconds(toldWithinMs)}`,
    ...ranWithinMs === null ? [] : [`every check ran within ${inSeconds(ranWithinMs)}`],
    ...descriptors === null ? [] : [`${descriptors.join(" descriptors before, after it ")}`],
  ].join("; ");
}

function inSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
